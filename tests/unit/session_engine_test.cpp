// Claims as chains of steps: what is asked of the tree, and what becomes of a claim whose requests
// or whose session are lost.
#include "session_rig.hpp"

namespace crosslock::session {
namespace {

class session_engine : public testing::Test {
 protected:
  static seam::claim claim(std::uint8_t who, claim_mode mode = claim_mode::exclusive) {
    owner_id::bytes_type bytes{};
    bytes[0] = who;
    return {.name = std::make_shared<const lock_name>("name"),
            .owner = owner_id{bytes},
            .mode = mode,
            .lease = 10s,
            .wait = true};
  }
  void ask(const seam::claim& one) { tested.ask_async(one, time_point::max()); }
  seam::answer served(const seam::claim& one) {
    ask(one);
    wire.serve();
    return told_.answers[one.owner].empty() ? seam::answer{} : told_.answers[one.owner].back();
  }
  seam::release_answer release(const seam::answer& held) {
    return tested.release(held.granted, seam::real_clock().now() + 1s);
  }
  std::size_t places() const { return wire.nodes.size(); }

  told told_;
  small_engine tested{told_};
  small_tree& wire = tested.wire();
};

TEST_F(session_engine, a_free_name_is_granted_by_one_flight) {
  const auto mine = claim(1);
  ask(mine);
  EXPECT_EQ(wire.on_their_way(), 2U) << "made and listed";
  wire.serve();
  ASSERT_EQ(told_.answers[mine.owner].size(), 1U);
  const seam::answer held = told_.answers[mine.owner].front();
  EXPECT_EQ(held.result, seam::ask_result::granted);
  EXPECT_EQ(held.granted.session, wire.now().lasts);
  EXPECT_GT(held.granted.first, fence{0});
  EXPECT_EQ(wire.requests, 2);
}

TEST_F(session_engine, who_waits_watches_the_one_before_it_and_its_last_word_is_the_grant) {
  const auto first = served(claim(1));
  EXPECT_EQ(served(claim(2)).result, seam::ask_result::in_line);
  EXPECT_EQ(served(claim(3)).result, seam::ask_result::in_line);
  EXPECT_EQ(wire.watched.size(), 2U);
  const int before = wire.requests;
  EXPECT_EQ(release(first), seam::release_answer::released);
  EXPECT_EQ(wire.requests, before + 1) << "the release, and nothing else";
  ASSERT_TRUE(told_.pushed.contains(claim(2).owner));
  EXPECT_GT(told_.pushed[claim(2).owner].first, first.granted.first);
  EXPECT_FALSE(told_.pushed.contains(claim(3).owner));
  EXPECT_EQ(told_.looks[claim(3).owner], 0) << "nobody else is woken";
}

TEST_F(session_engine, who_sees_another_waiter_vanish_looks_around) {
  served(claim(1));
  served(claim(2));
  served(claim(3));
  tested.withdraw(claim(2), seam::real_clock().now() + 1s);
  EXPECT_EQ(told_.looks[claim(3).owner], 1);
  EXPECT_EQ(served(claim(3)).result, seam::ask_result::in_line);
  EXPECT_EQ(wire.watched.size(), 1U);
}

TEST_F(session_engine, a_removal_that_was_put_off_does_not_take_the_place_of_the_next_try) {
  const auto mine = claim(1);
  served(mine);
  wire.connected = false;
  EXPECT_THROW(tested.withdraw(mine, seam::real_clock().now()), error);
  wire.connected = true;
  EXPECT_EQ(served(mine).result, seam::ask_result::granted);
  wire.beat();
  wire.serve();
  EXPECT_EQ(places(), 1U);
}

TEST_F(session_engine, asking_again_behind_a_lost_answer_finds_the_place_that_was_made) {
  const auto mine = claim(1);
  ask(mine);
  wire.cut(true);
  EXPECT_TRUE(told_.failures.at(mine.owner).outcome_unknown());
  EXPECT_EQ(places(), 1U);
  wire.reconnect();
  EXPECT_EQ(served(mine).result, seam::ask_result::granted);
  EXPECT_EQ(places(), 1U) << "not another one";
}

TEST_F(session_engine, a_place_of_another_session_is_not_taken_for_its_own) {
  const auto mine = claim(1);
  ask(mine);
  wire.cut(true);
  wire.nodes.begin()->second.owner = 7;  // by the same id, and about to vanish
  wire.reconnect();
  EXPECT_EQ(served(mine).result, seam::ask_result::in_line);
  EXPECT_EQ(places(), 2U);
}

TEST_F(session_engine, what_nobody_has_removed_for_sure_is_removed_after_the_reconnect) {
  const auto held = served(claim(1));
  served(claim(2));
  wire.connected = false;
  EXPECT_THROW(release(held), error);
  wire.connected = true;
  ask(claim(3));
  wire.cut(true);  // its place is made, and nobody has heard of it
  EXPECT_THROW(tested.withdraw(claim(3), seam::real_clock().now()), error);
  EXPECT_EQ(places(), 3U);
  wire.reconnect();
  wire.serve();
  EXPECT_EQ(places(), 1U) << "only that of 2 is left";
  const bool told_of_turn =
      told_.pushed.contains(claim(2).owner) || told_.looks[claim(2).owner] > 0;
  EXPECT_TRUE(told_of_turn);
}

TEST_F(session_engine, a_release_that_is_cut_off_is_answered_by_the_next_connection) {
  const auto held = served(claim(1));
  wire.cut_next = true;
  EXPECT_EQ(release(held), seam::release_answer::released);
  EXPECT_EQ(places(), 0U);
}

/// It may have been the first try's doing, or that of somebody who broke the lock.
TEST_F(session_engine, a_release_that_finds_nothing_on_the_next_connection_is_unknown) {
  const auto held = served(claim(1));
  wire.cut_next = true;
  wire.carry_out_cut = true;
  try {
    release(held);
    ADD_FAILURE() << "it is not known whose doing it was";
  } catch (const error& why) {
    EXPECT_TRUE(why.outcome_unknown());
  }
  EXPECT_EQ(places(), 0U);
}

/// While a downgrade is not answered its place is not known, and has to be looked for.
TEST_F(session_engine, a_release_that_looks_for_its_place_and_finds_none_is_not_released) {
  for (const bool removed : {false, true}) {
    const auto held = served(claim(1));
    seam::renewal shared{.held = held.granted, .share = true};
    tested.renew({&shared, 1}, seam::real_clock().now() + 1s);
    if (removed) wire.nodes.clear();  // by somebody's hand
    EXPECT_EQ(release(held),
              removed ? seam::release_answer::not_owner : seam::release_answer::released);
    EXPECT_EQ(places(), 0U);
  }
}

TEST_F(session_engine, a_release_that_is_cut_off_for_good_is_unknown) {
  const auto held = served(claim(1));
  wire.cut_next = true;
  wire.comes_back = false;
  EXPECT_THROW(release(held), error);
  wire.end_session();  // nobody waits any more
}

TEST_F(session_engine, with_its_session_everything_ends_and_who_waits_stands_in_line_anew) {
  const auto held = served(claim(1));
  served(claim(2));
  wire.end_session();
  EXPECT_TRUE(held.granted.session->ended());
  EXPECT_EQ(told_.cuts, 1);
  EXPECT_GE(told_.looks[claim(2).owner], 1);
  EXPECT_EQ(release(held), seam::release_answer::not_owner);
  const auto next = served(claim(2));
  EXPECT_EQ(next.result, seam::ask_result::granted);
  EXPECT_NE(next.granted.session, held.granted.session);
}

TEST_F(session_engine, a_hold_that_lasts_is_guarded_and_its_removal_by_hand_is_told) {
  const auto held = served(claim(1));
  wire.beat();
  wire.serve();
  EXPECT_EQ(wire.watched.size(), 1U);
  const int asked = wire.requests;
  wire.beat();
  wire.serve();
  EXPECT_EQ(wire.requests, asked) << "once is enough";
  wire.remove(wire.nodes.begin()->first);
  EXPECT_EQ(told_.failures.at(claim(1).owner).which(), errc::lost);
  EXPECT_EQ(release(held), seam::release_answer::not_owner);
}

TEST_F(session_engine, readers_go_in_together_and_a_writer_waits_for_the_last) {
  EXPECT_EQ(served(claim(1, claim_mode::shared)).result, seam::ask_result::granted);
  const auto second = served(claim(2, claim_mode::shared));
  EXPECT_EQ(second.result, seam::ask_result::granted);
  EXPECT_EQ(served(claim(3)).result, seam::ask_result::in_line);
  EXPECT_EQ(served(claim(4, claim_mode::shared)).result, seam::ask_result::in_line);
  EXPECT_EQ(release(second), seam::release_answer::released);
  EXPECT_FALSE(told_.pushed.contains(claim(3).owner)) << "the first reader is still in";
  EXPECT_EQ(told_.looks[claim(3).owner], 1);
}

TEST_F(session_engine, a_holder_that_asks_for_it_hears_that_others_wait) {
  served(claim(1));
  const auto mine = claim(1);
  tested.listen_for_wanted({*mine.name, mine.owner});
  wire.serve();
  EXPECT_EQ(told_.wants[mine.owner], 0);
  served(claim(2));
  tested.listen_for_wanted({*mine.name, mine.owner});
  wire.serve();
  EXPECT_EQ(told_.wants[mine.owner], 1);
}

}  // namespace
}  // namespace crosslock::session
