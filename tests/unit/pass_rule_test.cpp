// When a grant may stay in the process.
#include "local/pass_rule.hpp"

#include <gtest/gtest.h>

namespace crosslock::inner {
namespace {

using namespace std::chrono_literals;

constexpr pass_options limits{.passes = 32, .time = 5ms};

pass_question calm() {
  return {.same_lease = true, .fence_left = true, .lease_left = 20s, .lease = 30s};
}

TEST(pass_rule, nobody_else_waiting_means_no_bound) {
  auto asked = calm();
  asked.passes = 1'000'000;
  asked.wanted_for = 1h;
  EXPECT_TRUE(may_pass(asked, limits));
}

TEST(pass_rule, a_different_lease_or_a_used_up_block_ends_it) {
  auto other_lease = calm();
  other_lease.same_lease = false;
  EXPECT_FALSE(may_pass(other_lease, limits));
  auto no_fence = calm();
  no_fence.fence_left = false;
  EXPECT_FALSE(may_pass(no_fence, limits));
}

TEST(pass_rule, while_others_wait_the_number_of_passes_is_bounded) {
  auto asked = calm();
  asked.wanted = true;
  asked.passes = 31;
  EXPECT_TRUE(may_pass(asked, limits));
  asked.passes = 32;
  EXPECT_FALSE(may_pass(asked, limits));
}

TEST(pass_rule, while_others_wait_the_time_is_bounded) {
  auto asked = calm();
  asked.wanted = true;
  asked.wanted_for = 5ms - 1ns;
  EXPECT_TRUE(may_pass(asked, limits));
  asked.wanted_for = 5ms;
  EXPECT_FALSE(may_pass(asked, limits));
}

TEST(pass_rule, a_lease_that_is_about_to_end_is_not_handed_on) {
  auto asked = calm();
  asked.lease_left = asked.lease / 20 - 1ns;
  EXPECT_FALSE(may_pass(asked, limits));
  asked.lease_left = -1s;
  EXPECT_FALSE(may_pass(asked, limits));
}

}  // namespace
}  // namespace crosslock::inner
