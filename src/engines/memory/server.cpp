// The verbs. Each first drops what has ended on the name it touches, then does its own work, then
// serves the line; so a holder that died needs no timer here: the next request finds it gone.
// Every verb can be repeated at any later time without harm: it compares the owner id first.
#include "engines/memory/server.hpp"

#include "engine/mutant.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace crosslock::memory {

namespace {

refusal exhausted(const seam::name_ref& name) {
  return {errc::fence_exhausted,
          "the fence of '" + name->str() + "' has reached 2^63 - 1; use another name"};
}

refusal upgrade_conflict(const seam::name_ref& name) {
  return {errc::upgrade_conflict, "another exclusive claim on '" + name->str() +
                                      "' was first; release the shared hold and acquire anew"};
}

}  // namespace

server::outcome server::apply(client_id from, const request& message, server_time now) {
  ++applied_[message.index()];
  outcome result;
  step at{from, now, result.pushes};
  result.answer = std::visit([&](const auto& one) { return carry_out(one, at); }, message);
  return result;
}

reply server::carry_out(const ask_request& message, step& at) {
  const seam::claim& claim = message.claim;
  const seam::wish want = seam::wish_of(claim);
  if (want.permits < 1 || want.permits > want.of) {
    return refusal{errc::conflict, "'" + claim.name->str() + "': cannot give " +
                                       std::to_string(want.permits) + " of " +
                                       std::to_string(want.of) + " permits"};
  }
  name_state& name = find_or_add(claim.name, at.now);
  refresh_place(name, claim, at);
  serve(name, at, claim.owner);
  if (holder* mine = find_holder(name, claim.owner)) {
    if (mine->want != want) {
      return refusal{errc::conflict, "'" + claim.name->str() + "' is held in another mode"};
    }
    extend(*mine, claim.lease, at.now);
    mine->client = at.from;
    return ask_reply{seam::ask_result::granted,
                     {fence{mine->first}, fence{mine->last}, claim.lease, !name.line.empty()},
                     0,
                     {}};
  }
  const auto place = name.places.find(claim.owner);
  const bool stands_in_line = place != name.places.end();
  if (name.fence_top == fence::max_value) {
    if (stands_in_line) leave_line(name, place->second);
    return exhausted(claim.name);
  }
  if (!stands_in_line) return admit_newcomer(name, message, at);
  if (!claim.wait) return ask_reply{};
  return in_line(name, place->second, at.now);
}

void server::refresh_place(name_state& name, const seam::claim& claim, step& at) {
  const auto place = name.places.find(claim.owner);
  if (place == name.places.end()) return;
  waiter& mine = name.line.at(place->second);
  if (mine.place_end <= at.now) {
    leave_line(name, place->second);
  } else if (claim.wait) {
    mine.place_end = later(at.now, seam::offer_lease(mine.lease));
    mine.client = at.from;
    mine.beside = seam::beside(claim);
  }
}

reply server::admit_newcomer(name_state& name, const ask_request& message, step& at) {
  const seam::claim& claim = message.claim;
  const seam::wish want = seam::wish_of(claim);
  if (conflicts(name, claim, at.now)) return upgrade_conflict(claim.name);
  seam::line_so_far before;
  std::optional<std::int32_t> permits_of;
  const auto note = [&](const seam::wish& other) {
    if (other.mode == claim_mode::permit) permits_of = other.of;
  };
  for (const holder& other : name.holders) {
    before.add(other.want);
    note(other.want);
  }
  for (const auto& [ticket, other] : name.line) {
    if (before.closed() && (permits_of || want.mode != claim_mode::permit)) break;
    if (other.place_end <= at.now) continue;
    note(other.want);
    if (!passed_over(other, {})) before.add(other.want);
  }
  if (want.mode == claim_mode::permit && permits_of.value_or(want.of) != want.of) {
    return refusal{errc::conflict, "'" + claim.name->str() + "' is a semaphore of " +
                                       std::to_string(*permits_of) + " permits, not of " +
                                       std::to_string(want.of)};
  }
  if (before.admits(want, shares(name, seam::beside(claim)))) {
    const holder& mine = grant(name,
                               {.owner = claim.owner,
                                .want = want,
                                .lease = claim.lease,
                                .client = at.from,
                                .who = message.who},
                               at.now);
    return ask_reply{seam::ask_result::granted,
                     {fence{mine.first}, fence{mine.last}, claim.lease, !name.line.empty()},
                     0,
                     {}};
  }
  if (!claim.wait) return ask_reply{};
  return enter_line(name, message, at);
}

reply server::enter_line(name_state& name, const ask_request& message, step& at) {
  const seam::claim& claim = message.claim;
  if (name.line.size() >= limits_.line_max) drop_ended_places(name, at.now);
  if (name.line.size() >= limits_.line_max) {
    return refusal{errc::queue_full, "the line of '" + claim.name->str() +
                                         "' has reached its cap of " +
                                         std::to_string(limits_.line_max) + " waiters"};
  }
  // A hybrid like the fence: tickets rise even when a rollback takes the counter back.
  last_ticket_ = std::max<ticket_number>(last_ticket_ + 1, at.now.count());
  name.line.emplace(last_ticket_, waiter{.owner = claim.owner,
                                         .want = seam::wish_of(claim),
                                         .lease = claim.lease,
                                         .place_end = later(at.now, seam::offer_lease(claim.lease)),
                                         .since = at.now,
                                         .client = at.from,
                                         .who = message.who,
                                         .beside = seam::beside(claim)});
  name.places.emplace(claim.owner, last_ticket_);
  if (name.line.size() == 1) {
    for (const holder& other : name.holders) {
      at.pushes.push_back({push::kind::wanted, other.client, name.name, other.owner, 0, {}});
    }
  }
  return in_line(name, last_ticket_, at.now);
}

