// Holders and waiters that are stopped, killed or cut off.
#include "faults/zookeeper_case.hpp"

#include <algorithm>
#include <cstdio>

namespace crosslock::faults {
namespace {

TEST_F(zookeeper_faults, F1_a_holder_stopped_past_its_session_is_replaced_and_its_write_refused) {
  const client eyes = connect();
  const auto [holder, next, first] = holder_and_waiter(eyes);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->freeze();
  const time_point frozen = now();
  EXPECT_LE(in_at(*next) - frozen, session + after_session);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  sleep_for_real(frozen + 3 * session - now());
  holder->thaw();
  const time_point thawed = now();
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(holder->say("valid name"), "no");
  EXPECT_EQ(holder->say("work name 50"), "lost");
  const notice told = ask_notice(*holder, "name");
  EXPECT_EQ(told.times, 1);
  EXPECT_LE(told.when - thawed, 50ms);
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(next->say("valid name"), "yes");
  EXPECT_EQ(next->say("release name"), "released");
  judge_with_stale_write();
}

TEST_F(zookeeper_faults, F2_a_killed_holder_is_replaced_when_its_session_is_over) {
  const client eyes = connect();
  duration longest{};
  for (int round = 0; round < 3; ++round) {
    const auto [holder, next, first] = holder_and_waiter(eyes);
    sleep_for_real(round * tick / 3);  // at another point between two heartbeats
    holder->kill();
    const time_point killed = now();
    const duration took = in_at(*next) - killed;
    longest = std::max(longest, took);
    EXPECT_LE(took, session + after_session);
    EXPECT_EQ(next->say("release name"), "released");
  }
  const auto in_ms = [](duration time) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  };
  std::printf("kill -9 of a holder to the next grant: at most %d ms with a session of %d ms\n",
              in_ms(longest), in_ms(session));
  judge();
}

TEST_F(zookeeper_faults, F2_a_whole_line_of_waiters_killed_with_its_holder_is_in_nobodys_way) {
  const client eyes = connect();
  std::vector<std::unique_ptr<real_actor>> doomed;
  for (std::size_t i = 0; i < 6; ++i) {
    doomed.push_back(start("doomed"));
    doomed.back()->send("acquire name 60000");
    if (i == 0) {
      in_at(*doomed[0]);
    } else {
      EXPECT_TRUE(line_reaches(eyes, "name", i));
    }
  }
  const auto last = start("last", steady);
  last->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(eyes, "name", 6));
  for (const auto& each : doomed) each->kill();
  const time_point killed = now();
  EXPECT_LE(in_at(*last) - killed, session + after_session);
  EXPECT_EQ(last->say("release name"), "released");
  judge();
}

TEST_F(zookeeper_faults, F3_a_holder_cut_off_without_a_word_is_told_in_time_and_replaced) {
  const client eyes = connect();
  const auto [holder, next, first] = holder_and_waiter(eyes);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  sleep_for_real(session / 2);
  holder->cut_off();
  const time_point cut = now();
  EXPECT_LE(in_at(*next) - cut, session + after_session);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - cut, session);  // before anybody else could be in
  EXPECT_EQ(holder->say("write name 3"), "refused");
  // What it has sent meanwhile arrives now, and changes nothing.
  holder->heal();
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(next->say("work name 1000"), "held");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release name"), "released");
  judge_with_stale_write();
}

TEST_F(zookeeper_faults, F23_a_connection_half_open_for_long_costs_one_loss_and_nothing_else) {
  // Minutes would be the same many times over: every request has its own end, and so has the hold.
  constexpr duration long_enough = 15s;
  const client eyes = connect();
  const auto [holder, next, first] = holder_and_waiter(eyes);
  holder->send("work name 60000");
  holder->cut_off();
  const time_point cut = now();
  in_at(*next);
  EXPECT_EQ(next->say("work name 3000"), "held");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - cut, session);
  // Nobody hangs: an acquire of so many seconds fails, or gives up, about then.
  const time_point asked = now();
  const std::string said = holder->say("acquire other 7000");
  EXPECT_TRUE(said == "busy" || said.starts_with("error ")) << said;
  EXPECT_LE(now() - asked, 7s + stall);
  sleep_for_real(cut + long_enough - now());
  holder->heal();
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_EQ(ask_notice(*holder, "name").times, 0);
  auto how = strictness();
  how.after_fault_bound = long_enough + 5s;
  judge(how);
}

class zookeeper_head_waiter : public zookeeper_case {
 protected:
  /// `falls_out` when its turn comes, and `comes_back` later.
  void play(void (*falls_out)(real_actor&), void (*comes_back)(real_actor&)) {
    const client eyes = connect();
    const auto [holder, head, first] = holder_and_waiter(eyes, steady, session);
    const auto next = start("next", steady);
    next->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(eyes, "name", 2));
    falls_out(*head);
    const time_point released = now();
    EXPECT_EQ(holder->say("release name"), "released");
    EXPECT_LE(in_at(*next) - released, session + after_session);
    EXPECT_EQ(next->say("work name 500"), "held");
    comes_back(*head);
    EXPECT_EQ(next->say("work name 200"), "held");
    EXPECT_EQ(next->say("release name"), "released");
    EXPECT_LE(in_at(*head) - released, 20s);  // late, but served
    EXPECT_EQ(head->say("release name"), "released");
    auto how = strictness();
    how.calm_bound = 6s;  // its requests of before are lost, for the time of a request
    judge(how);
  }
};

TEST_F(zookeeper_head_waiter, F34_frozen_as_its_turn_comes_costs_at_most_its_session) {
  play([](real_actor& head) { head.freeze(); }, [](real_actor& head) { head.thaw(); });
}

TEST_F(zookeeper_head_waiter, F34_cut_off_as_its_turn_comes_costs_at_most_its_session) {
  play([](real_actor& head) { head.cut_off(); }, [](real_actor& head) { head.heal(); });
}

TEST_F(zookeeper_faults, F34_a_line_of_frozen_waiters_costs_one_session_in_all) {
  const client eyes = connect();
  const auto holder = start("holder", steady);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  std::vector<std::unique_ptr<real_actor>> heads;
  for (std::size_t i = 0; i < 3; ++i) {
    heads.push_back(start("head"));
    heads.back()->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(eyes, "name", i + 1));
  }
  const auto next = start("next", steady);
  next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(eyes, "name", 4));
  for (const auto& each : heads) each->freeze();
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_LE(in_at(*next) - released, session + after_session);
  EXPECT_EQ(next->say("release name"), "released");
  for (const auto& each : heads) each->thaw();
  // Their places are gone, so they stand in line anew, in any order.
  while (!heads.empty()) {
    auto in = heads.end();
    ASSERT_TRUE(eventually([&] {
      in =
          std::find_if(heads.begin(), heads.end(), [](auto& each) { return each->has_answered(); });
      return in != heads.end();
    }));
    in_at(**in);
    EXPECT_EQ((*in)->say("release name"), "released");
    heads.erase(in);
  }
  auto how = strictness();
  how.calm_bound = 3s;  // whoever wakes up finds its session gone first
  judge(how);
}

}  // namespace
}  // namespace crosslock::faults
