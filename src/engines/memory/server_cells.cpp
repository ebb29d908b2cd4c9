// Values that are compared and set. A write names the version it replaces, and a version never
// comes twice, so a late copy of an older write finds another version and changes nothing; the
// writer's id tells a repeated write that it has been carried out already.
#include "engines/memory/server.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::memory {

namespace {

/// Like a fence: by the counter while there is one, and by the clock when a rollback took it back,
/// so that what was read before the rollback is not mistaken for what was written after it.
std::uint64_t next_version(std::uint64_t last, server_time now) {
  const auto by_clock = static_cast<std::uint64_t>(std::max<std::int64_t>(now.count(), 0));
  return std::max(last + 1, by_clock);
}

}  // namespace

server::cell_state server::look_up_cell(const lock_name& name) const {
  const auto it = cells_.find(name.view());
  return it == cells_.end() ? cell_state{} : it->second;
}

/// Whoever watches is told once, and reads again.
void server::watch(const seam::name_ref& name, duration span, const step& at) {
  if (watches_.size() >= sweep_watches_at_) {
    std::erase_if(watches_, [&](const auto& entry) {
      const auto& until = entry.second.until;
      return std::all_of(until.begin(), until.end(),
                         [&](const auto& one) { return one.second <= at.now; });
    });
    sweep_watches_at_ = 64 + 2 * watches_.size();
  }
  watch_state& watched = watches_[name->str()];
  watched.name = name;
  server_time& until = watched.until[at.from];
  until = std::max(until, later(at.now, span));
}

void server::tell_watchers(const seam::name_ref& name, step& at) {
  const auto it = watches_.find(name->view());
  if (it == watches_.end()) return;
  std::erase_if(it->second.until, [&](const auto& one) { return one.second <= at.now; });
  for (auto one = it->second.until.begin(); one != it->second.until.end();) {
    const client_id client = (one++)->first;
    if (!connected_.contains(client)) continue;  // it is told when it comes back
    at.pushes.push_back({push::kind::cell_changed, client, name, {}, 0, {}});
    it->second.until.erase(client);
  }
  if (it->second.until.empty()) watches_.erase(it);
}

reply server::carry_out(const read_cell_request& message, step& at) {
  if (message.watch > duration::zero()) watch(message.name, message.watch, at);
  return read_cell_reply{look_up_cell(*message.name).now};
}

reply server::carry_out(const swap_cell_request& message, step& at) {
  using result = seam::swap_answer::result;
  const seam::cell_swap& wanted = message.wanted;
  cell_state found = look_up_cell(*wanted.name);
  const auto swapped = [](const seam::cell& now) {
    return swap_cell_reply{{result::swapped, {{}, now.version, now.highest}}};
  };
  // Before anything else: what was written stays written, whoever has shown a fence since.
  if (found.now.version != 0 && found.writer == wanted.writer) return swapped(found.now);
  if (wanted.token < found.now.highest) {
    return swap_cell_reply{{result::shut_out, std::move(found.now)}};
  }
  if (wanted.expected != found.now.version) {
    return swap_cell_reply{{result::changed, std::move(found.now)}};
  }
  cell_state& stored = cells_[wanted.name->str()];
  stored.now = {wanted.value, next_version(found.now.version, at.now), wanted.token};
  stored.writer = wanted.writer;
  tell_watchers(wanted.name, at);
  return swapped(stored.now);
}

reply server::carry_out(const open_cell_request& message, step& at) {
  cell_state& found = cells_[message.name->str()];
  if (message.token < found.now.highest) return open_cell_reply{};
  if (message.token > found.now.highest) tell_watchers(message.name, at);
  found.now.highest = message.token;
  return open_cell_reply{found.now};
}

}  // namespace crosslock::memory
