// The verbs.
#include "line_rules/line_server.hpp"

#include "engine/mutant.hpp"
#include "line_rules/line_walk.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace crosslock::seam {
namespace {

/// A holder is looked at by newcomers only after so long.
constexpr duration left_alone_for = std::chrono::milliseconds{50};

bool may_renew_alone(const renew_item& item) noexcept {
  return !item.want_fences && !item.detach && !item.share && item.lease > duration::zero();
}

renew_outcome renewed_alone(const renew_item& item) {
  return {.renewed = true, .lease = item.lease, .more_first = {}, .more_last = {}};
}

}  // namespace

std::string_view to_string(news::kind what) noexcept {
  switch (what) {
    case news::kind::granted:
      return "granted";
    case news::kind::look_again:
      return "look_again";
    case news::kind::wanted:
      return "wanted";
    case news::kind::revoked:
      return "revoked";
    case news::kind::cell_changed:
      return "cell_changed";
  }
  return "unknown";
}

std::variant<ask_answer, refusal> line_server::ask(const claim& claim, const remembered& before) {
  const demand wanted = demand_of(claim);
  if (wanted.permits < 1 || wanted.permits > wanted.of) {
    return too_many_permits(claim.name->view(), wanted.permits, wanted.of);
  }
  const seeker whose{claim.owner, before};
  name_state& at = *rows_.open(claim.name, true, &whose);
  auto result = answer(at, claim);
  rows_.save(at);
  return result;
}

std::variant<ask_answer, refusal> line_server::answer(name_state& at, const claim& claim) {
  drop_ended(at, left_alone_for);
  refresh_place(at, claim);
  serve(at, claim.owner);
  if (holder* const mine = at.holder_of(claim.owner)) {
    if (mine->demand != demand_of(claim)) return another_mode(claim.name->view());
    extend(*mine, claim.lease);
    mine->client = from_;
    return granted(at, *mine, claim.lease);
  }
  const waiter* const place = at.waiter_of(claim.owner);
  if (at.top == fence::max_value) {
    if (place != nullptr) at.leave(at.line.find(place->ticket));
    return fence_exhausted(claim.name->view());
  }
  if (place == nullptr) return admit_newcomer(at, claim);
  return claim.wait ? in_line(at, *place) : ask_answer{};
}

void line_server::refresh_place(name_state& at, const claim& claim) {
  waiter* const place = at.waiter_of(claim.owner);
  if (place == nullptr) return;
  if (place->place_ends <= rows_.now()) {
    at.leave(at.line.find(place->ticket));
  } else if (claim.wait) {
    place->place_ends = later(offer_lease(place->lease));
    place->client = from_;
    place->beside = beside(claim);
  }
}

ask_answer line_server::granted(name_state& at, const holder& mine, duration lease) {
  return {.result = ask_result::granted,
          .granted = {fence{mine.first}, fence{mine.last}, lease, anyone_waits(at)},
          .ticket = 0,
          .look_after = {},
          .near = false};
}

std::variant<ask_answer, refusal> line_server::admit_newcomer(name_state& at, const claim& claim) {
  const demand wanted = demand_of(claim);
  const bool permit = wanted.mode == claim_mode::permit;
  if (conflicts(at, claim)) return upgrade_conflict(claim.name->view());
  line_so_far before;
  std::optional<std::int32_t> permits_of;
  bool locked = false;
  const auto note = [&](const demand& other) {
    if (other.mode == claim_mode::permit) {
      permits_of = other.of;
    } else {
      locked = true;
    }
  };
  const auto other_kind = [&] { return permit ? locked : permits_of.has_value(); };
  for (const holder& other : at.holders) {
    before.add(other.demand);
    note(other.demand);
  }
  walk line{rows_, at};
  while (!before.closed() && !other_kind()) {
    const waiter* const other = line.next();
    if (other == nullptr) break;
    if (!stands(*other)) continue;
    note(other->demand);
    if (rows_.hears(other->client)) before.add(other->demand);
  }
  if (other_kind()) return another_kind(claim.name->view(), !permit);
  if (permit && permits_of.value_or(wanted.of) != wanted.of) {
    return semaphore_of(claim.name->view(), std::to_string(*permits_of), std::to_string(wanted.of));
  }
  if (before.admits(wanted, at.is_shared_by(beside(claim)))) {
    const holder& mine = grant(at, {.owner = claim.owner,
                                    .demand = wanted,
                                    .lease = claim.lease,
                                    .client = from_,
                                    .who = who_});
    return granted(at, mine, claim.lease);
  }
  if (!claim.wait) return ask_answer{};
  return enter_line(at, claim);
}

std::variant<ask_answer, refusal> line_server::enter_line(name_state& at, const claim& claim) {
  if (at.waiting() >= longest_line_) drop_ended_places(at);
  if (at.waiting() >= longest_line_) {
    return queue_full(claim.name->view(), std::to_string(longest_line_));
  }
  if (!anyone_waits(at)) {
    for (const holder& other : at.holders) {
      news_.push_back({news::kind::wanted, other.client, at.name, other.owner, 0, {}});
    }
  }
  return in_line(at, at.enter({.owner = claim.owner,
                               .demand = demand_of(claim),
                               .lease = claim.lease,
                               .place_ends = later(offer_lease(claim.lease)),
                               .since = rows_.now(),
                               .client = from_,
                               .who = who_,
                               .ticket = rows_.next_ticket(at),
                               .beside = beside(claim)}));
}

