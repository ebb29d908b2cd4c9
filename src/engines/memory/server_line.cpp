// What happens to one name: leases end, places in the line end, and the line is served by the one
// rule of line_rule.hpp over the holders and then the waiters in order of their tickets.
#include "engines/memory/server.hpp"

#include "engine/mutant.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <tuple>
#include <utility>

namespace crosslock::memory {

namespace {

using namespace std::chrono_literals;

/// Waiters look for an ended lease one after another, not all at once.
constexpr duration stagger = 1ms;
/// Mutant M5: longer than any test waits.
constexpr duration never = 24h * 365;

}  // namespace

server_time server::later(server_time moment, duration span) {
  return moment > server_time::max() - span ? server_time::max() : moment + span;
}

server::state server::snapshot() const { return {names_, cells_, fence_floor_, last_ticket_}; }

void server::restore(state kept) {
  names_ = std::move(kept.names);
  cells_ = std::move(kept.cells);
  fence_floor_ = kept.fence_floor;
  last_ticket_ = kept.last_ticket;
}

std::vector<push> server::connect(client_id client) {
  connected_.insert(client);
  std::vector<push> pushes;
  for (const auto& [key, name] : names_) {
    for (const auto& [ticket, one] : name.line) {
      if (one.client != client) continue;
      pushes.push_back({push::kind::look_again, client, name.name, one.owner, ticket, {}});
    }
  }
  for (auto& [cell, watched] : watches_) {
    if (watched.until.erase(client) == 0) continue;
    pushes.push_back({push::kind::cell_changed, client, watched.name, {}, 0, {}});
  }
  return pushes;
}

server::name_state* server::find(std::string_view name, server_time now) {
  const auto it = names_.find(name);
  if (it == names_.end()) return nullptr;
  drop_ended(it->second, now);
  return &it->second;
}

server::name_state& server::find_or_add(const seam::name_ref& name, server_time now) {
  if (name_state* known = find(name->view(), now)) return *known;
  if (names_.size() >= std::max(limits_.names_kept, forget_at_)) forget_idle_names(now);
  name_state& fresh = names_[name->str()];
  fresh.name = name;
  fresh.fence_top = fence_floor_;
  return fresh;
}

/// Keeps the table bounded: what is in use, and as much again. Fences go on rising because a
/// forgotten name comes back with the highest fence that any forgotten name had.
void server::forget_idle_names(server_time now) {
  for (auto it = names_.begin(); it != names_.end();) {
    name_state& name = it->second;
    drop_ended(name, now);
    drop_ended_places(name, now);
    fence_floor_ = std::max(fence_floor_, name.idle() ? name.fence_top : 0);
    it = name.idle() ? names_.erase(it) : std::next(it);
  }
  forget_at_ = 2 * names_.size();
}

void server::drop_ended(name_state& name, server_time now) {
  std::erase_if(name.holders, [&](const holder& one) { return one.end <= now; });
  // Only from the front, so that a long line costs nothing here: whoever looks deeper skips the
  // dead, and a line that is not empty has a living waiter.
  while (!name.line.empty() && name.line.begin()->second.place_end <= now) {
    leave_line(name, name.line.begin()->first);
  }
}

void server::drop_ended_places(name_state& name, server_time now) {
  std::erase_if(name.line, [&](const auto& entry) {
    if (entry.second.place_end > now) return false;
    name.places.erase(entry.second.owner);
    return true;
  });
}

bool server::passed_over(const waiter& one, const owner_id& asking) const {
  return one.owner != asking && !connected_.contains(one.client);
}

/// Two who share and both want the whole name would wait for each other for ever: the second is
/// told at once. Those who cannot be heard just now count too, for they keep their place.
bool server::conflicts(const name_state& name, const seam::claim& upgrade, server_time now) {
  const auto exclusive = [](const auto& one) { return one.want.mode == claim_mode::exclusive; };
  return seam::is_upgrade(upgrade) &&
         (std::any_of(name.holders.begin(), name.holders.end(), exclusive) ||
          std::any_of(name.line.begin(), name.line.end(), [&](const auto& entry) {
            return entry.second.place_end > now && exclusive(entry.second);
          }));
}

bool server::shares(name_state& name, const std::optional<owner_id>& owner) {
  const holder* found = owner ? find_holder(name, *owner) : nullptr;
  return found != nullptr && found->want.mode == claim_mode::shared;
}

void server::serve(name_state& name, step& at, const owner_id& asking) {
  const std::size_t first_push = at.pushes.size();
  seam::line_so_far before;
  for (const holder& one : name.holders) before.add(one.want);
  for (auto it = name.line.begin(); it != name.line.end() && !before.closed();) {
    const ticket_number ticket = it->first;
    const waiter& next = (it++)->second;
    if (next.place_end <= at.now) {
      leave_line(name, ticket);
      continue;
    }
    if (passed_over(next, asking)) continue;
    const bool goes_in = before.admits(next.want, shares(name, next.beside));
    before.add(next.want);
    if (!goes_in) continue;
    if (name.fence_top == fence::max_value) break;
    const holder& won = grant(name,
                              {.owner = next.owner,
                               .want = next.want,
                               .lease = seam::offer_lease(next.lease),
                               .client = next.client,
                               .who = next.who,
                               .offer_of = ticket},
                              at.now);
    leave_line(name, ticket);
    if (won.owner == asking) continue;
    at.pushes.push_back({push::kind::granted,
                         won.client,
                         name.name,
                         won.owner,
                         ticket,
                         {fence{won.first}, fence{won.last}, won.lease, false}});
  }
  for (std::size_t i = first_push; i < at.pushes.size(); ++i) {
    at.pushes[i].offer.wanted = !name.line.empty();
  }
}

/// `max(last + block, server time)` for the first fence of each block: it rises by the counter
/// while there is one, and by the clock when the counter was lost.
std::pair<std::int64_t, std::int64_t> server::take_block(name_state& name, server_time now) {
  constexpr std::int64_t rest = seam::fence_block - 1;
  if (seam::mutated(seam::mutant::fence_stands_still) && name.fence_top > rest) {
    return {name.fence_top - rest, name.fence_top};
  }
  const std::int64_t first = std::max<std::int64_t>(name.fence_top + 1, now.count());
  name.fence_top = first > fence::max_value - rest ? fence::max_value : first + rest;
  return {first, name.fence_top};
}

server::holder& server::grant(name_state& name, holder fresh, server_time now) {
  std::tie(fresh.first, fresh.last) = take_block(name, now);
  fresh.since = now;
  fresh.end = later(now, fresh.lease);
  return name.holders.emplace_back(std::move(fresh));
}

/// Makes an offer a full lease. Never shortens: a late copy of an older request, for a shorter
/// lease, must not take away what a newer answer has promised.
void server::extend(holder& one, duration lease, server_time now) {
  one.lease = std::max(one.lease, lease);
  if (lease > duration::zero()) one.end = later(now, one.lease);
  one.offer_of = 0;
}

ask_reply server::in_line(const name_state& name, ticket_number ticket, server_time now) const {
  const duration refresh = seam::offer_lease(name.line.at(ticket).lease) / 3;
  duration look = refresh;
  for (const holder& one : name.holders) look = std::min(look, one.end - now);
  // The staggering matters, and is counted, only when a lease ends before the next refresh.
  for (auto it = name.line.begin(); look < refresh; ++it) {
    look += stagger;
    if (it->first == ticket) break;
  }
  look = std::min(look, refresh);
  if (seam::mutated(seam::mutant::no_look_behind_wake_up)) look = never;
  return {seam::ask_result::in_line, {}, ticket, look};
}

lock_info server::inspect(const name_state& name, server_time now) const {
  const auto text = [](const who_ref& who) { return who ? *who : std::string{}; };
  lock_info info{.name = name.name->str(), .holders = {}, .line = {}};
  for (const holder& one : name.holders) {
    info.holders.push_back({.owner = one.owner,
                            .mode = one.want.mode,
                            .who = text(one.who),
                            .age = now - one.since,
                            .lease_left = one.end - now,
                            .fence = fence{one.first},
                            .permits = one.want.permits,
                            .of = one.want.of});
  }
  for (const auto& [ticket, one] : name.line) {
    if (one.place_end <= now) continue;
    info.line.push_back({.owner = one.owner,
                         .mode = one.want.mode,
                         .who = text(one.who),
                         .age = now - one.since,
                         .lease_left = {},
                         .fence = {},
                         .permits = one.want.permits,
                         .of = one.want.of});
  }
  return info;
}

server::holder* server::find_holder(name_state& name, const owner_id& owner) {
  const auto it = std::find_if(name.holders.begin(), name.holders.end(),
                               [&](const holder& one) { return one.owner == owner; });
  return it == name.holders.end() ? nullptr : &*it;
}

void server::remove_holder(name_state& name, const holder& gone) {
  name.holders.erase(name.holders.begin() + (&gone - name.holders.data()));
}

void server::leave_line(name_state& name, ticket_number ticket) {
  const auto it = name.line.find(ticket);
  name.places.erase(it->second.owner);
  name.line.erase(it);
}

}  // namespace crosslock::memory
