// How a name is kept in tables: alone in its row, or among the claims; what a dead process leaves;
// and what is swept.
#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/table_rows.hpp"
#include "unit/sqlite_rig.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;

class sqlite_table_rows : public testing::Test {
 protected:
  static constexpr duration noon = 12h;

  /// Acts as a client of that number at a time of the test's own, after noon.
  template <class Act>
  auto at(duration moment, client_number client, Act act) {
    table_rows rows{rows_, self_, time_point{noon + moment}};
    seam::line_server line{rows};
    line.act_for(client);
    auto result = act(line);
    told_ = line.take_news();
    return result;
  }
  seam::ask_answer ask(duration moment, const seam::claim& claim,
                       const seam::remembered& before = {}, client_number client = 1) {
    return at(moment, client, [&](auto& line) { return answer_of(line.ask(claim, before)); });
  }
  bool release(duration moment, const seam::claim& claim, std::int64_t proof) {
    return at(moment, 1, [&](auto& line) {
      return line.release(claim.name, claim.owner, fence{proof}).answer ==
             seam::release_answer::released;
    });
  }
  seam::renew_outcome renew(duration moment, const seam::claim& claim, fence proof, bool detach,
                            bool want_fences = false) {
    return at(moment, 1, [&](auto& line) {
      return line.renew({.name = claim.name,
                         .owner = claim.owner,
                         .first = proof,
                         .last = proof,
                         .want_fences = want_fences,
                         .detach = detach});
    });
  }
  void withdraw(duration moment, const seam::claim& claim) {
    at(moment, 1, [&](auto& line) {
      line.withdraw(claim.name, claim.owner);
      return true;
    });
  }
  void sweep_at(duration moment) { sweep(base_, time_point{noon + moment}); }

  static seam::claim shared(std::uint8_t owner) {
    auto claim = claim_for("a", owner, true);
    claim.mode = claim_mode::shared;
    return claim;
  }
  static seam::claim upgrade(std::uint8_t owner, std::uint8_t beside) {
    auto claim = claim_for("a", owner, true);
    claim.upgrade = true;
    claim.beside = owner_number(beside);
    return claim;
  }
  /// A client whose process is dead.
  client_number add_dead_client() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return add_client(base_, {child, 1, self_.pid_ns}, "dead", time_point{noon});
  }

  std::vector<seam::news> told_;
  scratch dir_;
  rig rig_{dir_.file("locks.db")};
  database base_{dir_.file("locks.db"), durability::normal, seam::real_clock()};
  ledger rows_{base_};
  const process_id self_ = read_surroundings().self;
};

TEST_F(sqlite_table_rows, a_place_is_found_by_its_ticket_and_without_it) {
  ask(0s, claim_for("a", 1));
  const auto place = ask(1ms, claim_for("a", 2, true));
  ask(2ms, claim_for("a", 3, true));
  EXPECT_EQ(ask(3ms, claim_for("a", 2, true), {true, 0}).ticket, place.ticket);
  EXPECT_EQ(ask(4ms, claim_for("a", 2, true), {true, place.ticket}).ticket, place.ticket);
}

TEST_F(sqlite_table_rows, a_reader_that_was_alone_stands_among_the_others_when_one_comes) {
  const seam::demand shared_one{.mode = claim_mode::shared};
  const auto first = rows_.take_free("a", {.owner = owner_number(1),
                                           .demand = shared_one,
                                           .lease = 30s,
                                           .ends = noon + 30s,
                                           .since = noon,
                                           .client = 1});
  ASSERT_TRUE(first);
  EXPECT_EQ(rows_.find("a")->alone->demand, shared_one);
  EXPECT_EQ(ask(1ms, claim_for("a", 2)).result, ask_result::busy);
  EXPECT_FALSE(rows_.find("a")->alone) << "it stands among those who share";
  const auto second = ask(2ms, shared(3));
  EXPECT_EQ(second.result, ask_result::granted);
  EXPECT_GT(second.granted.first.value(), *first);
  const auto inside = rows_.sharers("a");
  ASSERT_EQ(inside.size(), 2U);
  EXPECT_EQ(inside[0].owner, owner_number(1));
  EXPECT_EQ(inside[0].first, *first);
  EXPECT_EQ(inside[0].ends, noon + 30s);
  EXPECT_TRUE(release(3ms, claim_for("a", 1), *first));
  EXPECT_TRUE(release(4ms, shared(3), second.granted.first.value()));
  EXPECT_TRUE(rows_.take_free("a", {.owner = owner_number(4), .lease = 30s, .ends = noon + 31s}));
  EXPECT_EQ(rows_.find("a")->alone->demand, seam::demand{}) << "nothing is left of the reader";
}

