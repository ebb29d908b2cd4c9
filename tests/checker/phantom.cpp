// I13. A hold rests on what the server wrote down, not on what somebody said. Where a test has
// looked at the server's own state during a belief, one look at least must have shown that holder:
// a grant that was told but never made looks like any other to its client, and has a fence as good
// as any.
#include "checker/rules.hpp"
#include "engine/claim.hpp"

#include <algorithm>

namespace crosslock::checker {
namespace {

/// The server shows the first fence of a grant; a hold that was passed on has a later one.
bool shows(const event& look, const grant& held) {
  return look.token > 0 && look.token <= held.token() &&
         held.token() - look.token < seam::fence_block;
}

void judge(const timeline& line, const std::vector<std::size_t>& looks, const grant& held,
           report& to) {
  std::size_t contradicts = none;
  for (const belief& believed : held.beliefs) {
    for (const std::size_t i : looks) {
      const event& look = line.events[i];
      if (look.sent < believed.from.t || look.t > believed.to.t) continue;
      if (shows(look, held)) {
        ++to.out().confirmed;
        return;
      }
      if (contradicts == none) contradicts = i;
    }
  }
  if (contradicts == none) return;  // nobody looked while it was believed
  const instant looked{line.events[contradicts].t, 0};
  const bool excused = std::ranges::any_of(line.faults, [&](const fault_span& each) {
    return loses_state(each.kind) && concerns(each, held.lock()) && each.to >= held.based_on() &&
           each.from <= looked;
  });
  if (excused) return;
  to.add(invariant::phantom,
         describe(held.about) + " was believed, and the server never showed it as the holder",
         held.ok_event, contradicts);
}

}  // namespace

void check_phantoms(const timeline& line, report& to) {
  for (const auto& [lock, looks] : line.shown) {
    const auto grants = line.by_lock.find(lock);
    if (grants == line.by_lock.end()) continue;
    for (const std::size_t g : grants->second) judge(line, looks, line.grants[g], to);
  }
}

}  // namespace crosslock::checker
