// How long a client's session with its server is proven to last.
#pragma once

#include "engine/deadline.hpp"

#include <crosslock/time.hpp>

#include <algorithm>
#include <atomic>

namespace crosslock::seam {

/// Whatever is granted within a session ends with it, so all its holds have one deadline. It stands
/// here, and moves for all of them at once. An engine whose lease is a session refers to one of
/// these in every grant, and extends it whenever the session is proven to be alive.
///
/// A deadline that has passed stays passed, because a hold that has been invalid for a moment never
/// becomes valid again. If the server's session turns out to have gone on, the engine begins
/// another one of these for what it grants from then on.
///
/// Any thread may read. One thread at a time changes it.
class session {
 public:
  /// Proven by a request that was sent then, for that long.
  session(time_point sent, duration lease) noexcept
      : deadline_{valid_until(sent, lease)}, lease_{lease} {}
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  time_point deadline() const noexcept { return deadline_.load(std::memory_order_acquire); }
  duration lease() const noexcept { return lease_.load(std::memory_order_relaxed); }
  /// When its holders have to be told that it ends.
  time_point tell_at() const noexcept { return deadline() - notice_lead(lease()); }

  /// Proven once more. False, and nothing has changed, when that comes too late.
  bool extend(time_point sent, duration lease, time_point now) noexcept {
    const time_point before = deadline();
    if (before <= now || ended()) return false;
    lease_.store(lease, std::memory_order_relaxed);
    deadline_.store(std::max(before, valid_until(sent, lease)), std::memory_order_release);
    return true;
  }

  /// The server has said that it keeps the session for `lease` only; it was last proven by a
  /// request sent then. True when the deadline is earlier than before:
  /// engine_events::session_cut follows.
  [[nodiscard]] bool shorten(time_point sent, duration lease) noexcept {
    const time_point latest = valid_until(sent, lease);
    lease_.store(std::min(lease, this->lease()), std::memory_order_relaxed);
    if (latest >= deadline()) return false;
    deadline_.store(latest, std::memory_order_release);
    return true;
  }

  /// The server has ended it: engine_events::session_cut follows.
  void end() noexcept { ended_.store(true, std::memory_order_release); }
  bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }

 private:
  std::atomic<time_point> deadline_;
  std::atomic<duration> lease_;
  std::atomic<bool> ended_{false};
};

}  // namespace crosslock::seam
