// Repeating a measurement so that it can be believed.
#pragma once

#include "benchmarks/workload.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::bench {

/// The middle of several rounds, and how far they were apart.
struct spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// One subject measured by another.
struct comparison {
  std::string_view with;
  spread ratio;  ///< of their rates, in the same rounds
};

/// What all rounds say of one subject.
struct summary {
  std::string_view engine;
  std::string_view workload;
  std::string_view subject;
  std::optional<double> rate;      ///< median
  std::optional<spread> ratio;     ///< to the floor of the same round
  std::string_view relative;       ///< the first workload of its family, unless it is that itself
  std::optional<spread> relation;  ///< to the same subject there, in the same round
  std::vector<comparison> comparisons;  ///< of crosslock with all but the floor
  std::optional<double> p50_us;
  std::optional<double> p99_us;
  std::optional<double> requests_per_op;
  std::optional<double> round_trips_per_op;
  std::optional<double> notices_per_op;
  std::optional<double> share_max_min;
  std::optional<double> cpu_us_per_op;
  std::optional<double> allocations_per_op;
  std::optional<double> bytes;
  std::optional<bool> system_calls;
};

/// A workload, and who takes part in it. The first subject is the floor, the second crosslock.
struct contest {
  crosslock::bench::workload workload;
  std::vector<subject*> subjects;
};

/// Machines drift, so the subjects take turns: a ratio compares neighbours in time, and the median
/// of all rounds is given. The workloads of one family take turns as well. The result has a line
/// for each subject of each contest; their names live as long as `family`.
std::vector<std::vector<summary>> run_rounds(const std::vector<contest>& family, int rounds,
                                             surroundings& around);

}  // namespace crosslock::bench
