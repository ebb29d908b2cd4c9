// What a process has used of the CPU so far.
#pragma once

#include "benchmarks/measured.hpp"

#include <sys/types.h>
#include <time.h>

namespace crosslock::bench {

inline seconds cpu_time_by(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

inline seconds cpu_time() { return cpu_time_by(CLOCK_PROCESS_CPUTIME_ID); }

/// Of another one that still runs.
inline seconds cpu_time_of(pid_t process) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  return clock_getcpuclockid(process, &clock) == 0 ? cpu_time_by(clock) : seconds{0};
}

}  // namespace crosslock::bench
