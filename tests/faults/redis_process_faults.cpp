// Holders and waiters that are stopped, killed or cut off.
#include "faults/redis_case.hpp"

#include <algorithm>

namespace crosslock::faults {
namespace {

TEST_F(redis_faults, F1_a_holder_stopped_past_its_lease_is_replaced_and_its_late_write_refused) {
  const client eyes = connect();
  const auto [holder, next, first] = holder_and_waiter(eyes);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->freeze();
  const time_point frozen = now();
  EXPECT_LE(in_at(*next) - frozen, lease + after_lease);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  sleep_for_real(frozen + 3 * lease - now());
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
  auto how = strictness();
  how.need_stale_write = true;
  judge(how);
}

TEST_F(redis_faults, F2_a_killed_holder_is_replaced_when_its_lease_is_over) {
  const client eyes = connect();
  for (int round = 0; round < 3; ++round) {
    const auto [holder, next, first] = holder_and_waiter(eyes);
    sleep_for_real(round * 150ms);  // at another point between two renewals
    holder->kill();
    const time_point killed = now();
    EXPECT_LE(in_at(*next) - killed, lease + after_lease);
    EXPECT_EQ(next->say("release name"), "released");
  }
  judge();
}

TEST_F(redis_faults, F2_a_whole_line_of_waiters_killed_with_its_holder_is_in_nobodys_way) {
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
  const auto last = start("last", long_lease);
  last->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(eyes, "name", 6));
  for (const auto& each : doomed) each->kill();
  const time_point killed = now();
  EXPECT_LE(in_at(*last) - killed, lease + after_lease);
  EXPECT_EQ(last->say("release name"), "released");
  judge();
  eyes.close();
}

TEST_F(redis_faults, F3_a_holder_cut_off_without_a_word_is_told_in_time_and_replaced) {
  const client eyes = connect();
  const auto [holder, next, first] = holder_and_waiter(eyes);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  sleep_for_real(lease / 2);
  holder->cut_off();
  const time_point cut = now();
  EXPECT_LE(in_at(*next) - cut, lease + after_lease);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - cut, lease);  // before anybody else could be in
  EXPECT_EQ(holder->say("write name 3"), "refused");
  // What it has sent meanwhile arrives now, and changes nothing.
  holder->heal();
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(next->say("work name 1000"), "held");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release name"), "released");
  auto how = strictness();
  how.need_stale_write = true;
  judge(how);
}

TEST_F(redis_faults, F23_a_connection_half_open_for_long_costs_one_loss_and_nothing_else) {
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
  EXPECT_LE(ask_notice(*holder, "name").when - cut, lease);
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

class redis_head_waiter : public redis_case {
 protected:
  /// `falls_out` when its turn comes, and `comes_back` later.
  void play(void (*falls_out)(real_actor&), void (*comes_back)(real_actor&)) {
    const client eyes = connect();
    const auto [holder, head, first] = holder_and_waiter(eyes, long_lease, lease);
    const auto next = start("next", lease);
    next->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(eyes, "name", 2));
    falls_out(*head);
    const time_point released = now();
    EXPECT_EQ(holder->say("release name"), "released");
    EXPECT_LE(in_at(*next) - released, 1s + after_lease);  // the offer
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

TEST_F(redis_head_waiter, F34_frozen_as_its_turn_comes_costs_at_most_the_offer) {
  play([](real_actor& head) { head.freeze(); }, [](real_actor& head) { head.thaw(); });
}

TEST_F(redis_head_waiter, F34_cut_off_as_its_turn_comes_costs_at_most_the_offer) {
  play([](real_actor& head) { head.cut_off(); }, [](real_actor& head) { head.heal(); });
}

TEST_F(redis_faults, F34_a_line_of_frozen_waiters_costs_one_offer_each_at_most) {
  const client eyes = connect();
  const auto holder = start("holder", long_lease);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  std::vector<std::unique_ptr<real_actor>> heads;
  for (std::size_t i = 0; i < 3; ++i) {
    heads.push_back(start("head"));
    heads.back()->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(eyes, "name", i + 1));
  }
  const auto next = start("next");
  next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(eyes, "name", 4));
  for (const auto& each : heads) each->freeze();
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  // The places of the others end while the first has its offer.
  EXPECT_LE(in_at(*next) - released, 2s + after_lease);
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
  judge();
}

}  // namespace
}  // namespace crosslock::faults
