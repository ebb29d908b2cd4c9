#include "cli/looking/changes.hpp"

#include <algorithm>

namespace crosslock::cli {
namespace {

/// A foreign lock may have no owner id; then its text has to do.
bool same_claim(const claim_info& one, const claim_info& other) {
  return one.owner == other.owner && (!one.owner.nobody() || one.who == other.who);
}

const claim_info* find(const std::vector<claim_info>& claims, const claim_info& wanted) {
  const auto found = std::find_if(claims.begin(), claims.end(),
                                  [&](const claim_info& each) { return same_claim(each, wanted); });
  return found == claims.end() ? nullptr : &*found;
}

/// Both are of one name.
void compare(const lock_info& before, const lock_info& after, std::vector<lock_event>& events) {
  const auto add = [&](change what, const claim_info& claim) {
    events.push_back({what, after.name, claim});
  };
  for (const claim_info& each : before.holders) {
    if (find(after.holders, each) == nullptr) add(change::released, each);
  }
  for (const claim_info& each : before.line) {
    const bool stays = find(after.line, each) != nullptr || find(after.holders, each) != nullptr;
    if (!stays) add(change::left, each);
  }
  for (const claim_info& each : after.holders) {
    const claim_info* const known = find(before.holders, each);
    if (known == nullptr) add(change::acquired, each);
    if (known != nullptr && known->mode != each.mode) add(change::changed, each);
  }
  for (const claim_info& each : after.line) {
    if (find(before.line, each) == nullptr) add(change::waiting, each);
  }
}

lock_info nobody_at(const std::string& name) { return {.name = name, .holders = {}, .line = {}}; }

}  // namespace

std::string_view to_string(change what) noexcept {
  switch (what) {
    case change::held:
      return "held";
    case change::acquired:
      return "acquired";
    case change::released:
      return "released";
    case change::waiting:
      return "waiting";
    case change::left:
      return "left";
    case change::changed:
      return "changed";
  }
  return "";
}

std::vector<lock_event> changes_between(const std::vector<lock_info>& before,
                                        const std::vector<lock_info>& after) {
  std::vector<lock_event> events;
  auto old = before.begin();
  auto now = after.begin();
  while (old != before.end() || now != after.end()) {
    const bool gone = now == after.end() || (old != before.end() && old->name < now->name);
    const bool fresh = old == before.end() || (now != after.end() && now->name < old->name);
    compare(fresh ? nobody_at(now->name) : *old, gone ? nobody_at(old->name) : *now, events);
    if (!fresh) ++old;
    if (!gone) ++now;
  }
  return events;
}

std::vector<lock_event> initial_events(const std::vector<lock_info>& locks) {
  std::vector<lock_event> events = changes_between({}, locks);
  for (lock_event& each : events) {
    if (each.what == change::acquired) each.what = change::held;
  }
  return events;
}

}  // namespace crosslock::cli
