// Watching: what is kept, since when, and when its deadline comes. Renewing is in renewals.cpp.
//
// Deadlines move with every renewal, but the heap of alarms is only corrected when an alarm comes
// due: a renewed lock costs the clock thread nothing until then.
#include "keeper/keeper.hpp"

#include "engine/backoff.hpp"
#include "keeper/deadline.hpp"
#include "keeper/renewal_plan.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crosslock::inner {
namespace {

constexpr duration corrected_ahead = std::chrono::milliseconds{20};

}  // namespace

keeper::keeper(std::unique_ptr<seam::engine> engine, seam::clock& clock, const settings& settings)
    : engine_{std::move(engine)},
      clock_{clock},
      settings_{settings},
      fork_generation_{seam::fork_generation()},
      random_{clock},
      requests_{clock, "crosslock-later"},
      timers_{clock, "crosslock-timer"},
      crew_{clock} {}

keeper::~keeper() { close(clock_.now()); }

bool keeper::keep(const std::shared_ptr<tenure>& tenure) {
  const time_point now = clock_.now();
  const seam::grant& grant = tenure->grant;
  const time_point from = counted_from(grant.sent, now);
  if (tenure->fixed && lease_is_session()) {
    tenure->fixed_end = valid_until(grant.asked, tenure->claim.lease);
  }
  const time_point deadline = std::min(valid_until(from, grant.lease), tenure->fixed_end);
  if (deadline - notice_lead(grant.lease) <= now) return false;
  const std::lock_guard guard{mutex_};
  if (closing_) return false;
  start_threads();
  tenure->deadline_ns.store(deadline.time_since_epoch().count(), std::memory_order_release);
  tenure->now_is.store(tenure::state::kept);
  hold_begins(*tenure, now);
  const time_point tell = tell_at(*tenure);
  alarms_.push(tenure, tell);
  if (tell < alarm_set_for_) {
    alarm_set_for_ = tell;
    alarm_->ring();
  }
  tenure->renew_once = grant.offer;
  if (grant.offer) {
    // A hold that is over soon needs no renewal at all: a handover then costs one request less.
    plan_renewal(tenure, tenure->fixed ? now : take_up_offer(now, deadline));
  } else if (lease_is_session()) {
    plan_renewal(tenure, next_session_look(now, deadline));
  } else if (!tenure->fixed) {
    plan_renewal(tenure, next_renewal(grant.sent, grant.lease));
  }
  return true;
}

bool keeper::end(tenure& tenure) noexcept {
  auto expected = tenure::state::kept;
  const bool was_kept = tenure.now_is.compare_exchange_strong(expected, tenure::state::ended);
  const std::lock_guard guard{mutex_};
  alarms_.remove(tenure);
  renewals_.remove(tenure);
  return was_kept;
}

void keeper::lose(tenure& tenure, loss_reason reason) noexcept {
  auto expected = tenure::state::kept;
  if (!tenure.now_is.compare_exchange_strong(expected, tenure::state::lost)) return;
  {
    const std::lock_guard guard{mutex_};
    alarms_.remove(tenure);
    renewals_.remove(tenure);
  }
  if (const auto listener = tenure.listener.lock()) listener->lost(tenure, reason);
}

void keeper::hold_begins(tenure& tenure, time_point now) noexcept {
  tenure.held_since_ns.store(now.time_since_epoch().count(), std::memory_order_release);
}

void keeper::tell_loss(std::function<void()> notice) {
  crew_.tell(std::move(notice));
  // The clock thread looks after the crew: let it plan that.
  const std::lock_guard guard{mutex_};
  if (alarm_) alarm_->ring();
}

// The mutex is held. Throws when there are no threads left; the next grant then tries again.
void keeper::start_threads() {
  if (!alarm_) alarm_ = clock_.make_alarm();
  if (!clock_thread_) {
    clock_thread_ = clock_.start("crosslock-clock", [this] { watch_deadlines(); });
  }
  if (!renewal_thread_) {
    renewal_thread_ = clock_.start("crosslock-renew", [this] { renew_when_due(); });
  }
}

