// A table of text for people.
#pragma once

#include "cli/say.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace crosslock::cli {

/// What is drawn into, and how.
struct canvas {
  std::size_t columns = 0;  ///< lines are cut there; 0: as long as they get
  bool colours = false;
};

/// That of standard output: as wide as its terminal.
canvas canvas_of_output();

/// Cells are texts as they came: they are made printable here. Where there is little room the first
/// column, of names, takes no more than a third of it.
class table {
 public:
  explicit table(std::vector<std::string> heads) : heads_{std::move(heads)} {}

  void add(std::vector<std::string> cells, colour paint = colour::plain);
  /// The heads, and a line for each row.
  std::vector<std::string> lines(const canvas& on) const;

 private:
  struct row {
    std::vector<std::string> cells;
    colour paint;
  };

  std::vector<std::size_t> widths(const canvas& on) const;
  static std::string line(const row& cells, const std::vector<std::size_t>& widths,
                          const canvas& on);

  const std::vector<std::string> heads_;
  std::vector<row> rows_;
};

/// A line of any text, printable and cut to the canvas.
std::string fitted(std::string_view text, const canvas& on, colour paint = colour::plain);

}  // namespace crosslock::cli
