// Renewing: everything that is due, or nearly, in one request to the engine.
#include "keeper/keeper.hpp"

#include "engine/deadline.hpp"
#include "keeper/renewal_plan.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::inner {
namespace {

/// How long a lease lasts without renewal.
duration lease_of(const lease_record& record) noexcept {
  return record.grant.session ? record.grant.lease : record.claim.lease;
}

}  // namespace

void keeper::plan_renewal(const std::shared_ptr<lease_record>& record, time_point moment) {
  if (record->index_in_renewals == lease_record::nowhere) {
    renewals_.push(record, moment);
  } else {
    renewals_.move(*record, moment);
  }
  wake_renewals_by(moment);
}

void keeper::renew_soon(lease_record& record) {
  const seam::lock_guard guard{mutex_};
  if (record.index_in_renewals == lease_record::nowhere) return;  // it is being renewed this moment
  const time_point now = clock_.now();
  renewals_.move(record, now);
  wake_renewals_by(now);
}

void keeper::wake_renewals_by(time_point moment) {
  if (moment >= renewal_set_for_) return;
  renewal_set_for_ = moment;
  renewal_news_.fetch_add(1);
  clock_.unpark(renewal_news_);
}

void keeper::renew_when_due() {
  seam::park_unless(clock_, renewal_news_, [this] { return renew_due(); });
}

std::optional<time_point> keeper::renew_due() {
  seam::unique_lock guard{mutex_};
  while (!closing_) {
    const time_point now = clock_.now();
    renewal_set_for_ = renewals_.empty() ? time_point::max() : renewals_.first_moment();
    if (renewal_set_for_ > now) return renewal_set_for_;
    const renewal_batch batch = take_renewals(now);
    guard.unlock();
    renew(batch, now);
    guard.lock();
  }
  return std::nullopt;
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
    const seam::lock_guard guard{mutex_};
    for (const auto& record : batch) {
      batch_.push_back(renewal_of(*record));
      first_deadline = std::min(first_deadline, record->deadline());
    }
  }
  try {
    engine_->renew(batch_, renewal_give_up(now, first_deadline, settings_.timeout));
  } catch (const std::exception&) {
    // Items that were not answered say unknown: their deadlines stay where they are.
  }
  const time_point answered = clock_.now();
  for (std::size_t i = 0; i < batch.size(); ++i) apply_renewal(batch[i], batch_[i], answered);
}

seam::renewal keeper::renewal_of(const lease_record& record) const {
  seam::renewal item;
  item.held = record.grant;
  item.held.offer = record.is_offer.load();
  // A fixed lease ends when it ends; only an offer of one must become the whole of it.
  item.lease = record.fixed && !item.held.offer ? duration::zero() : record.claim.lease;
  item.want_fences = record.want_fences.load();
  item.share = record.share.load();
  return item;
}

void keeper::renew_now(const std::shared_ptr<lease_record>& record, time_point give_up) {
  seam::renewal item;
  {
    const seam::lock_guard guard{mutex_};
    item = renewal_of(*record);
  }
  try {
    engine_->renew({&item, 1}, give_up);
  } catch (const std::exception&) {
    // It says unknown: the renewal thread goes on with it.
  }
  apply_renewal(record, item, clock_.now());
}

// No renewal ever shortens a lease on the server: it does not matter which of several that are on
// their way comes last.
void keeper::extend(const std::shared_ptr<lease_record>& record, duration lease,
                    time_point give_up) {
  const time_point sent = clock_.now();
  seam::renewal item;
  {
    const seam::lock_guard guard{mutex_};
    item = renewal_of(*record);
    item.lease = std::max(item.lease, lease);
    // Without an answer the server may keep it for longer than anybody here believes.
    const time_point until = std::max(record->kept_until(sent), give_up + item.lease);
    record->asked_until_ns.store(until.time_since_epoch().count());
  }
  engine_->renew({&item, 1}, give_up);
  apply_renewal(record, item, clock_.now());
  if (item.outcome == seam::renewal::result::unknown) {
    throw error{
        errc::unreachable,
        "the hold of '" + record->claim.name->str() + "' was not extended: no answer",
        {.engine = std::string{engine_->about().name}, .native_code = 0, .outcome_unknown = true}};
  }
  if (record->grant.session && record->fixed) stretch(*record, seam::valid_until(sent, lease));
}

