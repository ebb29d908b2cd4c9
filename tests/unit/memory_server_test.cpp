// What the memory server adds to the rules of a line: clients that cannot be heard, names that are
// forgotten, rollbacks.
#include "memory_engine_rig.hpp"

namespace crosslock::memory {
namespace {

using enum seam::ask_result;

class memory_server : public testing::Test {
 protected:
  /// Client 1 holds; returns its first fence.
  std::int64_t held_by_1() {
    const auto answer = on.ask(1);
    EXPECT_EQ(answer.result, granted);
    return answer.granted.first.value();
  }

  rig on;
};

TEST_F(memory_server, a_waiter_that_cannot_be_heard_is_passed_over_and_keeps_its_place) {
  const std::int64_t first = held_by_1();
  on.ask(2);
  on.ask(3);
  on.ask(4);
  on.server_under_test.disconnect(2);
  on.release(1, first);
  ASSERT_EQ(on.pushes.size(), 1U);
  EXPECT_EQ(on.pushes[0].to, 3U);
  EXPECT_EQ(on.line(), just(2, 4));
  const auto news = on.server_under_test.connect(2);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].what, push::kind::look_again);
  EXPECT_EQ(news[0].owner, owner(2));
  on.withdraw(3);
  ASSERT_EQ(on.pushes.size(), 1U);
  EXPECT_EQ(on.pushes[0].to, 2U) << "heard again: it is first";
}

TEST_F(memory_server, an_unheard_waiter_is_served_when_it_asks_itself) {
  const std::int64_t first = held_by_1();
  on.ask(2);
  on.server_under_test.disconnect(2);
  on.release(1, first);
  EXPECT_TRUE(on.pushes.empty());
  EXPECT_EQ(on.holders(), nobody());
  EXPECT_EQ(on.ask(2).result, granted);
}

TEST_F(memory_server, a_newcomer_goes_past_waiters_that_cannot_be_heard) {
  const std::int64_t first = held_by_1();
  on.ask(2);
  on.server_under_test.disconnect(2);
  on.release(1, first);
  const auto answer = on.try_once(3);
  EXPECT_EQ(answer.result, granted);
  EXPECT_TRUE(answer.granted.wanted) << "the other still stands there";
}

TEST_F(memory_server, withdrawing_from_a_name_never_seen_stores_nothing) {
  on.ask(1);
  on.name = name_of("never seen");
  on.withdraw(8);
  EXPECT_EQ(on.server_under_test.names_stored(), 1U);
}

TEST_F(memory_server, requests_are_counted_by_verb) {
  held_by_1();
  on.ask(2);
  on.withdraw(2);
  EXPECT_EQ(on.server_under_test.applied(verb::ask), 2U);
  EXPECT_EQ(on.server_under_test.applied(verb::withdraw), 1U);
  EXPECT_EQ(on.server_under_test.applied(verb::release), 0U);
}

TEST(memory_server_limits, names_are_forgotten_but_their_fences_still_rise) {
  rig on{{.line_max = 2, .names_kept = 4}};
  on.now = 1s;
  const auto first = on.ask(1).granted.last;
  on.withdraw(1);
  on.now = 0s;  // a stopped clock: only the counter makes fences rise
  for (int i = 0; i < 100; ++i) {
    on.name = name_of("other " + std::to_string(i));
    on.ask(1);
    if (i % 2 == 0) on.withdraw(1);
  }
  EXPECT_LT(on.server_under_test.names_stored(), 110U);
  on.now = 1s;
  on.name = name_of("stock");
  EXPECT_GT(on.ask(1).granted.first, first);
  on.now += on.lease;
  for (int i = 0; i < 100; ++i) {
    on.name = name_of("third " + std::to_string(i));
    on.ask(1);
    on.withdraw(1);
  }
  EXPECT_LE(on.server_under_test.names_stored(), 8U) << "what has ended is forgotten as well";
}

TEST_F(memory_server, waiters_learn_of_an_exhausted_fence_by_their_next_ask) {
  on.now = duration{fence::max_value - 1};
  const auto answer = on.ask(1);
  on.server_under_test.disconnect(2);
  EXPECT_EQ(answer.granted.last.value(), fence::max_value);
  on.ask(2);
  EXPECT_EQ(on.refused, errc::fence_exhausted);
  EXPECT_EQ(on.line(), nobody());
}

TEST_F(memory_server, an_empty_restart_and_a_rollback_do_not_take_the_fence_back) {
  const auto before = on.server_under_test.snapshot();
  std::int64_t last = on.ask(1).granted.first.value();
  on.now += 1s;
  on.server_under_test.restore(before);
  EXPECT_EQ(on.holders(), nobody());
  auto answer = on.ask(2);
  EXPECT_GT(answer.granted.first.value(), last + 4095);
  last = answer.granted.last.value();
  on.now += 1s;
  on.server_under_test.restore({});
  EXPECT_GT(on.ask(3).granted.first.value(), last);
}

TEST_F(memory_server, a_rollback_never_gives_a_ticket_twice) {
  on.ask(1);
  const auto before = on.server_under_test.snapshot();
  const auto old = on.ask(2).ticket;
  on.now += 1ns;
  on.server_under_test.restore(before);
  EXPECT_GT(on.ask(2).ticket, old);
}

TEST_F(memory_server, a_copy_goes_on_like_the_original) {
  const std::int64_t first = on.ask(1).granted.first.value();
  on.ask(2);
  server copy = on.server_under_test;
  on.release(1, first);
  EXPECT_EQ(on.holders(), just(2));
  on.server_under_test = copy;
  EXPECT_EQ(on.holders(), just(1));
  EXPECT_EQ(on.line(), just(2));
}

TEST_F(memory_server,
       an_exclusive_claim_conflicts_even_while_it_cannot_be_heard_but_not_when_gone) {
  on.shared(1);
  on.ask(2);
  on.server_under_test.disconnect(2);
  on.upgrade(11, 1);
  EXPECT_EQ(on.refused, errc::upgrade_conflict) << "it keeps its place: both would deadlock";
  on.now += 1s;
  EXPECT_EQ(on.upgrade(11, 1).result, granted) << "its place has ended";
}

TEST(memory_upgrade_engine, a_lease_of_zero_is_not_refused_and_harms_nobody_in_the_batch) {
  slow_motion time;
  const auto network = std::make_shared<faulty_network>(time);
  recorded_events events;
  engine under_test{network, events, time, "one"};
  std::vector<seam::renewal> batch(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const seam::claim request{
        .name = name_of("lock " + std::to_string(i)), .owner = owner(i + 1), .lease = 10s};
    batch[i].held = under_test.ask(request, time.now() + 1s).granted;
    batch[i].lease = 10s;
  }
  batch[0].lease = duration::zero();
  batch[0].share = true;
  under_test.renew(batch, time.now() + 1s);
  for (const seam::renewal& one : batch) {
    EXPECT_EQ(one.outcome, seam::renewal::result::renewed);
  }
}

}  // namespace
}  // namespace crosslock::memory
