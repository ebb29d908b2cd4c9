// The verbs. Each drops what has ended on the name, does its own work and serves the line: a holder
// that died needs no timer, the next who comes finds it gone. Each can be repeated at any later
// time without harm, because it compares the owner id first.
#include "engines/sqlite/clerk.hpp"

#include "engines/sqlite/schema.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace crosslock::sqlite {

ask_outcome clerk::ask(const seam::claim& claim, const remembered& before) {
  const seam::wish want = seam::wish_of(claim);
  scene at = open(claim.name->view());
  if (want.permits < 1 || want.permits > want.of) {
    refuse(at, errc::conflict,
           "'" + claim.name->str() + "': cannot give " + std::to_string(want.permits) + " of " +
               std::to_string(want.of) + " permits");
  }
  drop_ended(at);
  std::optional<waiter> place = find_place(at, claim.owner, before);
  if (place && place->place_ends <= now_) {
    leave_line(at, place->ticket);
    place.reset();
  } else if (place && claim.wait) {
    place->place_ends = now_ + seam::offer_lease(place->lease);
    place->client = from_;
    place->beside = seam::beside(claim);
    rows_.put_waiter(at.name, *place);
  }
  serve(at, claim.owner);
  if (holder* const mine = find_holder(at, claim.owner)) {
    if (mine->want != want) {
      refuse(at, errc::conflict, "'" + claim.name->str() + "' is held in another mode");
    }
    mine->client = from_;
    extend(at, *mine, claim.lease);
    ask_outcome result{seam::ask_result::granted, *mine, at.waiters() > 0, 0, {}};
    result.mine.lease = claim.lease;
    save(at);
    return result;
  }
  if (at.row.top == fence::max_value) {
    if (place) leave_line(at, place->ticket);
    refuse(at, errc::fence_exhausted,
           "the fence of '" + claim.name->str() + "' has reached 2^63 - 1; use another name");
  }
  ask_outcome result;
  if (!place) {
    result = admit_newcomer(at, claim);
  } else if (claim.wait) {
    result = in_line(at, *place, rows_.waiters_before(at.name, place->ticket, near_places));
  }
  save(at);
  return result;
}

ask_outcome clerk::admit_newcomer(scene& at, const seam::claim& claim) {
  const seam::wish want = seam::wish_of(claim);
  const bool permit = want.mode == claim_mode::permit;
  if (conflicts(at, claim)) {
    refuse(at, errc::upgrade_conflict,
           "another exclusive claim on '" + claim.name->str() +
               "' was first; release the shared hold and acquire anew");
  }
  seam::line_so_far before;
  std::optional<std::int32_t> permits_of;
  const auto note = [&](const seam::wish& other) {
    before.add(other);
    if (other.mode == claim_mode::permit) permits_of = other.of;
  };
  if (at.row.alone) note(at.row.alone->want);
  for (const holder& other : at.sharers) note(other.want);
  ticket_number last = 0;
  while (at.waiters() > 0 && (!before.closed() || (permit && !permits_of))) {
    const auto other = rows_.next_waiter(at.name, last);
    if (!other) break;
    last = other->ticket;
    if (other->place_ends > now_) note(other->want);
  }
  if (permit && permits_of.value_or(want.of) != want.of) {
    refuse(at, errc::conflict,
           "'" + claim.name->str() + "' is a semaphore of " + std::to_string(*permits_of) +
               " permits, not of " + std::to_string(want.of));
  }
  if (before.admits(want, shares(at, seam::beside(claim)))) {
    const holder& mine =
        grant(at, {.owner = claim.owner, .want = want, .lease = claim.lease, .client = from_});
    return {seam::ask_result::granted, mine, at.waiters() > 0, 0, {}};
  }
  return claim.wait ? enter_line(at, claim) : ask_outcome{};
}

ask_outcome clerk::enter_line(scene& at, const seam::claim& claim) {
  if (at.waiters() >= line_max) drop_ended_places(at);
  if (at.waiters() >= line_max) {
    refuse(at, errc::queue_full,
           "the line of '" + claim.name->str() + "' has reached its cap of " +
               std::to_string(line_max) + " waiters");
  }
  const ticket_number last = at.row.crowd > 0 ? rows_.last_ticket(at.name) : 0;
  const waiter mine{.owner = claim.owner,
                    .want = seam::wish_of(claim),
                    .lease = claim.lease,
                    .place_ends = now_ + seam::offer_lease(claim.lease),
                    .since = now_,
                    .client = from_,
                    .ticket = std::max(last + 1, now_.time_since_epoch().count()),
                    .beside = seam::beside(claim)};
  const std::int64_t before = at.waiters();
  if (before == 0) {
    if (at.row.alone) tell(at, at.row.alone->client);
    for (const holder& other : at.sharers) tell(at, other.client);
  }
  rows_.put_waiter(at.name, mine);
  ++at.row.crowd;
  at.changed = true;
  return in_line(at, mine, before);
}

