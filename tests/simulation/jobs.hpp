// Plays many seeds on all processors: one forked process for each, because a simulated world keeps
// to one.
#pragma once

#include "simulation/run.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace crosslock::simulation {

struct batch {
  std::uint64_t first = 0;
  std::uint64_t seeds = 0;
  int jobs = 1;
  std::function<outcome(std::uint64_t seed)> play;
  /// Asked after each seed: true ends the batch early.
  std::function<bool(const outcome&)> enough{};
  std::uint64_t failures_shown = 5;
};

struct failed_seed {
  std::uint64_t seed = 0;
  std::string text;  ///< empty beyond the first few
};

struct batch_result {
  std::uint64_t played = 0;
  std::vector<failed_seed> failed;  ///< in the order of the seeds
  /// Of each job the first seed for which `enough` was true.
  std::vector<std::uint64_t> found;
  totals seen;
  std::uint64_t digest = 0;  ///< over the digests of all seeds, whatever their order
};

/// A seed whose process dies counts as failed, and the others are played all the same.
batch_result play_all(const batch& what);

}  // namespace crosslock::simulation