TEST_F(sqlite_table_rows, an_upgrade_is_alone_once_the_shared_grant_has_gone) {
  const auto old = ask(0s, shared(1));
  const auto granted = ask(1ms, upgrade(11, 1));
  EXPECT_EQ(granted.result, ask_result::granted);
  EXPECT_EQ(rows_.find("a")->claim_rows, 2);
  EXPECT_EQ(ask(2ms, shared(2)).result, ask_result::in_line);
  EXPECT_TRUE(release(3ms, shared(1), old.granted.first.value()));
  EXPECT_TRUE(rows_.find("a")->alone) << "nobody holds it together with it";
  EXPECT_EQ(rows_.find("a")->claim_rows, 1);
  EXPECT_TRUE(release(4ms, upgrade(11, 1), granted.granted.last.value()));
  EXPECT_EQ(rows_.sharers("a").size(), 1U);
  withdraw(5ms, shared(2));
  EXPECT_EQ(rows_.find("a")->claim_rows, 0);
  EXPECT_EQ(base_.ask_number("SELECT count(*) FROM claims"), 0);
}

TEST_F(sqlite_table_rows, a_long_line_is_served_in_order_and_known_to_its_end) {
  const auto first = ask(0s, claim_for("a", 1));
  constexpr std::uint8_t last = 200;
  for (std::uint8_t owner = 2; owner <= last; ++owner) {
    const auto place = ask(duration{owner}, shared(owner), {.asked_before = false});
    ASSERT_EQ(place.result, ask_result::in_line);
    ASSERT_EQ(place.near, owner - 2 < seam::near_places);
  }
  EXPECT_EQ(ask(1ms, shared(last)).result, ask_result::in_line) << "found at the end";
  withdraw(2ms, shared(100));
  EXPECT_TRUE(release(3ms, claim_for("a", 1), first.granted.first.value()));
  EXPECT_EQ(told_.size(), 198U);
  EXPECT_EQ(rows_.find("a")->claim_rows, 198);
  EXPECT_EQ(rows_.sharers("a").front().owner, owner_number(2));
  EXPECT_EQ(rows_.sharers("a").back().owner, owner_number(last));
}

TEST_F(sqlite_table_rows, a_waiter_whose_process_is_dead_does_not_count_as_waiting) {
  const auto first = ask(0s, claim_for("a", 1));
  const client_number dead = add_dead_client();
  EXPECT_EQ(ask(1ms, claim_for("a", 2, true), {}, dead).result, ask_result::in_line);
  EXPECT_FALSE(ask(2ms, claim_for("a", 1)).granted.wanted);
  EXPECT_EQ(rows_.find("a")->claim_rows, 0) << "it has lost its place";
  EXPECT_EQ(ask(3ms, claim_for("a", 2, true), {}, dead).result, ask_result::in_line);
  EXPECT_EQ(ask(4ms, claim_for("a", 3, true)).result, ask_result::in_line);
  ASSERT_EQ(told_.size(), 1U) << "the first who lives";
  EXPECT_TRUE(release(5ms, claim_for("a", 1), first.granted.first.value()));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].owner, owner_number(3));
}

