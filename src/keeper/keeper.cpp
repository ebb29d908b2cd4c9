// Watching: what is kept, since when, and when its deadline comes. Renewing is in renewals.cpp.
//
// Deadlines move with every renewal, but the heap of alarms is only corrected when an alarm comes
// due: a renewed lock costs the clock thread nothing until then. What is held within a session has
// that one's deadline, and an alarm of its own only for a fixed lease or max_hold.
#include "keeper/keeper.hpp"

#include "engine/backoff.hpp"
#include "engine/deadline.hpp"
#include "keeper/renewal_plan.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

namespace crosslock::inner {
namespace {

constexpr duration corrected_ahead = std::chrono::milliseconds{20};

/// Its own deadline: within a session there is none, unless its lease is fixed.
time_point own_deadline_of(const lease_record& granted, time_point now) noexcept {
  const seam::grant& grant = granted.grant;
  if (!grant.session) return seam::valid_until(seam::counted_from(grant.sent, now), grant.lease);
  if (!granted.fixed) return time_point::max();
  return seam::valid_until(grant.asked, granted.claim.lease);
}

}  // namespace

keeper::keeper(std::unique_ptr<seam::engine> engine, seam::clock& clock, const settings& settings)
    : engine_{std::move(engine)},
      clock_{clock},
      settings_{settings},
      fork_generation_{seam::fork_generation()},
      random_{clock},
      requests_{clock, "crosslock-later"},
      timers_{clock, "crosslock-timer"},
      loss_notifier_{clock} {}

keeper::~keeper() { close(clock_.now()); }

bool keeper::keep(const std::shared_ptr<lease_record>& record) {
  const time_point now = clock_.now();
  const seam::grant& grant = record->grant;
  assert(engine_->about().lease_is_session == (grant.session != nullptr));
  const time_point deadline = own_deadline_of(*record, now);
  record->deadline_ns.store(deadline.time_since_epoch().count(), std::memory_order_release);
  if (record->deadline() - seam::notice_lead(grant.lease) <= now) return false;
  const seam::lock_guard guard{mutex_};
  if (closing_ || (grant.session && grant.session->ended())) return false;
  start_threads();
  record->now_is.store(lease_record::state::kept);
  record->held_since_ns.store(now.time_since_epoch().count(), std::memory_order_release);
  watch(record);
  record->is_offer.store(grant.offer);
  if (grant.offer) {
    // A hold that is over soon needs no renewal at all: a handover then costs one request less.
    plan_renewal(record, record->fixed ? now : take_up_offer(now, deadline));
  } else if (!record->fixed && !grant.session) {
    plan_renewal(record, next_renewal(grant.sent, grant.lease));
  } else if (is_reported(*record)) {
    plan_renewal(record, next_session_report(now, record->deadline()));
  }
  return true;
}

// A session needs no renewals, but whoever observes is told that its holds go on.
bool keeper::is_reported(const lease_record& record) const noexcept {
  return settings_.observer && record.grant.session && !record.fixed;
}

void keeper::watch(const std::shared_ptr<lease_record>& record) {
  time_point first = tell_at(*record);
  if (first != time_point::max()) alarms_.push(record, first);
  if (record->grant.session) {
    session_holds_.add(record);
    first = std::min(first, record->grant.session->tell_at());
  }
  if (first >= alarm_set_for_) return;
  alarm_set_for_ = first;
  alarm_->ring();
}

void keeper::forget(lease_record& record) noexcept {
  alarms_.remove(record);
  renewals_.remove(record);
  session_holds_.remove(record);
}

bool keeper::end(lease_record& record) noexcept {
  auto expected = lease_record::state::kept;
  const bool was_kept = record.now_is.compare_exchange_strong(expected, lease_record::state::ended);
  const seam::lock_guard guard{mutex_};
  forget(record);
  return was_kept;
}

void keeper::lose(lease_record& record, loss_reason reason) noexcept {
  auto unknown = loss_reason::none;
  record.lost_because.compare_exchange_strong(unknown, reason);
  auto expected = lease_record::state::kept;
  if (!record.now_is.compare_exchange_strong(expected, lease_record::state::lost)) return;
  {
    const seam::lock_guard guard{mutex_};
    forget(record);
  }
  if (const auto listener = record.listener.lock()) listener->lost(record, reason);
}

void keeper::session_cut() noexcept {
  const seam::lock_guard guard{mutex_};
  if (alarm_) alarm_->ring();
}

bool keeper::hold_begins(lease_record& record, time_point now) noexcept {
  if (settings_.max_hold == duration::max()) return true;
  // The clock thread takes what is due out of its heap before it ends it.
  const seam::lock_guard guard{mutex_};
  if (record.index_in_alarms == lease_record::nowhere) return false;
  record.held_since_ns.store(now.time_since_epoch().count(), std::memory_order_release);
  return true;
}

void keeper::tell_loss(loss_notice notice) {
  if (!loss_notifier_.tell(std::move(notice))) return;
  // The clock thread looks after the notifier: let it plan that.
  const seam::lock_guard guard{mutex_};
  if (alarm_) alarm_->ring();
}

// Throws when there are no threads left; the next grant then tries again.
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
  const seam::lock_guard guard{mutex_};
  return (clock_thread_ && clock_thread_->is_current()) ||
         (renewal_thread_ && renewal_thread_->is_current());
}

