// The ticket rule of the client side. Pushes and answers come on different threads in any order:
// a grant may overtake the answer that names its ticket, and must not be given back for that.
#include "line_rules/waiting_room.hpp"

#include <algorithm>

namespace crosslock::seam {

waiting_room::verdict waiting_room::judge(const pushed_grant& grant, time_point now) {
  const seam::lock_guard guard{mutex_};
  if (was_taken(grant.owner, grant.ticket)) return {worth::nothing, {}};
  const auto it = stays_.find(grant.owner);
  if (it == stays_.end()) return {worth::unknown, {}};
  stay& mine = it->second;
  if (grant.ticket < mine.ticket) return {worth::nothing, {}};
  if (grant.ticket == mine.ticket) {
    const time_point sent = mine.sent;
    take(grant.owner, grant.ticket, sent + grant.lease, now);
    mine.ticket = 0;
    drop_if_unused(grant.owner);
    return {worth::counts, sent};
  }
  if (mine.asks == 0) return {worth::news, {}};
  if (!mine.early || mine.early->ticket < grant.ticket) mine.early = grant;
  return {worth::too_soon, {}};
}

void waiting_room::asking(const name_ref& name, const owner_id& owner) {
  const seam::lock_guard guard{mutex_};
  stay& mine = stays_[owner];
  mine.name = name;
  ++mine.asks;
  mine.over = false;
}

std::optional<pushed_grant> waiting_room::in_line(const owner_id& owner, ticket_number ticket,
                                                  time_point sent, time_point now) {
  const seam::lock_guard guard{mutex_};
  stay& mine = come_back(owner);
  std::optional<pushed_grant> confirmed;
  if (mine.early && mine.early->ticket == ticket) {
    confirmed.swap(mine.early);
    take(owner, ticket, sent + confirmed->lease, now);
    mine.ticket = 0;
  } else if (ticket >= mine.ticket && !mine.over && !was_taken(owner, ticket)) {
    mine.sent = ticket == mine.ticket ? std::max(mine.sent, sent) : sent;
    mine.ticket = ticket;
  }
  drop_if_unused(owner);
  return confirmed;
}

void waiting_room::not_in_line(const owner_id& owner) {
  const seam::lock_guard guard{mutex_};
  stay& mine = come_back(owner);
  mine.ticket = 0;
  mine.early.reset();
  drop_if_unused(owner);
}

void waiting_room::unanswered(const owner_id& owner) {
  const seam::lock_guard guard{mutex_};
  come_back(owner);
  drop_if_unused(owner);
}

void waiting_room::forget(const owner_id& owner) {
  const seam::lock_guard guard{mutex_};
  taken_.erase(owner);
  const auto it = stays_.find(owner);
  if (it == stays_.end()) return;
  it->second.ticket = 0;
  it->second.early.reset();
  it->second.over = true;
  drop_if_unused(owner);
}

void waiting_room::clear() {
  const seam::lock_guard guard{mutex_};
  stays_.clear();
  taken_.clear();
}

std::vector<pushed_grant> waiting_room::waiting() const {
  std::vector<pushed_grant> found;
  const seam::lock_guard guard{mutex_};
  for (const auto& [owner, one] : stays_) {
    if (one.name) found.push_back({.name = one.name, .owner = owner, .ticket = one.ticket});
  }
  return found;
}

std::size_t waiting_room::size() const {
  const seam::lock_guard guard{mutex_};
  return stays_.size();
}

std::size_t waiting_room::remembered() const {
  const seam::lock_guard guard{mutex_};
  return taken_.size();
}

bool waiting_room::was_taken(const owner_id& owner, ticket_number ticket) const {
  const auto it = taken_.find(owner);
  return it != taken_.end() && it->second.ticket == ticket;
}

void waiting_room::take(const owner_id& owner, ticket_number ticket, time_point until,
                        time_point now) {
  // Release forgets most of them; what is held for longer is swept when there are twice as many.
  if (taken_.size() >= sweep_at_) {
    std::erase_if(taken_, [now](const auto& entry) { return entry.second.until <= now; });
    sweep_at_ = 64 + 2 * taken_.size();
  }
  taken_.insert_or_assign(owner, taken{ticket, until});
}

waiting_room::stay& waiting_room::come_back(const owner_id& owner) {
  stay& mine = stays_[owner];
  if (mine.asks > 0) --mine.asks;
  return mine;
}

void waiting_room::drop_if_unused(const owner_id& owner) {
  const auto it = stays_.find(owner);
  if (it == stays_.end() || it->second.asks > 0) return;
  it->second.early.reset();
  if (it->second.ticket == 0) stays_.erase(it);
}

}  // namespace crosslock::seam
