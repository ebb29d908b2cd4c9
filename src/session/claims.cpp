#include "session/claims.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::session {

void claims::forget(const standing_ref& one) {
  unwatch(one);
  one->go_on = nullptr;
  drop_unguarded(*one);
  if (!one->node.empty()) guarded_.erase(one->node);
  for (const std::string& each : one->leases) guarded_.erase(each);
  const auto listener = listening_.find(one->parent);
  if (listener != listening_.end() && listener->second == one) listening_.erase(listener);
  const auto it = all_.find(one->claim.owner);
  if (it != all_.end() && it->second == one) all_.erase(it);
}

void claims::hold(const standing_ref& one, time_point now) {
  one->now = standing::phase::held;
  one->was_held = true;
  one->since = now;
  guard_later(one);
}

void claims::guard_later(const standing_ref& one) {
  one->guarded = false;
  if (one->now != standing::phase::held) return;
  if (one->index_among_unguarded != standing::nowhere) return;
  one->index_among_unguarded = unguarded_.size();
  unguarded_.push_back(one);
}

void claims::drop_unguarded(standing& one) noexcept {
  const std::size_t index = std::exchange(one.index_among_unguarded, standing::nowhere);
  if (index == standing::nowhere) return;
  std::swap(unguarded_[index], unguarded_.back());
  unguarded_[index]->index_among_unguarded = index;
  one.index_among_unguarded = standing::nowhere;  // also when it was the last
  unguarded_.pop_back();
}

void claims::stay(const standing_ref& one, time_point until, std::function<void(bool)> go_on) {
  one->stays_until = until;
  one->go_on = std::move(go_on);
  staying_.push_back(one);
}

void claims::remove_later(const standing_ref& one) {
  one->refused = true;
  refused_.push_back(one);
}

standing_ref claims::take_listener(const std::string& parent) {
  const auto found = listening_.find(parent);
  if (found == listening_.end()) return nullptr;
  const standing_ref holder = std::move(found->second);
  listening_.erase(found);
  return holder;
}

void claims::watch(const standing_ref& one, const std::string& path) {
  unwatch(one);
  // Nothing is known of the new one until the server has answered.
  one->looked = {};
  one->alone_before = false;
  one->word_counts = false;
  one->watched = path;
  watching_.emplace(path, one);
}

void claims::unwatch(const standing_ref& one) {
  if (one->watched.empty()) return;
  const auto [begin, end] = watching_.equal_range(one->watched);
  const auto mine = std::find_if(begin, end, [&](const auto& each) { return each.second == one; });
  if (mine != end) watching_.erase(mine);
  one->watched.clear();
}

std::vector<standing_ref> claims::take_watchers(const std::string& path) {
  std::vector<standing_ref> found;
  const auto [begin, end] = watching_.equal_range(path);
  for (auto it = begin; it != end; ++it) {
    it->second->watched.clear();
    found.push_back(it->second);
  }
  watching_.erase(begin, end);
  return found;
}

std::vector<standing_ref> claims::all() const {
  std::vector<standing_ref> found;
  found.reserve(all_.size());
  for (const auto& [owner, one] : all_) found.push_back(one);
  return found;
}

claims::unfinished claims::after_reconnect() {
  unfinished found;
  for (const auto& [owner, one] : all_) {
    if (one->now == standing::phase::leaving) found.leaving.push_back(one);
    if (one->now != standing::phase::waiting) continue;
    one->looked = {};
    found.waiting.push_back(one);
  }
  return found;
}

claims::bereft claims::after_session(session_number ended) {
  bereft found;
  for (const standing_ref& one : all()) {
    if (one->session != ended) continue;
    unwatch(one);
    if (one->go_on) found.staying.push_back(std::exchange(one->go_on, nullptr));
    if (one->left_later) found.leaving.push_back(std::exchange(one->left_later, nullptr));
    if (one->now == standing::phase::waiting) found.waiting.push_back(one);
    if (one->now == standing::phase::held || one->now == standing::phase::leaving) {
      forget(one);
      one->now = standing::phase::asking;
    }
  }
  return found;
}

claims::chores claims::due(time_point now, time_point old_enough) {
  chores found;
  for (standing_ref& one : std::exchange(refused_, {})) {
    const bool still = std::exchange(one->refused, false) && find(one->claim.owner) == one;
    if (still) found.refused.push_back(std::move(one));
  }
  std::erase_if(staying_, [](const standing_ref& one) { return !one->go_on; });
  for (const standing_ref& one : staying_) {
    if (now >= one->stays_until) found.too_long.push_back(one);
  }
  for (std::size_t i = 0; i < unguarded_.size() && room_for_guards();) {
    const standing_ref one = unguarded_[i];
    if (one->now == standing::phase::held && !one->guarded && one->since > old_enough) {
      ++i;
      continue;
    }
    drop_unguarded(*one);
    if (one->now != standing::phase::held || one->guarded) continue;
    one->guarded = true;
    if (!one->node.empty()) found.to_guard.emplace_back(one, one->node);
    for (const std::string& each : one->leases) found.to_guard.emplace_back(one, each);
    if (!one->node.empty()) guard(one, one->node);
    for (const std::string& each : one->leases) guard(one, each);
  }
  return found;
}

}  // namespace crosslock::session
