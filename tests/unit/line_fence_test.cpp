// Fences, the cap of a line, and the claims that are not exclusive.
#include "line_suite.hpp"

namespace crosslock::memory {
namespace {

using enum seam::ask_result;

TEST_P(line_rules, a_full_line_is_refused_and_dead_places_do_not_fill_it) {
  const auto short_line = GetParam()(2);
  line_rig& rig = *short_line;
  rig.ask(1);
  rig.ask(2);
  rig.ask(3);
  rig.ask(4);
  EXPECT_EQ(rig.refused, errc::queue_full);
  EXPECT_EQ(rig.ask(3).result, seam::ask_result::in_line) << "whoever stands in it may refresh";
  rig.now += 900ms;
  rig.ask(2);
  rig.now += 200ms;
  EXPECT_EQ(rig.ask(4).result, seam::ask_result::in_line) << "3 is gone";
}

TEST_P(line_rules, the_fence_crosses_2_to_the_53_exactly) {
  on.now = duration{(std::int64_t{1} << 53) - 1};
  std::int64_t last = on.ask(1).granted.first.value();
  EXPECT_EQ(last, (std::int64_t{1} << 53) - 1);
  on.withdraw(1);
  EXPECT_EQ(on.ask(2).granted.first.value(), last + 4096);
}

TEST_P(line_rules, the_fence_rises_while_the_clock_stands_or_steps_back) {
  std::int64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto answer = on.ask(1);
    EXPECT_GT(answer.granted.first.value(), last);
    last = answer.granted.last.value();
    on.withdraw(1);
    if (i % 10 == 0) on.now -= 1s;
  }
}

TEST_P(line_rules, the_fence_ends_at_2_to_the_63_minus_1_without_a_wrap) {
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

TEST_P(line_rules, readers_go_in_together_and_a_writer_is_not_overtaken) {
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

TEST_P(line_rules, permits_are_given_in_order_and_another_n_is_a_conflict) {
  EXPECT_EQ(on.permits(1, 2, 3).result, granted);
  EXPECT_EQ(on.permits(2, 2, 3).result, in_line);
  EXPECT_EQ(on.permits(3, 1, 3).result, in_line) << "does not overtake the bigger request";
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

TEST_P(line_rules, one_owner_in_two_modes_is_a_conflict) {
  on.ask(1);
  on.shared(1);
  EXPECT_EQ(on.refused, errc::conflict);
  EXPECT_EQ(on.holders(), just(1));
}

}  // namespace
}  // namespace crosslock::memory
