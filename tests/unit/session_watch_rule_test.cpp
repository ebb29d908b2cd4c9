// Whom a claim watches, and what it may conclude from what happens there.
#include "session/watch_rule.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace crosslock::session {
namespace {

/// `w` a writer, `r` a reader, `W` a writer that may become a reader. The last one looks.
std::vector<member> line_of(std::string_view letters) {
  std::vector<member> line;
  for (const char one : letters) {
    const bool shares = one == 'r';
    line.push_back({.name = letters,
                    .demand = {.mode = shares ? claim_mode::shared : claim_mode::exclusive},
                    .may_share = one == 'W'});
  }
  return line;
}

watch_decision look(std::string_view letters, std::optional<std::size_t> beside = {}) {
  const auto line = line_of(letters);
  return look_ahead(line, line.size() - 1, line.back().demand, beside);
}

TEST(session_watch_rule, the_first_goes_in_and_readers_behind_readers_too) {
  EXPECT_TRUE(look("w").granted);
  EXPECT_TRUE(look("r").granted);
  EXPECT_TRUE(look("rrr").granted);
  EXPECT_FALSE(look("rw").granted);
  EXPECT_FALSE(look("wr").granted);
}

TEST(session_watch_rule, a_writer_watches_the_one_before_it_a_reader_the_nearest_writer) {
  EXPECT_EQ(look("wrw").watches, 1U);
  EXPECT_EQ(look("wrr").watches, 0U);
  EXPECT_EQ(look("wrwrr").watches, 2U);
}

TEST(session_watch_rule, alone_is_whoever_only_the_watched_one_keeps_out) {
  EXPECT_TRUE(look("ww").alone);
  EXPECT_FALSE(look("www").alone);
  EXPECT_FALSE(look("rrw").alone);
  EXPECT_TRUE(look("rwr").alone) << "other readers do not keep a reader out";
  EXPECT_FALSE(look("wwr").alone);
}

TEST(session_watch_rule, an_upgrade_stands_beside_its_own_shared_claim) {
  EXPECT_TRUE(look("rw", 0).granted);
  EXPECT_FALSE(look("rw", 0).upgrade_conflict);
  const watch_decision behind_another_reader = look("rrw", 0);
  EXPECT_FALSE(behind_another_reader.granted);
  EXPECT_TRUE(behind_another_reader.alone);
  EXPECT_EQ(behind_another_reader.watches, 1U);
  EXPECT_TRUE(look("rww", 0).upgrade_conflict);
}

TEST(session_watch_rule, the_last_word_of_one_of_ours_lets_in) {
  EXPECT_TRUE(worth_of(look("www"), true, false).written_lets_in) << "at any depth";
  EXPECT_FALSE(worth_of(look("www"), false, false).written_lets_in)
      << "others write what they like";
  EXPECT_FALSE(worth_of(look("rw"), true, false).written_lets_in) << "a reader may not be the last";
}

TEST(session_watch_rule, a_writer_that_vanishes_may_have_become_a_reader) {
  EXPECT_FALSE(worth_of(look("ww"), true, false).gone_lets_in);
  EXPECT_TRUE(worth_of(look("wr"), true, true).gone_lets_in) << "which lets readers in";
  EXPECT_TRUE(worth_of(look("ww"), false, false).gone_lets_in) << "other libraries' never do that";
  EXPECT_FALSE(worth_of(look("Ww"), false, false).gone_lets_in) << "but for those that may";
  EXPECT_TRUE(worth_of(look("rw"), true, false).gone_lets_in);
  EXPECT_FALSE(worth_of(look("rrw"), true, false).gone_lets_in);
}

TEST(session_watch_rule, an_event_lets_in_whoever_knows_enough) {
  standing waiter;
  EXPECT_FALSE(lets_in(waiter, event::kind::erased));
  EXPECT_FALSE(lets_in(waiter, event::kind::written));
  waiter.alone_before = true;
  EXPECT_TRUE(lets_in(waiter, event::kind::erased));
  EXPECT_FALSE(lets_in(waiter, event::kind::written));
  waiter.word_counts = true;
  EXPECT_TRUE(lets_in(waiter, event::kind::written));
  EXPECT_FALSE(lets_in(waiter, event::kind::children));
}

}  // namespace
}  // namespace crosslock::session
