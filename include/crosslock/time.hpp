// The clock of leases.
#pragma once

#include <chrono>

namespace crosslock {

using duration = std::chrono::nanoseconds;

/// CLOCK_BOOTTIME: never steps, and goes on while the machine is suspended, so that a lease which
/// ran out during a suspend is seen as over on waking. Meets the standard's Clock requirements.
struct boot_clock {
  using duration = crosslock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<boot_clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

using time_point = boot_clock::time_point;

}  // namespace crosslock
