// The heart of the local line: who may go in, taking a grant, using it together, passing it on.
// How a head claims is in claiming.cpp and claiming_async.cpp, how a hold ends in leaving.cpp.
#include "local/line.hpp"

#include "local/afterwards.hpp"
#include "local/core.hpp"
#include "local/pass_rule.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::inner {

line::line(core& home, seam::name_ref name, seam::name_ref given_name, bool common)
    : home_{home}, name_{std::move(name)}, given_name_{std::move(given_name)}, common_{common} {}

line::~line() { home_.forget(*this); }

void line::new_claim(waiter& head) {
  const wish& wish = head.wish;
  auto fresh = std::allocate_shared<tenancy>(seam::recycling<tenancy>{});
  fresh->claim = {.name = name_,
                  .owner = home_.keeper().draw_owner(),
                  .mode = wish.want.mode,
                  .permits = wish.want.permits,
                  .of = wish.want.of,
                  .lease = wish.lease,
                  .wait = wish.waits(),
                  .among_readers = wish.among_readers || head.upgrades != nullptr,
                  .upgrade = head.upgrades != nullptr};
  fresh->fixed = wish.fixed;
  fresh->listener = weak_from_this();
  attempt& at = head.attempt;
  at.tenancy = std::move(fresh);
  at.on_server = false;
  at.asking = false;
  at.look_now = false;
  at.revoked_at = time_point::min();
  at.pushed.reset();
}

void line::become_head(waiter& waiter) {
  new_claim(waiter);
  lead(waiter);
}

void line::lead(waiter& waiter) {
  heads_.push_back(waiter);
  waiter.now_is = waiter::state::head;
  waiter.attempt.round = ++rounds_;
  waiter.attempt.began = home_.clock().now();
  if (!waiter.asynchronous()) home_.claim_begins();
  if (waiter.wish.want.mode != claim_mode::exclusive) return;
  // A writer of this process waits from now on: no further reader may join before it.
  for (const auto& grant : grants_) note_wanted(*grant);
}

entry line::way_in(const waiter& one, bool others_before, time_point now) const {
  if (!others_before && heads_.empty() && grants_.empty()) return entry::claim;
  const claim_mode mode = one.wish.want.mode;
  entry_question asked{.mode = mode, .waits = one.wish.waits(), .others_before = others_before};
  asked.shared_grant = joinable(one.wish, now) != nullptr;
  asked.exclusive_grant = std::any_of(grants_.begin(), grants_.end(), [](const auto& grant) {
    return grant->claim.mode == claim_mode::exclusive;
  });
  asked.heads = !heads_.empty();
  const auto any_head = [this](auto question) { return heads_.find(question) != nullptr; };
  const auto head_mode = [](const waiter& head) { return head.wish.want.mode; };
  asked.heads_all_permits =
      !any_head([&](const waiter& head) { return head_mode(head) != claim_mode::permit; });
  asked.heads_exclusive =
      any_head([&](const waiter& head) { return head_mode(head) == claim_mode::exclusive; });
  asked.room = mode != claim_mode::permit || room_for(one.wish.want);
  asked.heads_stand = any_head([](const waiter& head) { return head.attempt.stands; });
  return inner::way_in(asked);
}

bool line::room_for(const seam::wish& want) const {
  std::int64_t claimed = want.permits;
  for (const auto& grant : grants_) claimed += grant->claim.permits;
  int heads = 0;
  heads_.find([&](const waiter& head) {
    claimed += head.wish.want.permits;
    return ++heads == heads_max;
  });
  return heads < heads_max && claimed <= want.of;
}

const std::shared_ptr<tenancy>* line::joinable(const wish& wish, time_point now) const {
  const auto open = [&](const std::shared_ptr<tenancy>& grant) {
    return !grant->wanted && shareable(*grant, wish, now);
  };
  const auto found = std::find_if(grants_.begin(), grants_.end(), open);
  return found == grants_.end() ? nullptr : &*found;
}

