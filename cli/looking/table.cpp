#include "cli/looking/table.hpp"

#include "cli/looking/plain_text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace crosslock::cli {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t name_columns_min = 8;

}  // namespace

canvas canvas_of_output() {
  winsize size{};
  const bool terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return {.columns = terminal ? size.ws_col : 0U, .colours = likes_colours(STDOUT_FILENO)};
}

void table::add(std::vector<std::string> cells, colour paint) {
  for (std::string& each : cells) each = printable(each);
  rows_.push_back({std::move(cells), paint});
}

std::vector<std::size_t> table::widths(const canvas& on) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    std::size_t most = columns_of(heads_[i]);
    for (const row& each : rows_) most = std::max(most, columns_of(each.cells[i]));
    found.push_back(most);
  }
  if (on.columns > 0) {
    found.front() = std::min(found.front(), std::max(on.columns / 3, name_columns_min));
  }
  return found;
}

std::string table::line(const row& cells, const std::vector<std::size_t>& widths,
                        const canvas& on) {
  std::string text;
  for (std::size_t i = 0; i < cells.cells.size(); ++i) {
    text += padded(cut(cells.cells[i], widths[i]), widths[i] + gap);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  if (on.columns > 0) text = cut(text, on.columns);
  return painted(text, cells.paint, on.colours);
}

std::vector<std::string> table::lines(const canvas& on) const {
  const std::vector<std::size_t> fitting = widths(on);
  std::vector<std::string> all{line({heads_, colour::bold}, fitting, on)};
  for (const row& each : rows_) all.push_back(line(each, fitting, on));
  return all;
}

std::string fitted(std::string_view text, const canvas& on, colour paint) {
  const std::string shown = printable(text);
  return painted(on.columns > 0 ? cut(shown, on.columns) : shown, paint, on.colours);
}

}  // namespace crosslock::cli
