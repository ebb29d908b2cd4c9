#include "engine/backoff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>

namespace crosslock::seam {
namespace {

using namespace std::chrono_literals;

constexpr auto all_bits = std::numeric_limits<std::uint64_t>::max();

TEST(backoff, it_doubles_from_the_base_up_to_the_cap) {
  const retry_options retry{.base = 50ms, .tries = 5, .cap = 2s};
  constexpr std::array<duration, 8> whole{50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 2s, 2s};
  for (std::size_t attempt = 0; attempt < whole.size(); ++attempt) {
    const auto choices = static_cast<std::uint64_t>(whole[attempt].count()) / 2 + 1;
    EXPECT_EQ(retry_delay(retry, attempt, 0), whole[attempt] / 2) << attempt;
    EXPECT_EQ(retry_delay(retry, attempt, choices - 1), whole[attempt]) << attempt;
    EXPECT_EQ(retry_delay(retry, attempt, choices), whole[attempt] / 2) << attempt;
  }
}

TEST(backoff, no_attempt_overflows) {
  const retry_options widest{.base = 1ns, .tries = 1, .cap = duration::max()};
  for (const std::uint64_t attempt : {std::uint64_t{62}, std::uint64_t{63}, std::uint64_t{64},
                                      std::uint64_t{1} << 32, all_bits}) {
    const auto pause = retry_delay(widest, attempt, all_bits);
    EXPECT_GE(pause, duration::max() / 4) << attempt;
  }
  EXPECT_EQ(retry_delay(widest, all_bits, std::uint64_t{1} << 62), duration::max());
}

TEST(backoff, a_base_above_the_cap_is_the_cap) {
  const retry_options retry{.base = 10s, .tries = 5, .cap = 1s};
  EXPECT_EQ(retry_delay(retry, 0, 0), 500ms);
  EXPECT_EQ(retry_delay(retry, 9, 0), 500ms);
}

TEST(backoff, zero_and_negative_options_mean_no_pause) {
  for (const auto bad : {duration::zero(), duration{-1}, duration::min()}) {
    EXPECT_EQ(retry_delay({.base = bad}, 3, all_bits), 0ns);
    EXPECT_EQ(retry_delay({.cap = bad}, 3, all_bits), 0ns);
  }
}

TEST(backoff, the_smallest_pauses_are_right) {
  EXPECT_EQ(retry_delay({.base = 1ns}, 0, 0), 0ns);
  EXPECT_EQ(retry_delay({.base = 1ns}, 0, 1), 1ns);
  EXPECT_EQ(retry_delay({.base = 3ns, .cap = 4ns}, 1, 2), 4ns);
}

TEST(backoff, every_input_gives_between_half_and_the_whole) {
  std::mt19937_64 random{4};
  for (int round = 0; round < 100000; ++round) {
    const auto any = [&] { return random() >> random() % 64; };  // of every magnitude
    const retry_options retry{.base = duration{static_cast<std::int64_t>(any())},
                              .tries = 1,
                              .cap = duration{static_cast<std::int64_t>(any())}};
    const auto pause = retry_delay(retry, any(), random());
    ASSERT_GE(pause, 0ns);
    ASSERT_LE(pause, std::max(retry.cap, 0ns));
    if (retry.cap > 0ns && retry.base > 0ns) {
      ASSERT_GE(pause, std::min(retry.base, retry.cap) / 2);
    }
  }
}

TEST(backoff, random_bits_spread_over_the_whole_range) {
  std::mt19937_64 random{5};
  std::array<int, 10> buckets{};
  for (int round = 0; round < 10000; ++round) {
    const auto pause = retry_delay({.base = 1s, .cap = 1s}, 0, random());
    ++buckets[static_cast<std::size_t>(std::min<std::int64_t>((pause - 500ms) / 50ms, 9))];
  }
  for (const int count : buckets) EXPECT_NEAR(count, 1000, 200);
}

}  // namespace
}  // namespace crosslock::seam
