// Renewing: everything that is due, or nearly, in one request to the engine.
#include "keeper/deadline.hpp"
#include "keeper/keeper.hpp"
#include "keeper/renewal_plan.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::inner {

// The mutex is held.
void keeper::plan_renewal(const std::shared_ptr<tenure>& tenure, time_point moment) {
  if (tenure->place_in_renewals == tenure::nowhere) {
    renewals_.push(tenure, moment);
  } else {
    renewals_.move(*tenure, moment);
  }
  wake_renewals_by(moment);
}

void keeper::renew_soon(tenure& tenure) {
  const std::lock_guard guard{mutex_};
  if (tenure.place_in_renewals == tenure::nowhere) return;  // it is being renewed this moment
  const time_point now = clock_.now();
  renewals_.move(tenure, now);
  wake_renewals_by(now);
}

// The mutex is held.
void keeper::wake_renewals_by(time_point moment) {
  if (moment >= renewal_set_for_) return;
  renewal_set_for_ = moment;
  renewal_news_.fetch_add(1);
  clock_.unpark(renewal_news_);
}

void keeper::renew_when_due() {
  std::unique_lock guard{mutex_};
  while (!closing_) {
    const time_point now = clock_.now();
    if (!renewals_.empty() && renewals_.first_moment() <= now) {
      const renewal_batch batch = take_renewals(now);
      guard.unlock();
      renew(batch, now);
      guard.lock();
      continue;
    }
    renewal_set_for_ = renewals_.empty() ? time_point::max() : renewals_.first_moment();
    const time_point until = renewal_set_for_;
    const std::uint32_t seen = renewal_news_.load();
    guard.unlock();
    clock_.park(renewal_news_, seen, until);
    guard.lock();
  }
}

keeper::renewal_batch keeper::take_renewals(time_point now) {
  renewal_batch batch;
  while (!renewals_.empty() && due(renewals_.first_moment(), lease_of(*renewals_.first()), now)) {
    batch.push_back(renewals_.pop());
  }
  return batch;
}

void keeper::renew(const renewal_batch& batch, time_point now) {
  time_point first_deadline = time_point::max();
  batch_.clear();
  {
    const std::lock_guard guard{mutex_};
    for (const auto& tenure : batch) {
      batch_.push_back(renewal_of(*tenure));
      first_deadline = std::min(first_deadline, tenure->deadline());
    }
  }
  try {
    engine_->renew(batch_, renewal_give_up(now, first_deadline, settings_.timeout));
  } catch (const std::exception&) {
    // Items that were not answered say unknown: their deadlines stay where they are.
  }
  const time_point answered = clock_.now();
  for (std::size_t i = 0; i < batch.size(); ++i) settle(batch[i], batch_[i], answered);
}

bool keeper::lease_is_session() const noexcept { return engine_->about().lease_is_session; }

duration keeper::lease_of(const tenure& tenure) const noexcept {
  return lease_is_session() ? tenure.grant.lease : tenure.claim.lease;
}

// The mutex is held.
seam::renewal keeper::renewal_of(const tenure& tenure) {
  seam::renewal item;
  item.held = tenure.grant;
  // A fixed lease ends when it ends; only an offer of one must become the whole of it.
  item.lease = tenure.fixed && !tenure.renew_once ? duration::zero() : tenure.claim.lease;
  item.want_fences = tenure.want_fences.load();
  item.share = tenure.share.load();
  return item;
}

void keeper::renew_now(const std::shared_ptr<tenure>& tenure, time_point give_up) {
  seam::renewal item;
  {
    const std::lock_guard guard{mutex_};
    item = renewal_of(*tenure);
  }
  try {
    engine_->renew({&item, 1}, give_up);
  } catch (const std::exception&) {
    // It says unknown: the renewal thread goes on with it.
  }
  settle(tenure, item, clock_.now());
}

