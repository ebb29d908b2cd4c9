// Servers that are killed, stopped, cut off from each other, or out of reach.
#include "faults/zookeeper_case.hpp"

#include <algorithm>

namespace crosslock::faults {
namespace {

TEST_F(zookeeper_three, F7_a_stopped_follower_costs_its_clients_a_reconnect) {
  const std::size_t stopped = three().others(three().leader())[0];
  const client viewer = connect();
  const auto holder = start("holder", steady);
  const auto next = start("next", steady);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  note(fault::server_down);
  three()[stopped].stop();
  EXPECT_EQ(holder->say("work name 3000"), "held");
  EXPECT_EQ(holder->say("release name"), "released");
  in_at(*next);
  EXPECT_EQ(next->say("release name"), "released");
  three()[stopped].go_on();
  note(fault::server_up);
  EXPECT_EQ(next->say("loop name 5 0"), "done 5");
  auto how = strictness();
  how.calm_bound = steady + look_cap;
  judge(how);
}

TEST_F(zookeeper_three, F7_a_stopped_leader_costs_an_error_in_time_and_holders_are_told_in_time) {
  const std::size_t leader = three().leader();
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer, session, patient);
  const client locks = connect(steady, impatient(500ms));
  mutex lock{locks, "other"};
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 60000");
  note(fault::server_down);
  three()[leader].stop();
  const time_point stopped = now();
  const errc failed = code_of([&] { (void)lock.try_acquire(); });
  EXPECT_TRUE(failed == errc::timed_out || failed == errc::unreachable) << static_cast<int>(failed);
  EXPECT_LE(now() - stopped, 500ms + stall);
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - stopped, session);
  // The two others go on; sessions begin anew with their leader.
  EXPECT_NE(three().leader(), leader);
  EXPECT_LE(in_at(*next) - stopped, election + session + after_session);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  three()[leader].go_on();  // it still takes itself for the leader, for a moment
  note(fault::server_up);
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(next->say("work name 1000"), "held");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_TRUE(lock.try_acquire_for(20s));
  auto how = strictness();
  how.need_stale_write = true;
  how.calm_bound = election + session + look_cap;
  judge(how);
}

TEST_F(zookeeper_three, F10_one_of_three_down_or_stopped_or_cut_off_is_hardly_noticed) {
  for (const std::string how : {"killed", "stopped", "cut off"}) {
    SCOPED_TRACE(how);
    const std::size_t victim = three().others(three().leader())[1];
    note(fault::server_down);
    if (how == "killed") three()[victim].kill();
    if (how == "stopped") three()[victim].stop();
    if (how == "cut off") three().cut_off(victim);
    std::vector<std::unique_ptr<real_actor>> actors;
    for (int i = 0; i < 3; ++i) {
      actors.push_back(start("p", steady));
      actors.back()->send("loop name 20 1000");
    }
    for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 20");
    three().mend();
    note(fault::server_up);
    EXPECT_EQ(actors[0]->say("loop name 3 0"), "done 3");
  }
  auto how = strictness();
  how.calm_bound = steady + look_cap;
  judge(how);
}

TEST_F(zookeeper_three, F15_a_killed_leader_is_survived_by_holders_and_waiters) {
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer, patient, patient);
  const std::size_t leader = three().leader();
  note(fault::server_down);
  three()[leader].kill();
  EXPECT_NE(three().leader(), leader);
  EXPECT_EQ(holder->say("work name 500"), "held");
  EXPECT_EQ(holder->say("release name"), "released");
  const fence second = fence_in(next->answer());
  EXPECT_GT(second, first);  // although another counts the transactions now
  three().mend();
  note(fault::server_up);
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_GT(take_and_release("name"), second);
  auto how = strictness();
  how.calm_bound = election + look_cap;
  judge(how);
}

TEST_F(zookeeper_three, F15_a_follower_killed_right_after_it_answered_a_heartbeat_proves_nothing) {
  const client viewer = connect();
  // So many that only they can prove it: to begin a session is a write of the leader, and counts.
  constexpr std::uint64_t heartbeats = 6;
  for (int round = 0; round < 3; ++round) {
    const std::size_t leader = three().leader();
    const std::size_t follower = three().others(leader)[static_cast<std::size_t>(round) % 2];
    const auto holder = start("holder", session, only(follower));
    const auto next = start("next", steady, only(leader));
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    next->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(viewer, "name", 1));
    holder->send("work name 60000");
    const auto answered = wire(*holder, follower)
                              .add({.going = way::to_client,
                                    .matches = is_verb(verb::renew),
                                    .skip = static_cast<std::uint64_t>(round) + heartbeats});
    ASSERT_TRUE(wire(*holder, follower).await(answered));
    note(fault::server_down);
    three()[follower].kill();
    const time_point killed = now();
    EXPECT_LE(in_at(*next) - killed, session + after_session);
    EXPECT_EQ(holder->answer(), "lost");
    EXPECT_LE(ask_notice(*holder, "name").when - killed, session - tick);
    three().mend();
    note(fault::server_up);
    EXPECT_EQ(next->say("release name"), "released");
  }
  judge();  // nobody was in before the other had been told
}

TEST_F(zookeeper_three, F16_a_client_on_the_minority_side_is_told_in_time_and_replaced) {
  for (const bool leader_is_cut : {false, true}) {
    SCOPED_TRACE(leader_is_cut);
    const client viewer = connect();
    const std::size_t leader = three().leader();
    const std::size_t alone = leader_is_cut ? leader : three().others(leader)[0];
    const std::size_t other = three().others(alone)[1];
    const auto holder = start("holder", session, only(alone));
    const auto next = start("next", patient, only(other));
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    EXPECT_EQ(holder->say(leader_is_cut ? "write name 3" : "write name 1"), "accepted");
    next->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(viewer, "name", 1));
    holder->send("work name 60000");
    note(fault::server_down);
    three().cut_off(alone);
    const time_point cut = now();
    EXPECT_EQ(holder->answer(), "lost");
    EXPECT_LE(ask_notice(*holder, "name").when - cut, session);
    const duration bound = session + after_session + (leader_is_cut ? election : duration{});
    EXPECT_LE(in_at(*next) - cut, bound);
    EXPECT_EQ(next->say(leader_is_cut ? "write name 4" : "write name 2"), "accepted");
    EXPECT_EQ(holder->say("write name 9"), "refused");
    // Whoever knows no other server gets an error in time.
    const std::string said = holder->say("acquire other 2000");
    EXPECT_TRUE(said == "busy" || said.starts_with("error ")) << said;
    three().mend();
    note(fault::server_up);
    EXPECT_EQ(next->say("work name 500"), "held");
    EXPECT_EQ(next->say("release name"), "released");
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    EXPECT_EQ(holder->say("release name"), "released");
  }
  auto how = strictness();
  how.need_stale_write = true;
  how.calm_bound = election + session + look_cap;
  judge(how);
}

}  // namespace
}  // namespace crosslock::faults