TEST_F(sqlite_table_rows, looking_leaves_out_a_dead_holder_and_writes_nothing) {
  ask(0s, claim_for("a", 1), {}, add_dead_client());
  ask(1ms, claim_for("a", 2, true));
  const auto info = at(2ms, 1, [](auto& line) { return line.look("a"); });
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_EQ(info.holders[0].owner, owner_number(2)) << "who would be served";
  EXPECT_TRUE(info.line.empty());
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(rows_.find("a")->alone->owner, owner_number(1));
  EXPECT_EQ(rows_.find("a")->claim_rows, 1);
}

TEST_F(sqlite_table_rows, a_renewal_can_bring_fences_and_untie_the_hold_from_its_process) {
  const auto claim = claim_for("a", 1);
  const auto granted = ask(0s, claim).granted;
  const auto ends = rows_.find("a")->alone->ends;
  const auto renewed = renew(10s, claim, granted.first, true, true);
  EXPECT_TRUE(renewed.renewed);
  EXPECT_GT(renewed.more_first, granted.last);
  const auto row = rows_.find("a");
  ASSERT_TRUE(row && row->alone);
  EXPECT_TRUE(rows_.client(row->alone->client).process == process_id{}) << "bound to no process";
  EXPECT_EQ(row->alone->ends, ends) << "a lease of zero changes nothing";
}

TEST_F(sqlite_table_rows, who_detached_a_hold_is_known_as_long_as_it_is_held) {
  const auto unbound = [this] {
    return base_.ask_number("SELECT count(*) FROM clients WHERE pid = 0");
  };
  const client_number me = add_client(base_, self_, "me", time_point{noon});
  const auto claim = claim_for("a", 1);
  const auto granted = ask(0s, claim, {}, me).granted;
  renew(1ms, claim, granted.first, true);
  renew(2ms, claim, granted.first, true);  // a repeated one finds its own work
  EXPECT_EQ(unbound(), 1);
  remove_client(base_, self_, me);
  sweep_at(3ms);
  EXPECT_EQ(rows_.client(rows_.find("a")->alone->client).who, "me");
  renew(4ms, claim, granted.first, false);
  EXPECT_EQ(rows_.client(rows_.find("a")->alone->client).who, "me") << "not who renews it";
  EXPECT_TRUE(release(5ms, claim, granted.first.value()));
  sweep_at(6ms);
  EXPECT_EQ(unbound(), 0);
}

TEST_F(sqlite_table_rows, a_renewal_of_a_name_without_a_row_makes_none) {
  EXPECT_FALSE(renew(0s, claim_for("b", 1), fence{1}, false).renewed);
  EXPECT_FALSE(rows_.find("b"));
}

TEST_F(sqlite_table_rows, the_fence_ends_at_its_greatest_number) {
  base_.run("INSERT INTO locks (name, top, crowd) VALUES ('a', 9223372036854775807 - 4000, 0)");
  const auto last = ask(0s, claim_for("a", 1));
  EXPECT_EQ(last.result, ask_result::granted);
  EXPECT_EQ(last.granted.last.value(), fence::max_value);
  withdraw(0s, claim_for("a", 1));
  try {
    ask(0s, claim_for("a", 2));
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::fence_exhausted);
  }
  const holder fresh{.owner = owner_number(3), .lease = 30s, .ends = noon + 1h};
  EXPECT_FALSE(rows_.take_free("a", fresh)) << "the short way refuses it too";
}

TEST_F(sqlite_table_rows, a_row_that_was_removed_leaves_its_fence_behind) {
  base_.run("INSERT INTO locks (name, top, crowd, since) VALUES ('a', 5000000000000000000, 0, 0)");
  sweep_at(0s);
  EXPECT_FALSE(rows_.find("a"));
  EXPECT_GT(ask(0s, claim_for("a", 1)).granted.first.value(), 5000000000000000000);
  const holder fresh{.owner = owner_number(3), .lease = 30s, .ends = noon + 1h};
  EXPECT_FALSE(rows_.take_free("b", fresh)) << "the short way gives only what the clock says";
  EXPECT_GT(ask(0s, claim_for("b", 3)).granted.first.value(), 5000000000000000000);
}

