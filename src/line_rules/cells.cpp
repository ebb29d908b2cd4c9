// Values that are compared and set. A write names the version it replaces, and a version never
// comes twice, so a late copy of an older write finds another version and changes nothing; the
// writer's id tells a repeated write that it has been carried out already. An erased cell leaves
// nothing but a floor, common to all, from which the versions of new ones go on.
#include "line_rules/line_server.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::seam {
namespace {

/// Like a fence: by the counter while there is one, and by the clock when a rollback took it back,
/// so that what was read before the rollback is not mistaken for what was written after it.
std::uint64_t next_version(std::uint64_t last, std::int64_t clock) {
  return std::max(last + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(clock, 0)));
}

}  // namespace

swap_answer line_server::swap_cell(const cell_swap& wanted) {
  using result = swap_answer::result;
  cell_row found = rows_.find_cell(wanted.name->view());
  const auto swapped = [](const cell& now) {
    return swap_answer{result::swapped, {{}, now.version, now.highest}};
  };
  // Before anything else: what was written stays written, whoever has shown a fence since.
  if (found.now.version != 0 && found.writer == wanted.writer) return swapped(found.now);
  if (wanted.erase && found.now == cell{}) return {result::swapped, {}};
  if (wanted.token < found.now.highest) return {result::shut_out, std::move(found.now)};
  if (wanted.expected != found.now.version) return {result::changed, std::move(found.now)};
  cell_row next;
  if (wanted.erase) {
    rows_.remove_cell(wanted.name->view(), found.now.version);
  } else {
    const std::uint64_t last =
        found.now.version != 0 ? found.now.version : static_cast<std::uint64_t>(rows_.floor());
    next = {{wanted.value, next_version(last, rows_.fence_clock()), wanted.token}, wanted.writer};
    rows_.put_cell(wanted.name->view(), next);
  }
  news_.push_back({.what = news::kind::cell_changed, .name = wanted.name, .offer = {}});
  return swapped(next.now);
}

std::optional<cell> line_server::open_cell(const name_ref& name, fence token) {
  cell_row found = rows_.find_cell(name->view());
  if (token < found.now.highest) return std::nullopt;
  if (token > found.now.highest) {
    found.now.highest = token;
    rows_.put_cell(name->view(), found);
    news_.push_back({.what = news::kind::cell_changed, .name = name, .offer = {}});
  }
  return std::move(found.now);
}

}  // namespace crosslock::seam
