// Turning any chrono time into the library's own without overflow.
#pragma once

#include <crosslock/time.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <type_traits>

namespace crosslock {

/// A span of time in nanoseconds, rounded up; what does not fit becomes the largest or smallest
/// that does. Not a number becomes the smallest, which nobody accepts as a lease.
template <class Rep, class Period>
constexpr duration wait_time(const std::chrono::duration<Rep, Period>& span) {
  // Wide enough to hold every count of nanoseconds exactly.
  using wide = std::chrono::duration<long double, std::nano>;
  static_assert(std::numeric_limits<long double>::digits >= 63);
  const auto exact = std::chrono::duration_cast<wide>(span);
  if (exact >= wide{duration::max()}) return duration::max();
  if (!(exact > wide{duration::min()})) return duration::min();
  return std::chrono::ceil<duration>(exact);
}

/// What is left until a moment of any clock, at least zero. That clock is read once, now: if it
/// steps later, the wait does not follow it.
template <class Clock, class Duration>
duration time_left(const std::chrono::time_point<Clock, Duration>& moment) {
  // Subtracted as wide numbers: integers would overflow for the first or last moment of a clock.
  using wide = std::chrono::duration<long double, std::nano>;
  const wide left = wide{moment.time_since_epoch()} - wide{Clock::now().time_since_epoch()};
  return std::max(duration::zero(), wait_time(left));
}

}  // namespace crosslock
