// Work that nobody waits for: withdrawals, late releases, the looks of asynchronous waiters.
#pragma once

#include "engine/clock.hpp"

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace crosslock::inner {

/// One thread, started at the first errand. An errand that fails is tried again by its owner: it
/// posts itself once more. Thread-safe.
class errands {
 public:
  explicit errands(seam::clock& clock);
  ~errands();
  errands(const errands&) = delete;
  errands& operator=(const errands&) = delete;

  /// Names a planned errand. An empty one names none.
  struct ticket {
    time_point moment{};
    std::uint64_t number = 0;
    friend auto operator<=>(const ticket&, const ticket&) = default;
  };

  void post(std::function<void()> errand) { at(time_point::min(), std::move(errand)); }
  ticket at(time_point moment, std::function<void()> errand);
  /// Forgets an errand that has not begun; harmless otherwise.
  void cancel(ticket planned);

  /// True once close() was called: what still runs should be brief.
  bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
  /// Runs what is due, drops what is not, and ends the thread. Later errands are dropped.
  void close() noexcept;

 private:
  void work();

  seam::clock& clock_;

  std::mutex mutex_;
  std::map<ticket, std::function<void()>> planned_;
  std::uint64_t numbers_ = 0;
  std::unique_ptr<seam::thread> thread_;
  seam::park_word news_{0};
  std::atomic<bool> closing_{false};  // written under the mutex
};

}  // namespace crosslock::inner
