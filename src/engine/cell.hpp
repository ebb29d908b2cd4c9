// A cell: a small value with a version and a fence, stored by the server beside its locks. Cells
// and locks have nothing to do with each other: a cell and a lock of one name do not meet.
#pragma once

#include "engine/claim.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace crosslock::seam {

/// The longest value of a cell, where the engine says nothing else.
inline constexpr std::size_t cell_bytes_max = std::size_t{1} << 20;

struct cell {
  std::string value;  ///< any bytes
  /// Rises with every write, not always by one, and goes on rising behind an erasure; 0: nothing
  /// is written there.
  std::uint64_t version = 0;
  fence highest{};  ///< the highest fence that was shown to it

  friend bool operator==(const cell&, const cell&) = default;
};

/// A write, if the cell is still as it was read. One that brings no fence is for cells that have
/// never seen one: it counts as lower than all of them.
struct cell_swap {
  name_ref name;
  std::uint64_t expected = 0;  ///< the version that was read; 0: nobody has written yet
  std::string value;
  owner_id writer;     ///< drawn once and kept over every retry of this write
  fence token{};       ///< the fence of the hold under which this is written, if any
  bool erase = false;  ///< no value takes its place: the cell is as if nobody had ever been there
};

struct swap_answer {
  enum class result {
    swapped,   ///< written, now or by an earlier try of the same writer; erased: nothing is there
    changed,   ///< not written: the version is another one
    shut_out,  ///< not written: a higher fence was here
  };

  result outcome = result::changed;
  cell now;  ///< as it is now; when swapped, without the value: the writer has it
};

/// Throws `unsupported` for a value that is longer than that, before any I/O.
void refuse_long_value(std::string_view engine, const cell_swap& wanted,
                       std::size_t longest = cell_bytes_max);

}  // namespace crosslock::seam
