// The table of claims: what is left to do after a reconnect, after a session, and now and then.
#include "session/claims.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace crosslock::session {
namespace {

using namespace std::chrono_literals;

constexpr time_point start{100s};

class session_claims : public testing::Test {
 protected:
  standing_ref claim(standing::phase now, session_number session = 1) {
    owner_id::bytes_type bytes{};
    bytes[0] = static_cast<std::uint8_t>(++count_);
    bytes[1] = static_cast<std::uint8_t>(count_ >> 8);
    auto one = std::make_shared<standing>();
    one->claim.owner = owner_id{bytes};
    one->session = session;
    one->node = "/name/" + std::to_string(count_);
    one->now = now;
    table.add(one);
    return one;
  }
  standing_ref held(time_point since = start) {
    const standing_ref one = claim(standing::phase::asking);
    table.hold(one, since);
    return one;
  }
  std::size_t guards(time_point old_enough) { return table.due(start, old_enough).to_guard.size(); }

  claims table;

 private:
  int count_ = 0;
};

TEST_F(session_claims, after_a_reconnect_who_leaves_leaves_again_and_who_waits_looks) {
  const auto leaving = claim(standing::phase::leaving);
  const auto waiting = claim(standing::phase::waiting);
  waiting->looked = start;
  held();
  claim(standing::phase::asking);
  const auto found = table.after_reconnect();
  EXPECT_EQ(found.leaving, std::vector{leaving});
  EXPECT_EQ(found.waiting, std::vector{waiting});
  EXPECT_EQ(waiting->looked, time_point{}) << "its watch may have fired unheard";
}

TEST_F(session_claims, with_a_session_goes_what_it_had_and_nothing_else) {
  const auto gone = held();
  const auto leaving = claim(standing::phase::leaving);
  const auto waiting = claim(standing::phase::waiting);
  table.watch(waiting, "/name/0");
  const auto later = claim(standing::phase::held, 2);
  const auto found = table.after_session(1);
  EXPECT_EQ(found.waiting, std::vector{waiting});
  EXPECT_TRUE(table.take_watchers("/name/0").empty());
  EXPECT_EQ(table.find(gone->claim.owner), nullptr);
  EXPECT_EQ(table.find(leaving->claim.owner), nullptr) << "there is nothing to remove any more";
  EXPECT_EQ(table.find(later->claim.owner), later);
}

TEST_F(session_claims, a_hold_is_guarded_once_when_it_has_lasted) {
  const auto one = held();
  EXPECT_EQ(guards(start - 1s), 0U);
  EXPECT_EQ(guards(start), 1U);
  EXPECT_EQ(table.guarded(one->node), one);
  EXPECT_EQ(guards(start + 1s), 0U);
  table.guard_later(one);  // it could not be sent
  EXPECT_EQ(guards(start + 1s), 1U);
}

TEST_F(session_claims, who_was_released_before_is_not_guarded) {
  const auto one = held();
  const auto other = held();
  const auto third = held();
  table.forget(other);
  one->now = standing::phase::leaving;
  const auto found = table.due(start, start);
  ASSERT_EQ(found.to_guard.size(), 1U);
  EXPECT_EQ(found.to_guard.front().first, third);
}

TEST_F(session_claims, so_many_are_guarded_and_others_when_there_is_room_again) {
  std::vector<standing_ref> all;
  for (int i = 0; i < 1100; ++i) all.push_back(held());
  EXPECT_EQ(guards(start), 1024U);
  EXPECT_EQ(guards(start), 0U);
  const auto guarded =
      std::ranges::find_if(all, [](const standing_ref& one) { return one->guarded; });
  table.forget(*guarded);
  EXPECT_EQ(guards(start), 1U);
}

TEST_F(session_claims, what_was_refused_is_tried_again_once) {
  const auto one = claim(standing::phase::leaving);
  table.remove_later(one);
  EXPECT_EQ(table.due(start, start).refused, std::vector{one});
  EXPECT_TRUE(table.due(start, start).refused.empty());
}

TEST_F(session_claims, who_has_stayed_for_too_long_goes) {
  const auto one = claim(standing::phase::asking);
  table.stay(one, start + 1s, [](bool) {});
  EXPECT_TRUE(table.due(start, start).too_long.empty());
  EXPECT_EQ(table.due(start + 1s, start).too_long, std::vector{one});
  one->go_on = nullptr;
  EXPECT_TRUE(table.due(start + 2s, start).too_long.empty());
}

TEST_F(session_claims, a_watch_fires_once_and_for_everybody_who_has_it) {
  const auto one = claim(standing::phase::waiting);
  const auto other = claim(standing::phase::waiting);
  table.watch(one, "/name/0");
  table.watch(other, "/name/0");
  table.watch(other, "/name/9");
  EXPECT_EQ(table.take_watchers("/name/0"), std::vector{one});
  EXPECT_TRUE(table.take_watchers("/name/0").empty());
  EXPECT_EQ(table.take_watchers("/name/9"), std::vector{other});
}

}  // namespace
}  // namespace crosslock::session