/// Within a session only this client knows of a fixed lease.
void keeper::stretch(lease_record& record, time_point until) {
  const seam::lock_guard guard{mutex_};
  if (record.now_is.load() != lease_record::state::kept) return;
  if (record.own_deadline() <= clock_.now() || until <= record.own_deadline()) return;
  record.deadline_ns.store(until.time_since_epoch().count(), std::memory_order_release);
}

void keeper::apply_renewal(const std::shared_ptr<lease_record>& record,
                           const seam::renewal& renewal, time_point now) {
  using result = seam::renewal::result;
  if (settings_.observer) {
    settings_.observer->renewed(record->claim.name->view(), renewal.held.first,
                                static_cast<observer::renew_result>(renewal.outcome));
  }
  if (renewal.outcome == result::lost) return lose(*record, loss_reason::gone);
  // An answer after the deadline changes nothing: a hold that has been invalid for a moment never
  // becomes valid again.
  if (record->deadline() <= now) return lose(*record, why_now(*record, now));
  const bool renewed = renewal.outcome == result::renewed;
  const bool in_session = record->grant.session != nullptr;
  {
    const seam::lock_guard guard{mutex_};
    // Released or lost while the request was on its way: nothing to keep.
    if (record->now_is.load() != lease_record::state::kept) return;
    if (renewed) {
      if (renewal.share) record->share.store(false);
      const time_point from = seam::counted_from(renewal.sent, now);
      const time_point valid = seam::valid_until(from, renewal.granted_lease);
      if (!in_session && valid > record->own_deadline()) {
        record->deadline_ns.store(valid.time_since_epoch().count(), std::memory_order_release);
      }
      record->failed_renewals = 0;
      record->is_offer.store(false);
      if (!in_session && !record->fixed) {
        plan_renewal(record, next_renewal(renewal.sent, renewal.granted_lease));
      } else if (is_reported(*record)) {
        plan_renewal(record, next_session_report(now, record->deadline()));
      }
    } else if (const bool offer = record->is_offer.load();
               offer || (!in_session && !record->fixed) || record->share.load() ||
               is_reported(*record)) {
      const duration lease = offer ? record->grant.lease : lease_of(*record);
      plan_renewal(record, retry_renewal(now, lease, record->failed_renewals++));
    }
  }
  if (!renewed) {
    settings_.say(log_level::warning, "no answer to the renewal of '", record->claim.name->view(),
                  "': trying again");
    return;
  }
  if (const auto listener = record->listener.lock()) listener->renewed(*record, renewal);
}

void keeper::withdraw(const seam::claim& claim, time_point until) {
  constexpr duration moment = std::chrono::milliseconds{50};
  const time_point now = clock_.now();
  if (until <= now) return withdraw_later(claim);
  try {
    engine_->withdraw(claim, std::min(until, now + std::min(moment, settings_.timeout)));
  } catch (const error&) {
    withdraw_later(claim);
  }
}

time_point keeper::task_give_up() const noexcept {
  return std::min(clock_.now() + settings_.timeout, closed_by_.load());
}

/// Makes a request in the background again and again, until it is answered or `until`.
template <class Request>
void keeper::insist(duration lease, time_point until, Request request, int failures) {
  requests_.post([this, lease, until, request = std::move(request), failures] {
    if (clock_.now() >= closed_by_.load()) return;
    try {
      request(task_give_up());
    } catch (const std::exception&) {
      const time_point again = retry_renewal(clock_.now(), lease, failures);
      if (again >= until) return;
      timers_.at(again, [this, lease, until, request, failures] {
        insist(lease, until, request, failures + 1);
      });
    }
  });
}

void keeper::withdraw_later(const seam::claim& claim, std::function<void()> then) {
  // Later than this the server has dropped it by itself: a place in line ends sooner than a lease.
  const time_point until = clock_.now() + claim.lease + seam::lease_margin(claim.lease);
  const auto next = std::make_shared<std::function<void()>>(std::move(then));
  insist(claim.lease, until, [this, claim, next](time_point by) {
    std::exception_ptr failure;
    try {
      engine_->withdraw(claim, by);
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
    if (const auto once = std::exchange(*next, nullptr)) once();
    if (failure) std::rethrow_exception(failure);
  });
}

void keeper::release_later(const seam::grant& grant, time_point deadline,
                           std::shared_ptr<std::atomic<bool>> given_back) {
  insist(grant.lease, deadline, [this, grant, given_back](time_point by) {
    engine_->release(grant, by);
    if (given_back) given_back->store(true);
  });
}

}  // namespace crosslock::inner
