// What one run of one subject gave.
#pragma once

#include "benchmarks/histogram.hpp"

#include <chrono>
#include <optional>

namespace crosslock::bench {

using seconds = std::chrono::duration<double>;

/// What does not apply is empty.
struct measured {
  std::optional<double> rate;  ///< operations (handovers, renewals for each CPU second) a second
  histogram latency;           ///< from the call of lock to the return of unlock
  std::optional<double> requests_per_op;
  std::optional<double> round_trips_per_op;  ///< requests that travel together are one
  std::optional<double> notices_per_op;      ///< that the server sends to those who wait
  std::optional<double> share_max_min;       ///< the luckiest party's handovers by the unluckiest's
  std::optional<double> cpu_us_per_op;
  std::optional<double> allocations_per_op;  ///< by the thread that locks, once it is warm
  std::optional<double> bytes;               ///< of memory, for each
  std::optional<bool> system_calls;          ///< whether it makes any
};

}  // namespace crosslock::bench
