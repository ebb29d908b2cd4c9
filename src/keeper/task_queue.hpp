// Work that nobody waits for: withdrawals, late releases, the looks of asynchronous waiters.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace crosslock::inner {

/// One thread, started at the first task. A task that fails is tried again by its owner: it
/// posts itself once more. Thread-safe.
class task_queue {
 public:
  task_queue(seam::clock& clock, const char* thread_name);
  ~task_queue();
  task_queue(const task_queue&) = delete;
  task_queue& operator=(const task_queue&) = delete;

  /// Names a planned task. An empty one names none.
  struct ticket {
    time_point moment{};
    std::uint64_t number = 0;
    friend auto operator<=>(const ticket&, const ticket&) = default;
  };

  void post(std::function<void()> task) { at(time_point::min(), std::move(task)); }
  ticket at(time_point moment, std::function<void()> task);
  /// Forgets a task that has not begun; harmless otherwise.
  void cancel(ticket planned);

  bool is_current() const;
  /// Runs what is due, drops what is not, and ends the thread. Later tasks are dropped.
  void close() noexcept;

 private:
  void work();
  /// Until when there is nothing to do; empty when closed.
  std::optional<time_point> run_due();

  seam::clock& clock_;
  const char* const thread_name_;

  mutable seam::mutex mutex_;
  std::map<ticket, std::function<void()>> planned_ CROSSLOCK_GUARDED_BY(mutex_);
  std::uint64_t numbers_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<seam::thread> thread_ CROSSLOCK_GUARDED_BY(mutex_);
  seam::park_word news_{0};
  bool closing_ CROSSLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace crosslock::inner
