// Holders and waiters that are stopped, killed or cut off.
#include "faults/suites.hpp"

#include <algorithm>
#include <cstdio>

namespace crosslock::faults {
namespace {

int in_ms(duration time) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

TEST_P(process_faults, F1_a_holder_stopped_past_its_lease_is_replaced_and_its_late_write_refused) {
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->freeze();
  const time_point frozen = now();
  EXPECT_LE(in_at(*next) - frozen, bounds().brief + bounds().after_lease);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  sleep_for_real(frozen + 3 * bounds().brief - now());
  holder->thaw();
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(holder->say("valid name"), "no");
  EXPECT_EQ(holder->say("work name 5000"), "lost");  // how soon is for the judge to say
  EXPECT_EQ(ask_notice(*holder, "name").times, 1);
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(next->say("valid name"), "yes");
  EXPECT_EQ(next->say("release name"), "released");
  judge_with_stale_write();
}

TEST_P(process_faults, F2_a_killed_holder_is_replaced_as_soon_as_promised) {
  const client viewer = connect();
  duration longest{};
  for (const duration moment : bounds().moments) {
    const auto [holder, next, first] = holder_and_waiter(viewer, bounds().mortal, bounds().lasting);
    sleep_for_real(moment);
    holder->kill();
    const time_point killed = now();
    const duration took = in_at(*next) - killed;
    longest = std::max(longest, took);
    EXPECT_LE(took, bounds().after_death);
    EXPECT_EQ(next->say("release name"), "released");
  }
  std::printf("kill -9 of a holder to the next grant: at most %d ms with a lease of %d ms\n",
              in_ms(longest), in_ms(bounds().mortal));
  judge();
}

TEST_P(process_faults, F2_a_whole_line_of_waiters_killed_with_its_holder_is_in_nobodys_way) {
  const client viewer = connect();
  std::vector<std::unique_ptr<real_actor>> doomed;
  for (std::size_t i = 0; i < 6; ++i) {
    doomed.push_back(start("doomed", bounds().mortal));
    doomed.back()->send("acquire name 60000");
    if (i == 0) {
      in_at(*doomed[0]);
    } else {
      EXPECT_TRUE(line_reaches(viewer, "name", i));
    }
  }
  const auto last = start("last", bounds().lasting);
  last->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 6));
  for (const auto& each : doomed) each->kill();
  const time_point killed = now();
  EXPECT_LE(in_at(*last) - killed, bounds().after_line_death);
  EXPECT_EQ(last->say("release name"), "released");
  judge();
}

TEST_P(process_faults, F5_a_lost_answer_is_asked_for_again_and_changes_nothing) {
  const client viewer = connect();
  const auto victim = start("victim", bounds().renewed, 300ms);
  stage().lose_next_answer(observer::verb::ask);
  const fence first = fence_in(victim->say("acquire name 20000"));
  ASSERT_EQ(viewer.look("name").holders.size(), 1U);
  EXPECT_EQ(viewer.look("name").holders[0].fence, first);  // the same grant, not a second one
  stage().lose_next_answer(observer::verb::renew);
  EXPECT_EQ(victim->say("work name 2500"), "held");
  stage().lose_next_answer(observer::verb::release);
  EXPECT_EQ(victim->say("release name"), "unknown");
  EXPECT_TRUE(eventually([&] { return viewer.list().empty(); }));
  EXPECT_GT(fence_in(victim->say("acquire name 20000")), first);
  EXPECT_EQ(victim->say("release name"), "released");
  judge(bounds().calm.cycle);
}

TEST_P(process_faults, F34_a_head_waiter_frozen_as_its_turn_comes_costs_at_most_the_offer) {
  play_head_waiter([](real_actor& head) { head.freeze(); }, [](real_actor& head) { head.thaw(); },
                   bounds().calm.frozen_head);
}

TEST_P(process_faults, F34_a_head_waiter_cut_off_as_its_turn_comes_costs_at_most_the_offer) {
  play_head_waiter([](real_actor& head) { head.cut_off(); }, [](real_actor& head) { head.heal(); },
                   bounds().calm.cut_off_head);
}

TEST_P(process_faults, F34_a_line_of_frozen_waiters_costs_no_more_than_promised) {
  const client viewer = connect();
  const auto holder = start("holder", bounds().lasting);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  std::vector<std::unique_ptr<real_actor>> heads;
  for (std::size_t i = 0; i < 3; ++i) {
    heads.push_back(start("head", bounds().brief));
    heads.back()->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(viewer, "name", i + 1));
  }
  const auto next = start("next", bounds().renewed);
  next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 4));
  for (const auto& each : heads) each->freeze();
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  // The places of the others end while the first has its offer.
  EXPECT_LE(in_at(*next) - released, bounds().frozen_line);
  EXPECT_EQ(next->say("release name"), "released");
  for (const auto& each : heads) each->thaw();
  // Their places are gone, so they stand in line anew.
  serve_in_any_order(heads);
  judge(bounds().calm.frozen_line);
}

TEST_P(wire_faults, F3_a_holder_cut_off_without_a_word_is_told_in_time_and_replaced) {
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  sleep_for_real(bounds().brief / 2);
  holder->cut_off();
  const time_point cut = now();
  EXPECT_LE(in_at(*next) - cut, bounds().brief + bounds().after_lease);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->answer(), "lost");
  // Before anybody else could be in.
  EXPECT_LE(ask_notice(*holder, "name").when - cut, bounds().brief);
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

TEST_P(wire_faults, F23_a_connection_half_open_for_long_costs_one_loss_and_nothing_else) {
  // Minutes would be the same many times over: every request has its own end, and so has the hold.
  constexpr duration long_enough = 15s;
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer);
  holder->send("work name 60000");
  holder->cut_off();
  const time_point cut = now();
  in_at(*next);
  EXPECT_EQ(next->say("work name 3000"), "held");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - cut, bounds().brief);
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
  fault_case::judge(how);
}

}  // namespace
}  // namespace crosslock::faults
