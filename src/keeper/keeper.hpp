// The one place that renews leases and reports loss.
#pragma once

#include "engine/engine.hpp"
#include "engine/fork_guard.hpp"
#include "engine/mutant.hpp"
#include "engine/owner_source.hpp"
#include "keeper/errands.hpp"
#include "keeper/loss_crew.hpp"
#include "keeper/settings.hpp"
#include "keeper/tenure.hpp"
#include "keeper/timer_heap.hpp"

#include <atomic>
#include <memory>
#include <mutex>
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

  /// Watches a tenure that was just granted, and renews it unless its lease is fixed. False when
  /// too little of the lease is left for anybody to use it: then it is not watched.
  bool keep(const std::shared_ptr<tenure>& tenure);
  /// Stops watching and renewing, at once. False when the tenure was lost before.
  bool end(tenure& tenure) noexcept;
  /// Ends a tenure that is known to be gone; its line is told. Harmless when it has ended.
  void lose(tenure& tenure, loss_reason reason) noexcept;
  /// The present hold began now: max_hold counts from here.
  void hold_begins(tenure& tenure, time_point now) noexcept;
  /// Renews without waiting for the planned time, for another block of fences.
  void renew_soon(tenure& tenure);
  /// Renews on the calling thread. Without an answer it is tried again in the background.
  void renew_now(const std::shared_ptr<tenure>& tenure, time_point give_up);

  /// Leaves the line, so that nothing is left behind when it returns; if the server does not answer
  /// within a moment, in the background.
  void withdraw(const seam::claim& claim);
  /// Leaves the line in the background, until it is done or the claim's lease must have ended.
  void withdraw_later(const seam::claim& claim);
  /// Gives a grant back in the background, until its lease has ended; says when it is done.
  void release_later(const seam::grant& grant, time_point deadline,
                     std::shared_ptr<std::atomic<bool>> given_back = {});

  /// Runs a notice of loss on a thread of its own.
  void tell_loss(std::function<void()> notice);

  /// Stops renewing and watching, runs the errands that are due as far as time allows, and
  /// disconnects.
  void close(time_point by) noexcept;
  /// It will be closed, and nothing shall take longer than that.
  void closes_by(time_point by) noexcept { closed_by_.store(by); }
  /// True on one of the keeper's own threads, which cannot destroy it.
  bool on_own_thread() const;

  seam::engine& engine() const noexcept { return *engine_; }
  /// For what takes no time: the ends of asynchronous waits, and their next asks.
  errands& timers() noexcept { return timers_; }
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
  using renewal_batch = std::vector<std::shared_ptr<tenure>>;

  void start_threads();
  void watch_deadlines();
  struct due_loss {
    std::shared_ptr<inner::tenure> tenure;
    loss_reason reason;
  };
  std::vector<due_loss> take_due(time_point now);
  time_point next_alarm();
  time_point tell_at(const tenure& tenure) const noexcept;
  loss_reason why_now(const tenure& tenure, time_point now) const noexcept;
  void renew_when_due();
  renewal_batch take_renewals(time_point now);
  void renew(const renewal_batch& batch, time_point now);
  bool lease_is_session() const noexcept;
  /// How long a lease lasts without renewal.
  duration lease_of(const tenure& tenure) const noexcept;
  static seam::renewal renewal_of(const tenure& tenure);
  void settle(const std::shared_ptr<tenure>& tenure, const seam::renewal& renewal, time_point now);
  time_point errand_give_up() const noexcept;
  template <class Request>
  void insist(duration lease, time_point until, Request request, int failures = 0);
  void wake_renewals_by(time_point moment);
  void plan_renewal(const std::shared_ptr<tenure>& tenure, time_point moment);

  const std::unique_ptr<seam::engine> engine_;
  seam::clock& clock_;
  const settings& settings_;
  const std::uint32_t fork_generation_;

  seam::owner_source random_;
  errands requests_;  // withdrawals and releases that nobody waits for
  errands timers_;
  loss_crew crew_;
  std::unique_ptr<seam::alarm> alarm_;

  std::atomic<time_point> closed_by_{time_point::max()};

  mutable std::mutex mutex_;
  timer_heap<tenure, &tenure::place_in_alarms> alarms_;
  timer_heap<tenure, &tenure::place_in_renewals> renewals_;
  time_point alarm_set_for_ = time_point::max();
  time_point renewal_set_for_ = time_point::max();
  seam::park_word renewal_news_{0};
  bool closing_ = false;
  bool disconnected_ = false;
  std::unique_ptr<seam::thread> clock_thread_;
  std::unique_ptr<seam::thread> renewal_thread_;
  std::vector<seam::renewal> batch_;  // used by the renewal thread only
};

}  // namespace crosslock::inner
