// What happens to one name: leases end, processes die, places in the line end, and the line is
// served by the one rule of line_rule.hpp over the holders and then the waiters by their tickets.
#include "engines/sqlite/clerk.hpp"
#include "engines/sqlite/wake_file.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace crosslock::sqlite {
namespace {

/// Waiters look for an ended lease one after another, not all at once.
constexpr duration stagger = std::chrono::milliseconds{1};
/// A holder is looked at by newcomers only after so long.
constexpr duration settled_in = std::chrono::milliseconds{50};

claim_info describe(ledger& rows, const holder& one, time_point now) {
  return {.owner = one.owner,
          .mode = one.want.mode,
          .who = rows.client(one.client).who,
          .age = now - one.since,
          .lease_left = one.ends - now,
          .fence = fence{one.first},
          .permits = one.want.permits,
          .of = one.want.of};
}

}  // namespace

clerk::scene clerk::open(std::string_view name) {
  scene at{.name = name, .row = {}, .sharers = {}, .changed = false};
  if (const auto found = rows_.find(name)) {
    at.row = *found;
    if (at.row.crowd > 0 && !at.row.alone) at.sharers = rows_.sharers(name);
    // Somebody has come to one who would share: from now on he stands among the others.
    if (at.row.alone && at.row.alone->want.mode != claim_mode::exclusive) {
      join(at, *std::exchange(at.row.alone, std::nullopt));
    }
  } else {
    at.row.top = rows_.fence_floor();
  }
  return at;
}

void clerk::save(scene& at) {
  if (at.changed) rows_.put(at.name, at.row);
  at.changed = false;
}

void clerk::refuse(scene& at, errc code, const std::string& why) {
  save(at);
  throw make_error(code, why);
}

template <class Ended>
void clerk::drop_if(scene& at, Ended&& ended) {
  if (at.row.alone && ended(*at.row.alone)) remove_holder(at, *at.row.alone);
  for (std::size_t i = at.sharers.size(); i-- > 0;) {
    if (ended(at.sharers[i])) remove_holder(at, at.sharers[i]);
  }
}

void clerk::drop_expired(scene& at) {
  drop_if(at, [this](const holder& one) { return one.ends <= now_; });
}

void clerk::drop_ended(scene& at) {
  drop_if(at, [this](const holder& one) {
    if (one.ends <= now_) return true;
    return now_ - one.since > settled_in && surely_dead(rows_.client(one.client).process, self_);
  });
}

void clerk::drop_ended_places(scene& at) {
  ticket_number last = 0;
  while (const auto one = rows_.next_waiter(at.name, last)) {
    last = one->ticket;
    if (one->place_ends <= now_) leave_line(at, last);
  }
}

bool clerk::conflicts(const scene& at, const seam::claim& upgrade) {
  if (!seam::is_upgrade(upgrade)) return false;
  const auto exclusive = [](const auto& one) { return one.want.mode == claim_mode::exclusive; };
  if (at.row.alone || std::ranges::any_of(at.sharers, exclusive)) return true;
  ticket_number last = 0;
  while (const auto other = rows_.next_waiter(at.name, last)) {
    last = other->ticket;
    const bool stands =
        other->place_ends > now_ && !surely_gone(rows_.client(other->client).process, self_);
    if (stands && exclusive(*other)) return true;
  }
  return false;
}

bool clerk::shares(scene& at, const std::optional<owner_id>& owner) {
  const holder* const found = owner ? find_holder(at, *owner) : nullptr;
  return found != nullptr && found->want.mode == claim_mode::shared;
}

void clerk::serve(scene& at, const owner_id& asking) {
  if (at.waiters() <= 0) return;
  seam::line_so_far before;
  if (at.row.alone) before.add(at.row.alone->want);
  for (const holder& one : at.sharers) before.add(one.want);
  ticket_number last = 0;
  while (at.waiters() > 0 && !before.closed()) {
    const auto next = rows_.next_waiter(at.name, last);
    if (!next) break;
    last = next->ticket;
    // Only the cheap question here: who died a moment ago, or is a zombie, is found to be dead by
    // the next in line as a holder.
    const bool gone = surely_gone(rows_.client(next->client).process, self_);
    if (next->place_ends <= now_ || gone) {
      leave_line(at, last);
      continue;
    }
    const bool goes_in = before.admits(next->want, shares(at, next->beside));
    before.add(next->want);
    if (!goes_in) continue;
    if (at.row.top == fence::max_value) break;
    leave_line(at, last);
    grant(at, {.owner = next->owner,
               .want = next->want,
               .lease = seam::offer_lease(next->lease),
               .client = next->client,
               .offer = true});
    if (next->owner != asking) tell(at, next->client);
  }
}

void clerk::tell(const scene& at, client_number client) {
  if (client != nobody) notices_.push_back({client, wake_file::hash_of(at.name)});
}

