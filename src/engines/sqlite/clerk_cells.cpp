// Values that are compared and set: the rules of the memory server, over one row.
#include "engines/sqlite/clerk.hpp"
#include "engines/sqlite/wake_file.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::sqlite {

seam::swap_answer clerk::swap_cell(const seam::cell_swap& wanted) {
  using result = seam::swap_answer::result;
  cell_row found = rows_.find_cell(wanted.name->view());
  const auto swapped = [](const seam::cell& now) {
    return seam::swap_answer{result::swapped, {{}, now.version, now.highest}};
  };
  // Before anything else: what was written stays written, whoever has shown a fence since.
  if (found.now.version != 0 && found.writer == wanted.writer) return swapped(found.now);
  if (wanted.token < found.now.highest) return {result::shut_out, std::move(found.now)};
  if (wanted.expected != found.now.version) return {result::changed, std::move(found.now)};
  // Also by the clock, so that a version is not given twice when the file was put back to an older
  // state.
  const auto by_clock = static_cast<std::uint64_t>(std::max<std::int64_t>(rows_.clock(), 0));
  const cell_row next{{wanted.value, std::max(found.now.version + 1, by_clock), wanted.token},
                      wanted.writer};
  rows_.put_cell(wanted.name->view(), next);
  notices_.push_back({watchers, wake_file::hash_of(wanted.name->view())});
  return swapped(next.now);
}

std::optional<seam::cell> clerk::open_cell(const lock_name& name, fence token) {
  cell_row found = rows_.find_cell(name.view());
  if (token < found.now.highest) return std::nullopt;
  if (token != found.now.highest) {
    found.now.highest = token;
    rows_.put_cell(name.view(), found);
    notices_.push_back({watchers, wake_file::hash_of(name.view())});
  }
  return std::move(found.now);
}

}  // namespace crosslock::sqlite
