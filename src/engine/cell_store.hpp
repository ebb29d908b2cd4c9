// The part of the seam that is about cells.
#pragma once

#include "engine/cell.hpp"

#include <optional>

namespace crosslock::seam {

/// Threads and failure: as for the verbs of engine.hpp.
class cell_store {
 public:
  virtual ~cell_store() = default;

  /// A cell that nobody has written or opened is empty, with version 0.
  virtual cell read_cell(const lock_name& name, time_point give_up) = 0;
  /// The same, and from the very moment of this reading on, for `span` at least, the next write is
  /// told by engine_events::cell_changed. Where the engine cannot push it only reads.
  virtual cell watch_cell(const lock_name& name, duration /*span*/, time_point give_up) {
    return read_cell(name, give_up);
  }
  /// Writes if version and fence allow it. Repeated by the same writer it finds its own work and
  /// answers as before, as long as nobody has written since. After that it says `changed`, so
  /// behind a try whose outcome is unknown `changed` is no proof that nothing was written. One that
  /// erases and finds nothing is done, whatever it expected: that is how a repeated one ends.
  virtual swap_answer swap_cell(const cell_swap& wanted, time_point give_up) = 0;
  /// Shows `token` to the cell, which refuses every lower fence from then on. Empty, and nothing
  /// changed, when a higher one was here.
  virtual std::optional<cell> open_cell(const lock_name& name, fence token, time_point give_up) = 0;
};

}  // namespace crosslock::seam