void clerk::withdraw(const lock_name& name, const owner_id& owner, ticket_number ticket) {
  scene at = open(name.view());
  if (const auto place = find_place(at, owner, {true, ticket})) leave_line(at, place->ticket);
  if (const holder* const mine = find_holder(at, owner)) remove_holder(at, *mine);
  drop_expired(at);
  serve(at);
  save(at);
}

void clerk::renew(seam::renewal& item) {
  const seam::grant& held = item.held;
  const std::int64_t proof = held.first.value();
  item.outcome = seam::renewal::result::lost;
  if (!item.want_fences && !item.detach && !item.share) {
    if (rows_.renew_alone(held.name->view(), held.owner, proof, item.lease, now_)) {
      item.outcome = seam::renewal::result::renewed;
      item.granted_lease = item.lease;
      return;
    }
  }
  scene at = open(held.name->view());
  holder* const mine = find_holder(at, held.owner, proof);
  const bool lost = mine == nullptr || mine->ends <= now_ ||
                    (item.share && mine->want.mode == claim_mode::permit);
  if (!lost) {
    if (item.detach) mine->client = without_process(mine->client);
    if (item.want_fences && at.row.top < fence::max_value) {
      const auto [first, last] = take_block(at);
      mine->last = last;
      item.more_first = fence{first};
      item.more_last = fence{last};
    }
    extend(at, *mine, item.lease);
    if (item.share && mine->want.mode == claim_mode::exclusive) {
      share(at, *mine);
      drop_expired(at);
      serve(at);
    }
    item.outcome = seam::renewal::result::renewed;
    item.granted_lease = item.lease;
    item.wanted = at.waiters() > 0;
  }
  save(at);
}

seam::release_answer clerk::release(const seam::grant& grant, bool& left_alone) {
  scene at = open(grant.name->view());
  const holder* const mine = find_holder(at, grant.owner, grant.first.value());
  const bool ours = mine != nullptr && mine->ends > now_;
  if (ours) remove_holder(at, *mine);
  drop_expired(at);
  serve(at);
  save(at);
  left_alone = !at.row.alone && at.row.crowd == 0;
  return ours ? seam::release_answer::released : seam::release_answer::not_owner;
}

std::optional<holder> clerk::adopt(const seam::grant& detached, const seam::claim& next,
                                   bool& wanted) {
  scene at = open(next.name->view());
  drop_ended(at);
  serve(at);
  const std::int64_t proof = detached.first.value();
  // A receipt never makes more of a grant than it is.
  const auto fits = [&next](const holder* one) {
    return one != nullptr && one->want.mode == next.mode;
  };
  holder* taken = find_holder(at, detached.owner, proof);
  if (fits(taken)) {
    taken->owner = next.owner;
    taken->lease = duration::zero();  // nobody believes in the old owner's lease any more
  } else {
    taken = find_holder(at, next.owner, proof);  // a repeated adopt finds its own work
  }
  std::optional<holder> result;
  if (fits(taken)) {
    taken->client = from_;
    extend(at, *taken, next.lease);
    result = *taken;
    result->lease = next.lease;
    wanted = at.waiters() > 0;
  }
  save(at);
  return result;
}

bool clerk::break_lock(const lock_name& name, const owner_id& owner) {
  scene at = open(name.view());
  drop_ended(at);
  const holder* const found = find_holder(at, owner);
  const bool broken = found != nullptr;
  if (broken) {
    tell(at, found->client);
    remove_holder(at, *found);
  }
  serve(at);
  save(at);
  return broken;
}

// Others still see who took it.
client_number clerk::without_process(client_number client) {
  const ledger::person& known = rows_.client(client);
  if (known.who.empty()) return nobody;
  const bool unbound = known.process == process_id{};
  return unbound ? client : sqlite::add_client(rows_.base(), {}, known.who, now_);
}

client_number clerk::add_client(std::string_view who, std::int64_t pid) {
  return sqlite::add_client(rows_.base(), process_of(pid, self_), who, now_);
}

void clerk::remove_client(std::int64_t pid) {
  sqlite::remove_client(rows_.base(), process_of(pid, self_), from_);
}

}  // namespace crosslock::sqlite