std::pair<std::int64_t, std::int64_t> clerk::take_block(scene& at) {
  constexpr std::int64_t rest = seam::fence_block - 1;
  const std::int64_t first = std::max(at.row.top + 1, rows_.clock());
  at.row.top = first > fence::max_value - rest ? fence::max_value : first + rest;
  at.changed = true;
  return {first, at.row.top};
}

holder& clerk::grant(scene& at, holder fresh) {
  std::tie(fresh.first, fresh.last) = take_block(at);
  fresh.since = now_;
  fresh.ends = now_ + fresh.lease;
  at.changed = true;
  const bool alone = fresh.want.mode == claim_mode::exclusive && at.sharers.empty();
  return alone ? at.row.alone.emplace(std::move(fresh)) : join(at, std::move(fresh));
}

/// Those who hold together with others. An upgrade and the shared grant beside it do, too.
holder& clerk::join(scene& at, holder fresh) {
  const ticket_number last = at.sharers.empty() ? 0 : at.sharers.back().ticket;
  fresh.ticket = std::max(last + 1, now_.time_since_epoch().count());
  rows_.put_sharer(at.name, fresh);
  ++at.row.crowd;
  at.changed = true;
  return at.sharers.emplace_back(std::move(fresh));
}

/// Makes an offer a full lease. Never shortens: a late copy of an older request, for a shorter
/// lease, must not take away what a newer answer has promised.
void clerk::extend(scene& at, holder& one, duration lease) {
  one.lease = std::max(one.lease, lease);
  if (lease > duration::zero()) one.ends = now_ + one.lease;
  one.offer = false;
  write_back(at, one);
}

void clerk::share(scene& at, holder& one) {
  one.want = {.mode = claim_mode::shared};
  if (!at.row.alone) return write_back(at, one);
  holder shared = one;
  at.row.alone.reset();
  join(at, std::move(shared));
}

void clerk::write_back(scene& at, const holder& one) {
  if (at.row.alone) {
    at.changed = true;
  } else {
    rows_.put_sharer(at.name, one);
  }
}

void clerk::remove_holder(scene& at, const holder& gone) {
  at.changed = true;
  if (at.row.alone) {
    at.row.alone.reset();
    return;
  }
  rows_.remove_sharer(at.name, gone.ticket);
  --at.row.crowd;
  at.sharers.erase(at.sharers.begin() + (&gone - at.sharers.data()));
}

holder* clerk::find_holder(scene& at, const owner_id& owner) {
  if (at.row.alone && at.row.alone->owner == owner) return &*at.row.alone;
  const auto it = std::find_if(at.sharers.begin(), at.sharers.end(),
                               [&](const holder& one) { return one.owner == owner; });
  return it == at.sharers.end() ? nullptr : &*it;
}

holder* clerk::find_holder(scene& at, const owner_id& owner, std::int64_t fence) {
  holder* const found = find_holder(at, owner);
  return found != nullptr && fence >= found->first && fence <= found->last ? found : nullptr;
}

std::optional<waiter> clerk::find_place(const scene& at, const owner_id& owner,
                                        const remembered& before) {
  if (!before.asked_before || at.waiters() <= 0) return std::nullopt;
  if (before.ticket != 0) {
    auto known = rows_.waiter_with(at.name, before.ticket);
    if (known && known->owner == owner) return known;
  }
  return rows_.waiter_of(at.name, owner);
}

void clerk::leave_line(scene& at, ticket_number ticket) {
  rows_.remove_waiter(at.name, ticket);
  --at.row.crowd;
  at.changed = true;
}

ask_outcome clerk::in_line(const scene& at, const waiter& mine, std::int64_t before) {
  const duration refresh = seam::offer_lease(mine.lease) / 3;
  duration look = refresh;
  if (at.row.alone) look = std::min(look, at.row.alone->ends - now_);
  for (const holder& one : at.sharers) look = std::min(look, one.ends - now_);
  // The staggering matters, and is counted, only when a lease ends before the next refresh.
  if (look < refresh) look += stagger * (1 + rows_.waiters_before(at.name, mine.ticket, line_max));
  return {.result = seam::ask_result::in_line,
          .ticket = mine.ticket,
          .look_after = std::min(look, refresh),
          .near = before < near_places};
}

lock_info inspect(ledger& rows, std::string_view name, const process_id& self, time_point now) {
  lock_info info{.name = std::string{name}, .holders = {}, .line = {}};
  const auto found = rows.find(name);
  if (!found) return info;
  for (const holder& one : rows.holders(name, *found)) {
    const bool ended = one.ends <= now || surely_dead(rows.client(one.client).process, self);
    if (!ended) info.holders.push_back(describe(rows, one, now));
  }
  ticket_number last = 0;
  while (const auto one = rows.next_waiter(name, last)) {
    last = one->ticket;
    if (one->place_ends <= now) continue;
    info.line.push_back({.owner = one->owner,
                         .mode = one->want.mode,
                         .who = rows.client(one->client).who,
                         .age = now - one->since,
                         .lease_left = {},
                         .fence = {},
                         .permits = one->want.permits,
                         .of = one->want.of});
  }
  return info;
}

}  // namespace crosslock::sqlite
