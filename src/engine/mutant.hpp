// Deliberate faults, for testing the tests: each is a mistake that real lock libraries have made.
// Only what is compiled with CROSSLOCK_MUTANTS contains them. The tests compile the source files
// that call mutated() a second time so, and link them with all others as they are. No header may
// call it.
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
  told_before_done = 11,       // M11
  word_noted_late = 12,        // M12
  one_permit_too_many = 14,    // M14
  upgrade_beside_any = 15,     // M15
};

// Each variant has a namespace of its own, so that one program may contain both.
#ifdef CROSSLOCK_MUTANTS
inline namespace with_mutants {
inline mutant mutant_in_force = mutant::none;
inline bool mutated(mutant which) noexcept { return mutant_in_force == which; }
}  // namespace with_mutants
#else
inline namespace without_mutants {
constexpr bool mutated(mutant) noexcept { return false; }
}  // namespace without_mutants
#endif

}  // namespace crosslock::seam