duration keeper::retry_pause(int failures) {
  return pause(settings_.retry, static_cast<std::uint64_t>(failures));
}

duration keeper::pause(const retry_options& how, std::uint64_t tries) {
  return seam::retry_delay(how, tries, random_.draw_bits());
}

time_point keeper::tell_at(const lease_record& record) const noexcept {
  const time_point own = record.own_deadline();
  const time_point by_lease =
      own == time_point::max() ? own : own - seam::notice_lead(record.grant.lease);
  if (settings_.max_hold == duration::max()) return by_lease;
  const time_point since{duration{record.held_since_ns.load(std::memory_order_acquire)}};
  return std::min(by_lease, since + settings_.max_hold);
}

loss_reason keeper::why_now(const lease_record& record, time_point now) const noexcept {
  const auto& session = record.grant.session;
  if (session && session->ended()) return loss_reason::gone;
  if (session && session->tell_at() <= now) return loss_reason::expired;
  const duration lead = seam::notice_lead(record.grant.lease);
  if (record.own_deadline() - lead > now) return loss_reason::max_hold;
  return record.fixed ? loss_reason::lease_ended : loss_reason::expired;
}

std::vector<keeper::due_loss> keeper::take_due(time_point now) {
  std::vector<due_loss> due;
  if (seam::mutated(seam::mutant::loss_told_by_io_thread)) return due;
  const seam::lock_guard guard{mutex_};
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
  for (auto& hold : session_holds_.take_over(now)) {
    const loss_reason reason = why_now(*hold, now);
    due.push_back({std::move(hold), reason});
  }
  return due;
}

time_point keeper::next_alarm() {
  const time_point notifier_needs = loss_notifier_.grow_if_stuck();
  const seam::lock_guard guard{mutex_};
  alarm_set_for_ = notifier_needs;
  if (seam::mutated(seam::mutant::loss_told_by_io_thread)) return alarm_set_for_;
  alarm_set_for_ = std::min(alarm_set_for_, session_holds_.first_moment());
  if (!alarms_.empty()) alarm_set_for_ = std::min(alarm_set_for_, alarms_.first_moment());
  return alarm_set_for_;
}

void keeper::watch_deadlines() {
  for (;;) {
    const time_point now = clock_.now();
    for (const due_loss& due : take_due(now)) lose(*due.record, due.reason);
    const time_point next = next_alarm();
    {
      const seam::lock_guard guard{mutex_};
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
    const seam::lock_guard guard{mutex_};
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
  loss_notifier_.close();
  bool connected = false;
  {
    const seam::lock_guard guard{mutex_};
    connected = !std::exchange(disconnected_, true);
  }
  if (connected) engine_->close();
}

}  // namespace crosslock::inner
