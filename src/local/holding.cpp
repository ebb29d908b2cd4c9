// Who uses which grant: going in, sharing, passing on. How a hold ends is in leaving.cpp.
#include "local/holding.hpp"

#include "local/claiming.hpp"
#include "local/client_context.hpp"
#include "local/deferred_actions.hpp"
#include "local/entry_rule.hpp"
#include "local/line.hpp"
#include "local/pass_rule.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::inner {

bool holding::exclusive() const noexcept {
  return std::any_of(grants_.begin(), grants_.end(),
                     [](const auto& grant) { return grant->claim.mode == claim_mode::exclusive; });
}

std::int64_t holding::permits() const noexcept {
  std::int64_t sum = 0;
  for (const auto& grant : grants_) sum += grant->claim.permits;
  return sum;
}

bool holding::locked_by(std::uint64_t thread, time_point now) const {
  return std::any_of(
      grants_.begin(), grants_.end(), [&](const auto& grant) CROSSLOCK_REQUIRES(line_mutex) {
        const critical_section* const user = grant->first_user();
        return grant->claim.mode == claim_mode::exclusive && user &&
               user->thread_.load() == thread && user->stands() && now < grant->deadline();
      });
}

bool holding::another_kind(claim_mode wanted) const noexcept {
  return std::any_of(grants_.begin(), grants_.end(), [&](const auto& grant) {
    return inner::another_kind(grant->claim.mode, wanted);
  });
}

std::shared_ptr<local_grant> holding::find(const owner_id& owner) const {
  for (const auto& grant : grants_) {
    if (grant->claim.owner == owner) return grant;
  }
  return nullptr;
}

void holding::forget(const local_grant& gone) {
  std::erase_if(grants_, [&](const auto& grant) { return grant.get() == &gone; });
}

const std::shared_ptr<local_grant>* holding::joinable(const acquire_request& request,
                                                      time_point now) const {
  const auto open = [&](const std::shared_ptr<local_grant>& grant) CROSSLOCK_REQUIRES(line_mutex) {
    return !grant->wanted && shareable(*grant, request, now);
  };
  const auto found = std::find_if(grants_.begin(), grants_.end(), open);
  return found == grants_.end() ? nullptr : &*found;
}

bool holding::shareable(const local_grant& grant, const acquire_request& request,
                        time_point now) const {
  if (request.demand.mode != claim_mode::shared || request.fixed || !line_.common()) return false;
  // The cap on one hold is watched by grant: readers of different age cannot share one then.
  if (home_.settings().max_hold != duration::max()) return false;
  return grant.claim.mode == claim_mode::shared && !grant.fixed && !grant.giving_back &&
         grant.now_is.load() == lease_record::state::kept && grant.claim.lease == request.lease &&
         grant.fence_left() && grant.deadline() - now >= grant.grant.lease / 20;
}

void holding::begin(waiter& claimant, const std::shared_ptr<local_grant>& grant, time_point now) {
  if (!told_of_wanted(grant->claim.mode)) grant->wanted = true;
  grants_.push_back(grant);
  grant->add_user(*claimant.critical_section);
  claimant.critical_section->begin(grant, grant->grant.first, now);
}

void holding::use(waiter& next, const std::shared_ptr<local_grant>& grant, time_point now,
                  acquire_cause cause) {
  grant->add_user(*next.critical_section);
  next.critical_section->begin(grant, fence{draw_fence(*grant)}, now);
  next.cause = cause;
  next.now_is = waiter::state::granted;
}

void holding::join(waiter& next, time_point now) {
  use(next, *joinable(next.request, now), now, acquire_cause::joined);
}

bool holding::may_pass_now(const local_grant& grant, time_point now) const {
  const waiter* const next = claims_.first_in_queue();
  if (!next || grant.fixed || line_.closed()) return false;
  if (grant.claim.mode != claim_mode::exclusive) return false;         // the server's line is first
  if (grant.now_is.load() != lease_record::state::kept) return false;  // lost this very moment
  const acquire_request& wanted = next->request;
  if (wanted.demand.mode != claim_mode::exclusive) return false;
  return may_pass({.same_lease = !wanted.fixed && wanted.lease == grant.claim.lease,
                   .fence_left = grant.fence_left(),
                   .lease_left = grant.deadline() - now,
                   .lease = grant.grant.lease,
                   .wanted = grant.wanted,
                   .passes = grant.passes_while_wanted,
                   .wanted_for = now - grant.wanted_since},
                  home_.settings().pass);
}