void line_server::withdraw(const name_ref& name, const owner_id& owner, const remembered& before,
                           ticket_number offer_of) {
  const seeker whose{owner, before};
  name_state* const at = rows_.open(name, false, &whose);
  if (at == nullptr) return;
  drop_expired(*at);
  const waiter* const place = at->waiter_of(owner);
  if (place != nullptr && offer_of == 0) at->leave(at->line.find(place->ticket));
  const holder* const mine = at->holder_of(owner);
  if (mine != nullptr && (offer_of == 0 || offer_of == mine->offer_of)) at->remove(*mine);
  serve(*at);
  rows_.save(*at);
}

std::vector<renew_outcome> line_server::renew(std::span<const renew_item> items) {
  std::vector<const renew_item*> plain;
  for (const renew_item& each : items) {
    if (may_renew_alone(each)) plain.push_back(&each);
  }
  const std::vector<bool> done = rows_.renew_each_alone(plain);
  std::vector<renew_outcome> outcomes;
  outcomes.reserve(items.size());
  std::size_t next = 0;
  for (const renew_item& each : items) {
    const bool alone = next < plain.size() && plain[next] == &each && done[next++];
    outcomes.push_back(alone ? renewed_alone(each) : renew_among_others(each));
  }
  return outcomes;
}

renew_outcome line_server::renew(const renew_item& item) {
  if (may_renew_alone(item) && rows_.renew_alone(item)) return renewed_alone(item);
  return renew_among_others(item);
}

renew_outcome line_server::renew_among_others(const renew_item& item) {
  const bool creates = mutated(mutant::renew_creates);
  name_state* const at = rows_.open(item.name, creates, nullptr);
  if (at == nullptr) return {};
  drop_expired(*at);
  serve(*at);
  if (creates && at->holder_of(item.owner) == nullptr) {
    at->holders.assign(1, {.owner = item.owner,
                           .first = item.first.value(),
                           .last = item.last.value(),
                           .since = rows_.now(),
                           .client = from_});
  }
  const renew_outcome result = renew(*at, item);
  rows_.save(*at);
  return result;
}

renew_outcome line_server::renew(name_state& at, const renew_item& item) {
  holder* const mine = at.holder_of(item.owner, item.first.value());
  if (mine == nullptr) return {};
  if (item.share && mine->demand.mode == claim_mode::permit) return {};
  renew_outcome result{.renewed = true, .lease = item.lease, .more_first = {}, .more_last = {}};
  extend(*mine, item.lease);
  if (item.detach) mine->client = rows_.without_process(mine->client);
  if (item.want_fences && at.top < fence::max_value) {
    const auto [first, last] = take_block(at);
    mine->last = last;
    result.more_first = fence{first};
    result.more_last = fence{last};
  }
  if (item.share) {
    mine->demand = {.mode = claim_mode::shared};
    serve(at);
  }
  result.wanted = anyone_waits(at);
  return result;
}

release_outcome line_server::release(const name_ref& name, const owner_id& owner, fence proof) {
  name_state* const at = rows_.open(name, false, nullptr);
  if (at == nullptr) return {};
  release_outcome result;
  drop_expired(*at);
  if (mutated(mutant::release_without_owner) && !at->holders.empty()) {
    at->holders.clear();
    result.answer = release_answer::released;
  }
  if (const holder* const mine = at->holder_of(owner, proof.value())) {
    at->remove(*mine);
    result.answer = release_answer::released;
  }
  serve(*at);
  result.left_alone = at->idle();
  rows_.save(*at);
  return result;
}

std::optional<given> line_server::adopt(const owner_id& detached, fence proof, const claim& next) {
  name_state* const at = rows_.open(next.name, false, nullptr);
  if (at == nullptr) return std::nullopt;
  drop_ended(*at, left_alone_for);
  serve(*at);
  auto result = adopt(*at, detached, proof, next);
  rows_.save(*at);
  return result;
}

std::optional<given> line_server::adopt(name_state& at, const owner_id& detached, fence proof,
                                        const claim& next) {
  // A receipt never makes more of a grant than it is.
  const auto fits = [&](const holder* one) {
    return one != nullptr && one->demand.mode == next.mode;
  };
  holder* taken = at.holder_of(detached, proof.value());
  if (fits(taken)) {
    taken->owner = next.owner;
    taken->lease = duration::zero();  // nobody believes in the old owner's lease any more
    taken->who = who_;
  } else {
    taken = at.holder_of(next.owner, proof.value());  // a repeated adopt finds its own work
    if (!fits(taken)) return std::nullopt;
  }
  extend(*taken, next.lease);
  taken->client = from_;
  return given{fence{taken->first}, fence{taken->last}, next.lease, anyone_waits(at)};
}

bool line_server::break_lock(const name_ref& name, const owner_id& owner) {
  name_state* const at = rows_.open(name, false, nullptr);
  if (at == nullptr) return false;
  drop_ended(*at, left_alone_for);
  serve(*at);  // a look shows whoever that lets in: then it can be broken, too
  const holder* const found = at->holder_of(owner);
  const bool broken = found != nullptr;
  if (broken) {
    news_.push_back({news::kind::revoked, found->client, name, owner, found->offer_of, {}});
    at->remove(*found);
  }
  serve(*at);
  rows_.save(*at);
  return broken;
}

lock_info line_server::look(std::string_view name) {
  auto seen = rows_.copy(name);
  return seen ? look(*seen, name) : lock_info{.name = std::string{name}, .holders = {}, .line = {}};
}

lock_info line_server::look(name_state& seen, std::string_view name) {
  const std::size_t told = news_.size();
  drop_ended(seen, duration::zero());
  serve(seen);
  news_.resize(told);  // nobody was served
  return inspect(seen, name);
}

std::vector<lock_info> line_server::list(std::string_view prefix) {
  std::vector<lock_info> infos;
  for (auto& [name, seen] : rows_.copies_from(prefix)) {
    lock_info info = look(seen, name);
    if (!info.holders.empty() || !info.line.empty()) infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace crosslock::seam
