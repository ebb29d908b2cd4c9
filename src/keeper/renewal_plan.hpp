// When to renew: pure decisions of the keeper.
#pragma once

#include <crosslock/time.hpp>

#include <algorithm>

namespace crosslock::inner {

/// A lease is renewed when a third of it has passed since the request that it counts from.
constexpr time_point next_renewal(time_point sent, duration lease) noexcept {
  return sent + lease / 3;
}

/// A session is proven alive by itself: when to tell an observer that a hold within it lasts.
constexpr time_point next_session_report(time_point now, time_point deadline) noexcept {
  return now + std::max<duration>((deadline - now) / 3, std::chrono::milliseconds{1});
}

/// An offer becomes a full lease after a quarter of what is left of it: time for three more tries.
constexpr time_point take_up_offer(time_point now, time_point deadline) noexcept {
  return now + (deadline - now) / 4;
}

/// After a renewal without an answer: soon, then less often, but always several times more before
/// the deadline.
constexpr time_point retry_renewal(time_point now, duration lease, int failures) noexcept {
  const int eighths = failures < 3 ? 1 << failures : 8;
  return now + lease / 160 * eighths;
}

/// A renewal that is nearly due travels with one that is due, so that many locks share a request.
constexpr bool due(time_point planned, duration lease, time_point now) noexcept {
  return planned <= now + lease / 6;
}

/// A request of a renewal may take half of what is left until the first deadline, so that a lost
/// packet leaves time for another try.
constexpr time_point renewal_give_up(time_point now, time_point first_deadline,
                                     duration timeout) noexcept {
  const duration half = (first_deadline - now) / 2;
  const duration least = std::chrono::milliseconds{5};
  // An offer that comes meanwhile must not wait for a server that is silent just now.
  const duration most = std::min<duration>(timeout, std::chrono::seconds{1});
  return now + std::clamp(half, least, std::max(least, most));
}

}  // namespace crosslock::inner
