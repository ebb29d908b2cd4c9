// The one place that renews leases and reports loss.
#pragma once

#include "engine/engine.hpp"
#include "engine/fork_guard.hpp"
#include "engine/guarded.hpp"
#include "engine/mutant.hpp"
#include "engine/owner_source.hpp"
#include "keeper/lease_record.hpp"
#include "keeper/loss_notifier.hpp"
#include "keeper/session_holds.hpp"
#include "keeper/settings.hpp"
#include "keeper/task_queue.hpp"
#include "keeper/timer_heap.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace crosslock::inner {

/// Two threads, started with the first grant: the clock thread reads the clock and tells losses,
/// without I/O or user code; the renewal thread does the requests. Thread-safe.
class keeper {
 public:
  keeper(std::unique_ptr<seam::engine> engine, seam::clock& clock, const settings& settings);
  ~keeper();
  keeper(const keeper&) = delete;
  keeper& operator=(const keeper&) = delete;

  /// Watches a grant that is new, and renews it unless its lease is fixed. False when too little
  /// of the lease is left to be of use: then it is not watched.
  bool keep(const std::shared_ptr<lease_record>& record);
  /// Stops watching and renewing, at once. False when it was lost before.
  bool end(lease_record& record) noexcept;
  /// Ends one that is known to be gone; its line is told. Harmless when it has ended.
  void lose(lease_record& record, loss_reason reason) noexcept;
  /// A session has ended or become shorter: the clock thread looks at it.
  void session_cut() noexcept;
  /// Another hold of the same grant begins now: max_hold counts from here. False when it has struck
  /// the hold before: then it may not be passed on.
  bool hold_begins(lease_record& record, time_point now) noexcept;
  /// Renews without waiting for the planned time, for another block of fences.
  void renew_soon(lease_record& record);
  /// Renews on the calling thread. Without an answer it is tried again in the background.
  void renew_now(const std::shared_ptr<lease_record>& record, time_point give_up);
  /// Asks for at least so long from now on, on the calling thread, also if its lease is fixed.
  /// Throws when no answer came; one that is found lost is told as always.
  void extend(const std::shared_ptr<lease_record>& record, duration lease, time_point give_up);

  /// Leaves the line, so that nothing is left behind when it returns; if the server does not answer
  /// within a moment, or by then, in the background.
  void withdraw(const seam::claim& claim, time_point until);
  /// Leaves the line in the background, until it is done or the claim's lease must have ended.
  /// `then`: behind the first try.
  void withdraw_later(const seam::claim& claim, std::function<void()> then = {});
  /// Gives a grant back in the background, until its lease has ended; says when it is done.
  void release_later(const seam::grant& grant, time_point deadline,
                     std::shared_ptr<std::atomic<bool>> given_back = {});

  /// Runs a notice of loss on a thread of its own.
  void tell_loss(loss_notice notice);

  /// Stops renewing and watching, runs the tasks that are due as far as time allows, and
  /// disconnects.
  void close(time_point by) noexcept;
  /// It will be closed, and nothing shall take longer than that.
  void closes_by(time_point by) noexcept { closed_by_.store(by); }
  /// True on one of the keeper's own threads, which cannot destroy it.
  bool on_own_thread() const;

  seam::engine& engine() const noexcept { return *engine_; }
  /// For what takes no time: the ends of asynchronous waits, and their next asks.
  task_queue& timers() noexcept { return timers_; }
  owner_id draw_owner() { return random_.draw(); }
  /// How long to wait before a request that failed so many times is made again.
  duration retry_pause(int failures);
  /// The same by other rules than the client's.
  duration pause(const retry_options& how, std::uint64_t tries);

  /// True in a forked child of the process that made this keeper: then only abandon() may be
  /// called, and the keeper must be leaked, because its threads are not here.
  bool inherited_by_fork() const noexcept { return fork_generation_ != seam::fork_generation(); }
  void abandon() noexcept { engine_->abandon(); }

 private:
  using renewal_batch = std::vector<std::shared_ptr<lease_record>>;

  void start_threads() CROSSLOCK_REQUIRES(mutex_);
  void watch_deadlines();
  struct due_loss {
    std::shared_ptr<inner::lease_record> record;
    loss_reason reason;
  };
  std::vector<due_loss> take_due(time_point now);
  void watch(const std::shared_ptr<lease_record>& record) CROSSLOCK_REQUIRES(mutex_);
  void forget(lease_record& record) noexcept CROSSLOCK_REQUIRES(mutex_);
  bool is_reported(const lease_record& record) const noexcept;
  time_point next_alarm();
  time_point tell_at(const lease_record& record) const noexcept;
  loss_reason why_now(const lease_record& record, time_point now) const noexcept;
  void renew_when_due();
  /// Until when there is nothing to renew; empty when closed.
  std::optional<time_point> renew_due();
  renewal_batch take_renewals(time_point now) CROSSLOCK_REQUIRES(mutex_);
  void renew(const renewal_batch& batch, time_point now);
  seam::renewal renewal_of(const lease_record& record) const CROSSLOCK_REQUIRES(mutex_);
  void apply_renewal(const std::shared_ptr<lease_record>& record, const seam::renewal& renewal,
                     time_point now);
  void stretch(lease_record& record, time_point until) CROSSLOCK_EXCLUDES(mutex_);
  time_point task_give_up() const noexcept;
  template <class Request>
  void insist(duration lease, time_point until, Request request, int failures = 0);
  void wake_renewals_by(time_point moment) CROSSLOCK_REQUIRES(mutex_);
  void plan_renewal(const std::shared_ptr<lease_record>& record, time_point moment)
      CROSSLOCK_REQUIRES(mutex_);

  const std::unique_ptr<seam::engine> engine_;
  seam::clock& clock_;
  const settings& settings_;
  const std::uint32_t fork_generation_;

  seam::owner_source random_;
  task_queue requests_;  // withdrawals and releases that nobody waits for
  task_queue timers_;
  loss_notifier loss_notifier_;
  std::unique_ptr<seam::alarm> alarm_;

  std::atomic<time_point> closed_by_{time_point::max()};

  mutable seam::mutex mutex_;
  timer_heap<lease_record, &lease_record::index_in_alarms> alarms_ CROSSLOCK_GUARDED_BY(mutex_);
  timer_heap<lease_record, &lease_record::index_in_renewals> renewals_ CROSSLOCK_GUARDED_BY(mutex_);
  session_holds session_holds_ CROSSLOCK_GUARDED_BY(mutex_);
  time_point alarm_set_for_ CROSSLOCK_GUARDED_BY(mutex_) = time_point::max();
  time_point renewal_set_for_ CROSSLOCK_GUARDED_BY(mutex_) = time_point::max();
  seam::park_word renewal_news_{0};
  bool closing_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  bool disconnected_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  std::unique_ptr<seam::thread> clock_thread_ CROSSLOCK_GUARDED_BY(mutex_);
  std::unique_ptr<seam::thread> renewal_thread_ CROSSLOCK_GUARDED_BY(mutex_);
  std::vector<seam::renewal> batch_;  // used by the renewal thread only
};

}  // namespace crosslock::inner