void holding::pass(const std::shared_ptr<local_grant>& grant, time_point now,
                   deferred_actions& after) {
  waiter& next = claims_.leave_queue();
  if (grant->wanted) {
    ++grant->passes_while_wanted;
  } else if (home_.about().tells_when_asked && !std::exchange(grant->listens, true)) {
    after.listen(grant->claim);
  }
  use(next, grant, now, acquire_cause::passed);
  claiming::notify(next, after);
}

std::int64_t holding::draw_fence(local_grant& grant) {
  if (grant.fences_run_low() && home_.about().reserves_fences &&
      !grant.want_fences.exchange(true)) {
    home_.keeper().renew_soon(grant);
  }
  return grant.draw_fence();
}

/// Who is never told must reckon with it always.
bool holding::told_of_wanted(claim_mode mode) const {
  const seam::traits& engine = home_.about();
  return engine.tells_wanted || (engine.tells_when_asked && mode == claim_mode::exclusive);
}

void holding::note_wanted(local_grant& grant) {
  if (!std::exchange(grant.others_wait, true)) tell_wanted(grant);
  if (grant.wanted) return;
  grant.wanted = true;
  grant.wanted_since = home_.clock().now();
}

void holding::note_local_writer(const critical_section* upgrades) {
  for (const auto& grant : grants_) {
    tell_wanted(*grant, upgrades);
    if (grant->wanted) continue;
    grant->wanted = true;
    grant->wanted_since = home_.clock().now();
  }
}

void holding::note_local_queue() noexcept {
  for (const auto& grant : grants_) tell_wanted(*grant);
}

// User code that listens runs where it runs at a loss. What is told is a hint: if there is no
// memory or no thread for it, it is left out.
void holding::tell_wanted(const local_grant& grant, const critical_section* but) const noexcept {
  if (!grant.watched) return;  // so nearly always: a queue grows in no more time than before
  grant.for_each_user([&](critical_section& user) CROSSLOCK_REQUIRES(line_mutex) {
    if (!user.wanted_ || &user == but || user.wanted_told_) return;
    try {
      home_.keeper().tell_loss({.signal = *user.wanted_, .told = {}});
      user.wanted_told_ = true;
    } catch (const std::exception&) {
    }
  });
}

/// Once, where the engine has to be asked to tell.
bool holding::asks_for_wanted(local_grant& grant) const {
  const seam::traits& engine = home_.about();
  return engine.tells_when_asked && !engine.tells_wanted && !grant.wanted &&
         grant.claim.mode == claim_mode::exclusive && !std::exchange(grant.listens, true);
}

void holding::hand_on_wanted(const critical_section& elder, critical_section& next) {
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    if (!elder.wanted_ || !next.stands()) return;
    next.wanted_ = elder.wanted_;
    next.wanted_told_ = elder.wanted_told_;
    local_grant& grant = *next.grant_;
    grant.watched = true;
    if (grant.others_wait || claims_.anybody_waits(next)) tell_wanted(grant);
    if (asks_for_wanted(grant)) after.listen(grant.claim);
  }
  after.run();
}

std::stop_token holding::wanted(critical_section& entered, std::stop_source told) {
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    if (entered.wanted_) return entered.wanted_->get_token();
    if (entered.stands()) {
      local_grant& grant = *entered.grant_;
      grant.watched = true;
      entered.wanted_told_ = grant.others_wait || claims_.anybody_waits(entered);
      if (entered.wanted_told_) told.request_stop();  // nobody has its token yet
      if (asks_for_wanted(grant)) after.listen(grant.claim);
    }
    entered.wanted_ = told;
  }
  after.run();
  return told.get_token();
}

void holding::renewed(lease_record& record, const seam::renewal& renewal) noexcept {
  const seam::lock_guard guard{line_.mutex()};
  const auto grant = find(record.claim.owner);
  if (grant.get() != &record) return;
  // Two renewals may be on their way, and their answers come in any order: fences only rise.
  if (renewal.more_first.value() > std::max(grant->last_fence, grant->more_first)) {
    grant->more_first = renewal.more_first.value();
    grant->more_last = renewal.more_last.value();
    grant->want_fences.store(false);
  }
  if (renewal.wanted) note_wanted(*grant);
}

}  // namespace crosslock::inner