void keeper::settle(const std::shared_ptr<tenure>& tenure, const seam::renewal& renewal,
                    time_point now) {
  using result = seam::renewal::result;
  const bool only_looked = tenure->fixed && lease_is_session();
  if (settings_.observer && !only_looked) {
    settings_.observer->renewed(tenure->claim.name->view(), renewal.held.first,
                                static_cast<observer::renew_result>(renewal.outcome));
  }
  if (renewal.outcome == result::lost) return lose(*tenure, loss_reason::gone);
  // An answer after the deadline changes nothing: a hold that has been invalid for a moment never
  // becomes valid again.
  if (tenure->deadline() <= now) return lose(*tenure, why_now(*tenure, now));
  const bool renewed = renewal.outcome == result::renewed;
  {
    const std::lock_guard guard{mutex_};
    // Released or lost while the request was on its way: nothing to keep.
    if (tenure->now_is.load() != tenure::state::kept) return;
    if (renewed) {
      if (renewal.share) tenure->share.store(false);
      const time_point from = counted_from(renewal.sent, now);
      const time_point valid =
          std::min(valid_until(from, renewal.granted_lease), tenure->fixed_end);
      const auto moved = valid.time_since_epoch().count();
      if (moved > tenure->deadline_ns.load()) {
        tenure->deadline_ns.store(moved, std::memory_order_release);
      }
      tenure->failed_renewals = 0;
      tenure->renew_once = false;
      if (lease_is_session()) {
        plan_renewal(tenure, next_session_look(now, tenure->deadline()));
      } else if (!tenure->fixed) {
        plan_renewal(tenure, next_renewal(renewal.sent, renewal.granted_lease));
      }
    } else if (!tenure->fixed || tenure->renew_once || tenure->share.load() || lease_is_session()) {
      const duration lease = tenure->renew_once ? tenure->grant.lease : lease_of(*tenure);
      plan_renewal(tenure, retry_renewal(now, lease, tenure->failed_renewals++));
    }
  }
  if (!renewed) {
    settings_.say(log_level::warning, "no answer to the renewal of '", tenure->claim.name->view(),
                  "': trying again");
    return;
  }
  if (const auto listener = tenure->listener.lock()) listener->renewed(*tenure, renewal);
}

void keeper::withdraw(const seam::claim& claim) {
  constexpr duration moment = std::chrono::milliseconds{50};
  try {
    engine_->withdraw(claim, clock_.now() + std::min(moment, settings_.timeout));
  } catch (const error&) {
    withdraw_later(claim);
  }
}

time_point keeper::errand_give_up() const noexcept {
  return std::min(clock_.now() + settings_.timeout, closed_by_.load());
}

/// Makes a request in the background again and again, until it is answered or `until`.
template <class Request>
void keeper::insist(duration lease, time_point until, Request request, int failures) {
  requests_.post([this, lease, until, request = std::move(request), failures] {
    if (clock_.now() >= closed_by_.load()) return;
    try {
      request(errand_give_up());
    } catch (const std::exception&) {
      const time_point again = retry_renewal(clock_.now(), lease, failures);
      if (again >= until) return;
      timers_.at(again, [this, lease, until, request, failures] {
        insist(lease, until, request, failures + 1);
      });
    }
  });
}

void keeper::withdraw_later(const seam::claim& claim) {
  // Later than this the server has dropped it by itself: a place in line ends sooner than a lease.
  const time_point until = clock_.now() + claim.lease + lease_margin(claim.lease);
  insist(claim.lease, until, [this, claim](time_point by) { engine_->withdraw(claim, by); });
}

void keeper::release_later(const seam::grant& grant, time_point deadline,
                           std::shared_ptr<std::atomic<bool>> given_back) {
  insist(grant.lease, deadline, [this, grant, given_back](time_point by) {
    engine_->release(grant, by);
    if (given_back) given_back->store(true);
  });
}

}  // namespace crosslock::inner
