// Deliberate faults, for testing the tests: each is a mistake that real lock libraries have made.
// Only the variant of the library that is built with CROSSLOCK_MUTANTS contains them.
#pragma once

namespace crosslock::seam {

enum class mutant {
  none = 0,
  deadline_from_response = 1,  // M1
  release_without_owner = 2,   // M2
  renew_creates = 3,           // M3
  fence_stands_still = 4,      // M4
  no_look_behind_wake_up = 5,  // M5
  any_node_of_ours = 6,        // M6
  retry_with_new_owner = 8,    // M8
  loss_told_by_io_thread = 9,  // M9
  one_permit_too_many = 11,    // M11
  upgrade_beside_any = 12,     // M12
};

#ifdef CROSSLOCK_MUTANTS
inline mutant mutant_in_force = mutant::none;
inline bool mutated(mutant which) noexcept { return mutant_in_force == which; }
#else
constexpr bool mutated(mutant) noexcept { return false; }
#endif

}  // namespace crosslock::seam