bool line::shareable(const tenancy& grant, const wish& wish, time_point now) const {
  if (wish.want.mode != claim_mode::shared || wish.fixed || !common_) return false;
  // The cap on one hold is watched by grant: readers of different age cannot share one then.
  if (home_.settings().max_hold != duration::max()) return false;
  return grant.claim.mode == claim_mode::shared && !grant.fixed && !grant.giving_back &&
         grant.now_is.load() == tenure::state::kept && grant.claim.lease == wish.lease &&
         grant.fence_left() && grant.deadline() - now >= grant.grant.lease / 20;
}

void line::advance(afterwards& after) {
  while (!queue_.empty()) {
    waiter& next = queue_.front();
    const time_point now = home_.clock().now();
    const entry way = way_in(next, false, now);
    if (way == entry::queue) return;
    if (way == entry::join) {
      queue_.remove(next);
      join(next, now);
      notify(next, after);
    } else {
      new_claim(next);  // may throw: then it still queues
      queue_.remove(next);
      lead(next);
      if (next.asynchronous()) {
        after.ask(next.attempt.round);
      } else {
        after.wake(next);
      }
    }
  }
}

void line::notify(waiter& ended, afterwards& after) {
  if (ended.asynchronous()) {
    after.deliver(std::move(ended.self));
  } else {
    after.wake(ended);
  }
}

void line::use(waiter& next, const std::shared_ptr<tenancy>& grant, std::int64_t fence_value,
               time_point now, acquire_cause cause) {
  grant->add_user(*next.section);
  next.section->begin(grant, fence{fence_value}, now);
  next.cause = cause;
  next.now_is = waiter::state::granted;
}

void line::join(waiter& next, time_point now) {
  const std::shared_ptr<tenancy> grant = *joinable(next.wish, now);
  use(next, grant, draw_fence(*grant), now, acquire_cause::joined);
}

bool line::take(waiter& head, const seam::grant& grant, acquire_cause cause, afterwards& after) {
  const std::shared_ptr<tenancy> mine = head.attempt.tenancy;
  mine->grant = grant;
  mine->drawn_fence = grant.first.value();
  mine->last_fence = grant.last.value();
  const time_point now = home_.clock().now();
  mine->wanted = mine->wanted || grant.wanted || !told_of_wanted(mine->claim.mode);
  mine->wanted_since = now;
  const time_point begun = home_.engine().about().lease_is_session ? grant.asked : grant.sent;
  const bool revoked = begun <= head.attempt.revoked_at;
  if (closed_ || revoked || !home_.keeper().keep(mine)) {
    // Too late to be of use to anybody: give it back, and claim anew under another id.
    after.withdraw(mine->claim);
    new_claim(head);
    return false;
  }
  grants_.push_back(mine);
  use(head, mine, grant.first.value(), now, cause);
  let_companions_in(head, mine, now, after);
  finish_head(head, waiter::state::granted, after);
  advance(after);
  return true;
}

// Readers that stood behind the head when its claim went out came before whoever stands behind it
// on the server: they go in with it, also when somebody waits there by now.
void line::let_companions_in(const waiter& head, const std::shared_ptr<tenancy>& grant,
                             time_point now, afterwards& after) {
  while (!queue_.empty() && queue_.front().started <= head.attempt.began &&
         shareable(*grant, queue_.front().wish, now)) {
    waiter& next = queue_.pop_front();
    use(next, grant, draw_fence(*grant), now, acquire_cause::joined);
    notify(next, after);
  }
}

void line::finish_head(waiter& head, waiter::state how, afterwards& after) {
  heads_.remove(head);
  head.now_is = how;
  head.attempt.tenancy.reset();
  if (head.asynchronous()) after.deliver(std::move(head.self));
}

void line::leave(waiter& head, observer::wait_result because, afterwards& after) {
  head.left_because = because;
  if (head.attempt.on_server) after.withdraw(head.attempt.tenancy->claim);
  finish_head(head, waiter::state::left, after);
  advance(after);
}