bool keeper::on_own_thread() const {
  if (requests_.is_current() || timers_.is_current() || engine_->on_own_thread()) return true;
  const std::lock_guard guard{mutex_};
  return (clock_thread_ && clock_thread_->is_current()) ||
         (renewal_thread_ && renewal_thread_->is_current());
}

duration keeper::retry_pause(int failures) {
  return pause(settings_.retry, static_cast<std::uint64_t>(failures));
}

duration keeper::pause(const retry_options& how, std::uint64_t tries) {
  return seam::retry_delay(how, tries, random_.draw_bits());
}

time_point keeper::tell_at(const tenure& tenure) const noexcept {
  const time_point by_lease = tenure.deadline() - notice_lead(tenure.grant.lease);
  if (settings_.max_hold == duration::max()) return by_lease;
  const time_point since{duration{tenure.held_since_ns.load(std::memory_order_acquire)}};
  return std::min(by_lease, since + settings_.max_hold);
}

loss_reason keeper::why_now(const tenure& tenure, time_point now) const noexcept {
  if (tenure.deadline() - notice_lead(tenure.grant.lease) > now) return loss_reason::max_hold;
  if (lease_is_session() && tenure.deadline() != tenure.fixed_end) return loss_reason::expired;
  return tenure.fixed ? loss_reason::lease_ended : loss_reason::expired;
}

std::vector<keeper::due_loss> keeper::take_due(time_point now) {
  std::vector<due_loss> due;
  if (seam::mutated(seam::mutant::loss_told_by_io_thread)) return due;
  const std::lock_guard guard{mutex_};
  // Awake anyway, it corrects what would wake it soon: locks that are renewed together were not all
  // taken at the same moment.
  while (!alarms_.empty() && alarms_.first_moment() <= now + corrected_ahead) {
    const time_point tell = tell_at(*alarms_.first());
    if (tell <= now) {
      const loss_reason reason = why_now(*alarms_.first(), now);
      due.push_back({alarms_.pop(), reason});
    } else if (tell != alarms_.first_moment()) {
      alarms_.move(*alarms_.first(), tell);
    } else {
      break;  // it really comes soon
    }
  }
  return due;
}

time_point keeper::next_alarm() {
  const time_point crew_needs = crew_.grow_if_stuck();
  const std::lock_guard guard{mutex_};
  const bool none = alarms_.empty() || seam::mutated(seam::mutant::loss_told_by_io_thread);
  const time_point first = none ? time_point::max() : alarms_.first_moment();
  alarm_set_for_ = std::min(first, crew_needs);
  return alarm_set_for_;
}

void keeper::watch_deadlines() {
  for (;;) {
    const time_point now = clock_.now();
    for (const due_loss& due : take_due(now)) lose(*due.tenure, due.reason);
    const time_point next = next_alarm();
    {
      const std::lock_guard guard{mutex_};
      if (closing_) return;
    }
    alarm_->wait_until(next);
  }
}

void keeper::close(time_point by) noexcept {
  closed_by_.store(by);
  std::unique_ptr<seam::thread> clock_thread;
  std::unique_ptr<seam::thread> renewal_thread;
  {
    const std::lock_guard guard{mutex_};
    closing_ = true;
    clock_thread = std::move(clock_thread_);
    renewal_thread = std::move(renewal_thread_);
    if (alarm_) alarm_->ring();
    renewal_news_.fetch_add(1);
  }
  clock_.unpark(renewal_news_);
  if (clock_thread) clock_thread->join();
  if (renewal_thread) renewal_thread->join();
  timers_.close();
  requests_.close();
  crew_.close();
  if (!std::exchange(disconnected_, true)) engine_->close();
}

}  // namespace crosslock::inner