TEST_F(sqlite_table_rows, the_short_way_gives_rising_fences_within_a_millisecond) {
  std::int64_t last = 0;
  for (std::uint8_t i = 1; i < 100; ++i) {
    const holder fresh{.owner = owner_number(i), .lease = 30s, .ends = noon + 30s};
    const auto first = rows_.take_free("a", fresh);
    ASSERT_TRUE(first);
    ASSERT_GT(*first, last);
    last = *first + seam::fence_block - 1;
    EXPECT_EQ(rows_.find("a")->top, last);
    EXPECT_EQ(rows_.find("a")->alone->last, last);
    ASSERT_TRUE(rows_.give_back_alone("a", fresh.owner, *first, noon));
  }
}

TEST_F(sqlite_table_rows, the_short_way_leaves_alone_what_is_held_or_ahead_of_the_clock) {
  const holder one{.owner = owner_number(1), .lease = 30s, .ends = noon + 30s};
  const holder two{.owner = owner_number(2), .lease = 30s, .ends = noon + 30s};
  const auto first = rows_.take_free("a", one);
  ASSERT_TRUE(first);
  EXPECT_FALSE(rows_.take_free("a", two)) << "as a name that was taken before";
  EXPECT_FALSE(rows_.take_free("a", two)) << "as one that may be new";
  EXPECT_EQ(rows_.find("a")->alone->owner, one.owner);
  ASSERT_TRUE(rows_.give_back_alone("a", one.owner, *first, noon));
  base_.run("UPDATE locks SET top = top + 3600000000000");  // by one whose clock is ahead
  EXPECT_FALSE(rows_.take_free("a", two));
  EXPECT_FALSE(rows_.take_free("a", two));
  EXPECT_GT(ask(0s, claim_for("a", 2)).granted.first.value(), *first + 3600000000000);
}

TEST_F(sqlite_table_rows, a_name_whose_row_was_removed_is_taken_the_short_way_again) {
  const holder one{.owner = owner_number(1), .lease = 30s, .ends = noon + 30s};
  const auto first = rows_.take_free("a", one);
  ASSERT_TRUE(first);
  base_.run("DELETE FROM locks");
  EXPECT_FALSE(rows_.take_free("a", one)) << "it had a row";
  const auto second = rows_.take_free("a", one);
  ASSERT_TRUE(second);
  EXPECT_GT(*second, *first);
}

TEST_F(sqlite_table_rows, what_the_dead_left_on_a_name_that_nobody_wants_is_swept) {
  ask(0s, claim_for("held", 1));
  ask(0s, claim_for("waited for", 1));
  ask(0s, claim_for("waited for", 2, true));
  auto reader = claim_for("shared", 3);
  reader.mode = claim_mode::shared;
  ask(0s, reader);
  sweep_at(4s);
  EXPECT_TRUE(rows_.find("held")->alone) << "its lease is not over";
  EXPECT_EQ(rows_.find("waited for")->claim_rows, 0) << "the place in line is";
  EXPECT_EQ(rows_.find("shared")->claim_rows, 1);
  sweep_at(30s);
  EXPECT_FALSE(rows_.find("held")->alone);
  const auto nobody_shares = rows_.find("shared");
  EXPECT_TRUE(!nobody_shares || nobody_shares->claim_rows == 0);
  sweep_at(2min);
  for (const char* name : {"held", "waited for", "shared"}) EXPECT_FALSE(rows_.find(name)) << name;
}

TEST_F(sqlite_table_rows, what_has_ended_of_an_upgrade_is_swept) {
  ask(0s, shared(1));
  ask(1ms, upgrade(11, 1));
  sweep_at(31s);
  EXPECT_EQ(base_.ask_number("SELECT count(*) FROM claims"), 0);
  EXPECT_EQ(base_.ask_number("SELECT coalesce(sum(crowd), 0) FROM locks"), 0);
}

}  // namespace
}  // namespace crosslock::sqlite
