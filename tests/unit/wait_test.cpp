#include <crosslock/wait.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>

namespace crosslock {
namespace {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::steady_clock;
using std::chrono::system_clock;

using seconds_double = std::chrono::duration<double>;
using thirds = std::chrono::duration<std::int64_t, std::ratio<1, 3>>;
using picoseconds = std::chrono::duration<std::int64_t, std::pico>;

static_assert(wait_time(1s) == 1'000'000'000ns);
static_assert(wait_time(hours::max()) == duration::max());

TEST(wait, spans_that_fit_are_exact) {
  EXPECT_EQ(wait_time(0s), 0ns);
  EXPECT_EQ(wait_time(-5ms), -5'000'000ns);
  EXPECT_EQ(wait_time(duration::max()), duration::max());
  EXPECT_EQ(wait_time(duration::max() - 1ns), duration::max() - 1ns);
  EXPECT_EQ(wait_time(duration::min()), duration::min());
  EXPECT_EQ(wait_time(duration::min() + 1ns), duration::min() + 1ns);
  EXPECT_EQ(wait_time(9223372036s), 9'223'372'036'000'000'000ns);
}

TEST(wait, fractions_are_rounded_up) {
  EXPECT_EQ(wait_time(picoseconds{1}), 1ns);
  EXPECT_EQ(wait_time(picoseconds{1001}), 2ns);
  EXPECT_EQ(wait_time(picoseconds{-1}), 0ns);
  EXPECT_EQ(wait_time(thirds{1}), 333'333'334ns);
  EXPECT_EQ(wait_time(seconds_double{0.5}), 500ms);
}

TEST(wait, spans_that_do_not_fit_saturate) {
  EXPECT_EQ(wait_time(hours::min()), duration::min());
  EXPECT_EQ(wait_time(std::chrono::milliseconds::max()), duration::max());
  EXPECT_EQ(wait_time(9223372037s), duration::max());
  EXPECT_EQ(wait_time(seconds_double{1e300}), duration::max());
  EXPECT_EQ(wait_time(seconds_double{HUGE_VAL}), duration::max());
  EXPECT_EQ(wait_time(seconds_double{-HUGE_VAL}), duration::min());
  EXPECT_EQ(wait_time(thirds::max()), duration::max());
}

TEST(wait, doubles_beside_the_limit_do_not_overflow) {
  const double limit = 9223372036.854775807;
  for (const double count :
       {std::nextafter(limit, 0.0), limit, std::nextafter(limit, 1e10), limit - 1e-6}) {
    EXPECT_GT(wait_time(seconds_double{count}), duration::max() - 10us);
    EXPECT_LT(wait_time(seconds_double{-count}), duration::min() + 10us);
  }
}

TEST(wait, not_a_number_is_what_nobody_accepts) {
  EXPECT_EQ(wait_time(seconds_double{std::nan("")}), duration::min());
}

template <class Clock>
void expect_left() {
  const auto left = time_left(Clock::now() + 10s);
  EXPECT_LE(left, 10s);
  EXPECT_GT(left, 5s);
  EXPECT_EQ(time_left(Clock::now()), 0ns);
  EXPECT_EQ(time_left(Clock::now() - 1h), 0ns);
}

TEST(wait, what_is_left_is_counted_by_the_clock_of_the_moment) {
  expect_left<system_clock>();
  expect_left<steady_clock>();
  expect_left<boot_clock>();
}

template <class Clock, class Duration>
void expect_extremes_saturate() {
  using moment = std::chrono::time_point<Clock, Duration>;
  EXPECT_GT(time_left(moment{Duration::max()}), 24h * 365 * 100);
  EXPECT_EQ(time_left(moment{Duration::min()}), 0ns);
}

TEST(wait, the_first_and_last_moment_of_every_clock_saturate) {
  expect_extremes_saturate<system_clock, system_clock::duration>();
  expect_extremes_saturate<system_clock, hours>();
  expect_extremes_saturate<steady_clock, std::chrono::seconds>();
  expect_extremes_saturate<boot_clock, hours>();
  expect_extremes_saturate<boot_clock, duration>();
  expect_extremes_saturate<system_clock, seconds_double>();
}

TEST(wait, a_moment_that_is_not_a_number_is_over) {
  using moment = std::chrono::time_point<system_clock, seconds_double>;
  EXPECT_EQ(time_left(moment{seconds_double{std::nan("")}}), 0ns);
}

}  // namespace
}  // namespace crosslock
