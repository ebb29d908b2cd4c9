// When a command has to be stopped so that it is gone before its lease ends. Pure arithmetic.
#pragma once

#include <crosslock/time.hpp>

#include <algorithm>
#include <chrono>

namespace crosslock::cli {

/// When the command is asked to stop, and when it is killed if it has not.
struct stop_times {
  time_point ask_at = time_point::max();
  time_point kill_at = time_point::max();

  friend bool operator==(const stop_times&, const stop_times&) = default;
};

/// How long a command has for cleaning up when nobody says otherwise: short enough that a renewal
/// which was merely slow does not cost anybody a job.
constexpr duration usual_kill_after(duration lease) noexcept {
  return std::min<duration>(lease / 6, std::chrono::seconds{5});
}

/// More than this, and the command would be asked to stop while renewals still go on as usual.
constexpr duration longest_kill_after(duration lease) noexcept { return lease / 3; }

/// The guardian needs a moment to be awake, and a killed process one to be gone; on a busy machine
/// they are long ones.
constexpr duration time_to_die(duration left) noexcept {
  return std::min<duration>(left / 10, std::chrono::milliseconds{250});
}

/// For a lease that was just found to end at `deadline`. Directly after a handover it is a short
/// one, and the time for cleaning up shrinks with it.
constexpr stop_times plan_stop(time_point now, time_point deadline, duration kill_after) noexcept {
  const duration left = std::max<duration>(deadline - now, duration::zero());
  const time_point kill_at = deadline - time_to_die(left);
  return {kill_at - std::min(kill_after, longest_kill_after(left)), kill_at};
}

/// When the lock was lost before its time: somebody else may have it already.
constexpr stop_times plan_stop_now(time_point now, time_point deadline,
                                   duration kill_after) noexcept {
  return {now, std::min(plan_stop(now, deadline, kill_after).kill_at, now + kill_after)};
}

}  // namespace crosslock::cli