void line::fail(waiter& head, const error& why, afterwards& after) {
  head.left_because = observer::wait_result::failed;
  head.failure = std::make_exception_ptr(why);
  if (head.attempt.on_server) after.withdraw(head.attempt.tenancy->claim);
  finish_head(head, waiter::state::failed, after);
  advance(after);
}

bool line::may_pass_now(const tenancy& grant, time_point now) const {
  if (queue_.empty() || grant.fixed || closed_) return false;
  if (grant.claim.mode != claim_mode::exclusive) return false;   // the server's line is first
  if (grant.now_is.load() != tenure::state::kept) return false;  // lost this very moment
  const wish& next = queue_.front().wish;
  if (next.want.mode != claim_mode::exclusive) return false;
  return may_pass({.same_lease = !next.fixed && next.lease == grant.claim.lease,
                   .fence_left = grant.fence_left(),
                   .lease_left = grant.deadline() - now,
                   .lease = grant.grant.lease,
                   .wanted = grant.wanted,
                   .passes = grant.passes_while_wanted,
                   .wanted_for = now - grant.wanted_since},
                  home_.settings().pass);
}

void line::pass(const std::shared_ptr<tenancy>& grant, time_point now, afterwards& after) {
  waiter& next = queue_.pop_front();
  if (grant->wanted) {
    ++grant->passes_while_wanted;
  } else if (home_.engine().about().tells_when_asked && !std::exchange(grant->listens, true)) {
    after.listen(grant->claim);
  }
  use(next, grant, draw_fence(*grant), now, acquire_cause::passed);
  home_.keeper().hold_begins(*grant, now);
  notify(next, after);
}

std::int64_t line::draw_fence(tenancy& grant) {
  if (grant.fences_run_low() && home_.engine().about().reserves_fences &&
      !grant.want_fences.exchange(true)) {
    home_.keeper().renew_soon(grant);
  }
  return grant.draw_fence();
}

/// Who is never told must reckon with it always.
bool line::told_of_wanted(claim_mode mode) const {
  const seam::traits& engine = home_.engine().about();
  return engine.tells_wanted || (engine.tells_when_asked && mode == claim_mode::exclusive);
}

void line::note_wanted(tenancy& grant) {
  if (grant.wanted) return;
  grant.wanted = true;
  grant.wanted_since = home_.clock().now();
}

waiter* line::head_of(const owner_id& owner) const {
  return heads_.find(
      [&](const waiter& head) { return head.attempt.tenancy->claim.owner == owner; });
}

std::shared_ptr<tenancy> line::grant_of(const owner_id& owner) const {
  for (const auto& grant : grants_) {
    if (grant->claim.owner == owner) return grant;
  }
  return nullptr;
}

void line::forget_grant(const tenancy& gone) {
  std::erase_if(grants_, [&](const auto& grant) { return grant.get() == &gone; });
}

void line::renewed(tenure& tenure, const seam::renewal& renewal) noexcept {
  const std::lock_guard guard{mutex_};
  const auto grant = grant_of(tenure.claim.owner);
  if (grant.get() != &tenure) return;
  // Two renewals may be on their way, and their answers come in any order: fences only rise.
  if (renewal.more_first.value() > std::max(grant->last_fence, grant->more_first)) {
    grant->more_first = renewal.more_first.value();
    grant->more_last = renewal.more_last.value();
    grant->want_fences.store(false);
  }
  if (renewal.wanted) note_wanted(*grant);
}

bool line::wanted(const owner_id& owner) {
  const std::lock_guard guard{mutex_};
  // It may overtake the answer that brings the grant.
  if (waiter* const head = head_of(owner)) {
    note_wanted(*head->attempt.tenancy);
    return true;
  }
  const auto grant = grant_of(owner);
  if (grant) note_wanted(*grant);
  return grant != nullptr;
}

}  // namespace crosslock::inner
