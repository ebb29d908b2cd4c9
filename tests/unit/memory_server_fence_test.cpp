// The memory server's fences, limits and restarts, and the claims that are not exclusive.
#include "memory_rig.hpp"

namespace crosslock::memory {
namespace {

using enum seam::ask_result;

class memory_server_fences : public testing::Test {
 protected:
  rig on;
};
class memory_server_modes : public memory_server_fences {};

TEST(memory_server_limits, a_full_line_is_refused_and_dead_places_do_not_fill_it) {
  rig on{{.line_max = 2, .names_kept = 16}};
  on.ask(1);
  on.ask(2);
  on.ask(3);
  on.ask(4);
  EXPECT_EQ(on.refused, errc::queue_full);
  EXPECT_EQ(on.ask(3).result, seam::ask_result::in_line) << "whoever stands in it may refresh";
  on.now += 900ms;
  on.ask(2);
  on.now += 200ms;
  EXPECT_EQ(on.ask(4).result, seam::ask_result::in_line) << "3 is gone";
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

TEST_F(memory_server_fences, the_fence_crosses_2_to_the_53_exactly) {
  on.now = duration{(std::int64_t{1} << 53) - 1};
  std::int64_t last = on.ask(1).granted.first.value();
  EXPECT_EQ(last, (std::int64_t{1} << 53) - 1);
  on.withdraw(1);
  EXPECT_EQ(on.ask(2).granted.first.value(), last + 4096);
}

TEST_F(memory_server_fences, the_fence_rises_while_the_clock_stands_or_steps_back) {
  std::int64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto answer = on.ask(1);
    EXPECT_GT(answer.granted.first.value(), last);
    last = answer.granted.last.value();
    on.withdraw(1);
    if (i % 10 == 0) on.now -= 1s;
  }
}

TEST_F(memory_server_fences, the_fence_ends_at_2_to_the_63_minus_1_without_a_wrap) {
  constexpr auto top = fence::max_value;
  on.now = duration{top - 5000};
  auto answer = on.ask(1);
  EXPECT_EQ(answer.granted.last.value(), top - 905);
  on.withdraw(1);
  answer = on.ask(1);
  EXPECT_EQ(answer.granted.first.value(), top - 904);
  EXPECT_EQ(answer.granted.last.value(), top);
  EXPECT_EQ(on.renew(1, top, true).more_first, fence{}) << "no more to reserve";
  on.ask(2);
  EXPECT_EQ(on.refused, errc::fence_exhausted);
  EXPECT_EQ(on.ask(1).result, granted) << "the holder still has its own";
  EXPECT_TRUE(on.release(1, top));
  on.try_once(2);
  EXPECT_EQ(on.refused, errc::fence_exhausted);
  on.name = name_of("other");
  on.now = 1s;
  EXPECT_EQ(on.ask(2).result, granted) << "another name is not concerned";
}

TEST_F(memory_server_fences, waiters_learn_of_an_exhausted_fence_by_their_next_ask) {
  on.now = duration{fence::max_value - 1};
  const auto answer = on.ask(1);
  on.server_under_test.disconnect(2);
  EXPECT_EQ(answer.granted.last.value(), fence::max_value);
  on.ask(2);
  EXPECT_EQ(on.refused, errc::fence_exhausted);
  EXPECT_EQ(on.line(), nobody());
}

TEST_F(memory_server_fences, an_empty_restart_and_a_rollback_do_not_take_the_fence_back) {
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

TEST_F(memory_server_fences, a_rollback_never_gives_a_ticket_twice) {
  on.ask(1);
  const auto before = on.server_under_test.snapshot();
  const auto old = on.ask(2).ticket;
  on.now += 1ns;
  on.server_under_test.restore(before);
  EXPECT_GT(on.ask(2).ticket, old);
}

TEST_F(memory_server_fences, a_copy_goes_on_like_the_original) {
  const std::int64_t first = on.ask(1).granted.first.value();
  on.ask(2);
  server copy = on.server_under_test;
  on.release(1, first);
  EXPECT_EQ(on.holders(), just(2));
  on.server_under_test = copy;
  EXPECT_EQ(on.holders(), just(1));
  EXPECT_EQ(on.line(), just(2));
}

TEST_F(memory_server_modes, readers_go_in_together_and_a_writer_is_not_overtaken) {
  const auto one = on.shared(1);
  EXPECT_EQ(one.result, granted);
  EXPECT_EQ(on.shared(2).result, granted);
  EXPECT_EQ(on.ask(3).result, in_line);
  EXPECT_EQ(on.pushes.size(), 2U) << "both readers are wanted";
  EXPECT_EQ(on.shared(4).result, in_line);
  EXPECT_EQ(on.shared(5).result, in_line);
  EXPECT_EQ(on.shared(6, false).result, busy);
  on.withdraw(1);
  EXPECT_TRUE(on.pushes.empty());
  on.withdraw(2);
  ASSERT_EQ(on.pushes.size(), 1U);
  EXPECT_EQ(on.pushes[0].to, 3U);
  on.withdraw(3);
  ASSERT_EQ(on.pushes.size(), 2U) << "the readers behind it, at once";
  EXPECT_FALSE(on.pushes[0].offer.wanted);
  EXPECT_EQ(on.holders(), just(4, 5));
}

TEST_F(memory_server_modes, permits_are_given_in_order_and_another_n_is_a_conflict) {
  EXPECT_EQ(on.permits(1, 2, 3).result, granted);
  EXPECT_EQ(on.permits(2, 2, 3).result, in_line);
  EXPECT_EQ(on.permits(3, 1, 3).result, in_line) << "does not overtake the bigger wish";
  on.permits(4, 1, 4);
  EXPECT_EQ(on.refused, errc::conflict);
  on.permits(4, 4, 3);
  EXPECT_EQ(on.refused, errc::conflict);
  on.permits(4, 0, 3);
  EXPECT_EQ(on.refused, errc::conflict);
  on.withdraw(1);
  EXPECT_EQ(on.pushes.size(), 2U);
  EXPECT_EQ(on.holders(), just(2, 3));
  on.withdraw(2);
  on.withdraw(3);
  EXPECT_EQ(on.permits(4, 1, 4).result, granted) << "nobody uses the other n any more";
}

TEST_F(memory_server_modes, one_owner_in_two_modes_is_a_conflict) {
  on.ask(1);
  on.shared(1);
  EXPECT_EQ(on.refused, errc::conflict);
  EXPECT_EQ(on.holders(), just(1));
}

}  // namespace
}  // namespace crosslock::memory
