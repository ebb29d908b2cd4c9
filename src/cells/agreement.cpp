// Read, and if nobody has written, write: a cell that was never written takes one first value.
#include "cells/agreement.hpp"

#include "cells/cells.hpp"

namespace crosslock::inner {

std::string agree(core& home, const seam::name_ref& cell, const std::string& proposal) {
  const seam::traits& about = home.about();
  if (!about.cells) {
    throw error{
        errc::unsupported,
        std::string{about.name} + " has no cells, in which clients could agree on something",
        {.engine = std::string{about.name}}};
  }
  // One writer over all tries: a retry finds the work of an earlier try whose answer was lost.
  const seam::cell_swap proposed{
      .name = cell, .expected = 0, .value = proposal, .writer = home.draw_owner(), .token = {}};
  return insist(home, {}, [&](time_point give_up) {
    const seam::cell found = home.engine().read_cell(*cell, give_up);
    if (found.version != 0) return found.value;
    const seam::swap_answer answer = home.engine().swap_cell(proposed, home.give_up());
    const bool ours = answer.outcome == seam::swap_answer::result::swapped;
    return ours ? proposal : answer.now.value;
  });
}

std::string server_id(core& home) {
  std::string id = home.known_server_id();
  if (!id.empty()) return id;
  const auto cell = std::make_shared<const lock_name>(lock_name::reserved("server", "id"));
  id = agree(home, cell, home.draw_owner().to_string());
  home.note_server_id(id);
  return id;
}

}  // namespace crosslock::inner