reply server::carry_out(const withdraw_request& message, step& at) {
  name_state* name = find(message.name->view(), at.now);
  if (name == nullptr) return withdraw_reply{};
  if (message.offer_of == 0) {
    const auto place = name->places.find(message.owner);
    if (place != name->places.end()) leave_line(*name, place->second);
  }
  const holder* mine = find_holder(*name, message.owner);
  if (mine != nullptr && (message.offer_of == 0 || message.offer_of == mine->offer_of)) {
    remove_holder(*name, *mine);
  }
  serve(*name, at);
  return withdraw_reply{};
}

reply server::carry_out(const renew_request& message, step& at) {
  renew_reply result;
  result.outcomes.reserve(message.items.size());
  for (const renew_item& item : message.items) result.outcomes.push_back(renew_one(item, at));
  return result;
}

renew_outcome server::renew_one(const renew_item& item, step& at) {
  const bool creates = seam::mutated(seam::mutant::renew_creates);
  name_state* name = creates ? &find_or_add(item.name, at.now) : find(item.name->view(), at.now);
  if (name == nullptr) return {};
  serve(*name, at);
  holder* mine = find_holder(*name, item.owner);
  if (mine == nullptr && creates) {
    name->holders.assign(1, {.owner = item.owner,
                             .first = item.first.value(),
                             .last = item.last.value(),
                             .since = at.now,
                             .client = at.from});
    mine = &name->holders.front();
  }
  const std::int64_t proof = item.first.value();
  if (mine == nullptr || proof < mine->first || proof > mine->last) return {};
  if (item.share && mine->want.mode == claim_mode::permit) return {};
  extend(*mine, item.lease, at.now);
  renew_outcome result{.renewed = true, .lease = item.lease, .more_first = {}, .more_last = {}};
  if (item.want_fences && name->fence_top < fence::max_value) {
    const auto [first, last] = take_block(*name, at.now);
    mine->last = last;
    result.more_first = fence{first};
    result.more_last = fence{last};
  }
  if (item.share) {
    mine->want = {.mode = claim_mode::shared};
    serve(*name, at);
  }
  result.wanted = !name->line.empty();
  return result;
}

reply server::carry_out(const release_request& message, step& at) {
  name_state* name = find(message.name->view(), at.now);
  if (name == nullptr) return release_reply{};
  release_reply result;
  if (seam::mutated(seam::mutant::release_without_owner) && !name->holders.empty()) {
    name->holders.clear();
    result.answer = seam::release_answer::released;
  }
  const holder* mine = find_holder(*name, message.owner);
  const std::int64_t proof = message.fence.value();
  if (mine != nullptr && proof >= mine->first && proof <= mine->last) {
    remove_holder(*name, *mine);
    result.answer = seam::release_answer::released;
  }
  serve(*name, at);
  return result;
}

reply server::carry_out(const adopt_request& message, step& at) {
  name_state* name = find(message.next.name->view(), at.now);
  if (name == nullptr) return adopt_reply{};
  serve(*name, at);
  const std::int64_t proof = message.fence.value();
  const auto proven = [&](const holder* one) {
    return one != nullptr && one->want.mode == message.next.mode && proof >= one->first &&
           proof <= one->last;
  };
  holder* taken = find_holder(*name, message.detached);
  if (proven(taken)) {
    taken->owner = message.next.owner;
    taken->lease = duration::zero();  // nobody believes in the old owner's lease any more
    taken->who = message.who;
  } else {
    taken = find_holder(*name, message.next.owner);  // a repeated adopt finds its own work
    if (!proven(taken)) return adopt_reply{};
  }
  extend(*taken, message.next.lease, at.now);
  taken->client = at.from;
  return adopt_reply{
      true, {fence{taken->first}, fence{taken->last}, message.next.lease, !name->line.empty()}};
}

reply server::carry_out(const break_request& message, step& at) {
  name_state* name = find(message.name->view(), at.now);
  if (name == nullptr) return break_reply{false};
  const holder* found = find_holder(*name, message.owner);
  const bool broken = found != nullptr;
  if (broken) {
    at.pushes.push_back(
        {push::kind::revoked, found->client, name->name, found->owner, found->offer_of, {}});
    remove_holder(*name, *found);
  }
  serve(*name, at);
  return break_reply{broken};
}

reply server::carry_out(const look_request& message, step& at) {
  name_state* name = find(message.name->view(), at.now);
  if (name == nullptr) return look_reply{{.name = message.name->str(), .holders = {}, .line = {}}};
  serve(*name, at);
  return look_reply{inspect(*name, at.now)};
}

reply server::carry_out(const list_request& message, step& at) {
  list_reply result;
  for (auto it = names_.lower_bound(message.prefix);
       it != names_.end() && it->first.starts_with(message.prefix); ++it) {
    drop_ended(it->second, at.now);
    serve(it->second, at);
    lock_info info = inspect(it->second, at.now);
    if (!info.holders.empty() || !info.line.empty()) result.infos.push_back(std::move(info));
  }
  return result;
}

}  // namespace crosslock::memory
