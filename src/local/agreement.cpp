// Read, and if nobody has written, write: a cell that was never written takes one first value.
#include "local/agreement.hpp"

#include "local/core.hpp"

namespace crosslock::inner {
namespace {

std::string read_or_write(core& home, const seam::cell_swap& proposed) {
  const seam::cell found = home.engine().read_cell(*proposed.name, home.give_up());
  if (found.version != 0) return found.value;
  const seam::swap_answer answer = home.engine().swap_cell(proposed, home.give_up());
  if (answer.outcome == seam::swap_answer::result::swapped) return proposed.value;
  return answer.now.value;
}

void pause(core& home, int failures) {
  seam::park_word nobody_rings{0};
  seam::clock& clock = home.clock();
  clock.park(nobody_rings, 0, clock.now() + home.keeper().retry_pause(failures));
}

}  // namespace

std::string agree(core& home, const seam::name_ref& cell, const std::string& proposal) {
  const seam::traits& about = home.engine().about();
  if (!about.cells) {
    throw error{
        errc::unsupported,
        std::string{about.name} + " has no cells, in which clients could agree on something",
        {.engine = std::string{about.name}}};
  }
  // One writer over all tries: a retry finds the work of an earlier try whose answer was lost.
  const seam::cell_swap proposed{.name = cell,
                                 .expected = 0,
                                 .value = proposal,
                                 .writer = home.keeper().draw_owner(),
                                 .token = {}};
  for (int failures = 0;; ++failures) {
    home.check_usable();
    try {
      return read_or_write(home, proposed);
    } catch (const error& why) {
      if (!why.retryable() || failures >= home.settings().retry.tries) throw;
    }
    pause(home, failures);
  }
}

}  // namespace crosslock::inner
