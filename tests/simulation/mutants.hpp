// Tests the tests: each deliberate fault must be caught, by the invariant it is known to break.
#pragma once

#include <cstdint>
#include <optional>

namespace crosslock::simulation {

/// Whether this program was compiled with CROSSLOCK_MUTANTS.
bool mutants_are_built_in() noexcept;

/// Plays scenarios that favour each mutant until its invariant breaks, and as many without it,
/// in which nothing may break. `one`: tells everything about that seed for each mutant instead.
int hunt_mutants(int jobs, std::uint64_t first, std::optional<std::uint64_t> one);

}  // namespace crosslock::simulation
