// How a world behaves beyond its seed, and what it throws.
#pragma once

#include <crosslock/time.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace crosslock::world {

struct options {
  /// Limits against livelock: waits and timed events; virtual time of one run().
  std::uint64_t step_limit = 5'000'000;
  duration time_limit = std::chrono::hours(24);
  /// Detached threads that are left over at the end of a run() may go on for this long.
  duration drain_limit = std::chrono::minutes(1);
  /// Each time a thread gets the baton, virtual time advances by up to this much.
  duration drift_max{};
  /// How likely a park() returns early without any reason.
  double spurious = 0;
  /// How likely a thread that holds a mutex is interrupted when it reads the clock, and for how
  /// long at most. Meanwhile other threads run, and wait for the mutex if they need it; timed
  /// events wait, too, because they run as nobody who could.
  double interrupted = 0;
  duration interrupted_max{};
  /// How many of the last trace lines are kept; 0 turns tracing off.
  std::size_t trace_lines = 0;
  /// Real seconds after which a thread that does not come back is taken to block outside the
  /// seam, which ends the program with a dump; 0 for never (in a debugger).
  int stall_limit_s = 60;
};

/// Thrown by run(): nothing can go on, or a limit was reached. what() has all threads.
struct stuck : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace crosslock::world
