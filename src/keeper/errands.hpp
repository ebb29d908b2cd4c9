// Work that nobody waits for: withdrawals, late releases, the looks of asynchronous waiters.
#pragma once

#include "engine/clock.hpp"

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
  errands(seam::clock& clock, const char* thread_name);
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

  bool is_current() const;
  /// Runs what is due, drops what is not, and ends the thread. Later errands are dropped.
  void close() noexcept;

 private:
  void work();

  seam::clock& clock_;
  const char* const thread_name_;

  mutable std::mutex mutex_;
  std::map<ticket, std::function<void()>> planned_;
  std::uint64_t numbers_ = 0;
  std::unique_ptr<seam::thread> thread_;
  seam::park_word news_{0};
  bool closing_ = false;
};

}  // namespace crosslock::inner
