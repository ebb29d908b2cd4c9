// Plays one seed and judges it.
#pragma once

#include "checker/invariants.hpp"
#include "simulation/scenario.hpp"

#include <cstdint>
#include <set>
#include <string>

namespace crosslock::simulation {

struct outcome {
  std::string failure;  ///< empty: all promises were kept
  std::set<checker::invariant> broken;
  totals seen;
  std::uint64_t digest = 0;  ///< of the schedule and both histories
  std::string story;         ///< with tell_all: everything that happened
};

outcome play(const scenario& scenario, bool tell_all = false);

}  // namespace crosslock::simulation
