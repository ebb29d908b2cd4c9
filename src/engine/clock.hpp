// Time, and everything in the core that waits for it. Real in programs; virtual in the
// simulation, where one seed decides every step.
#pragma once

#include <crosslock/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace crosslock::seam {

/// What a thread parks on. Its address is the meeting place, its value the reason to stay.
using park_word = std::atomic<std::uint32_t>;

/// One sleeper with one waker, for the threads that watch deadlines. Unlike park() it also wakes
/// in time after the machine was suspended.
class alarm {
 public:
  virtual ~alarm() = default;
  /// Returns at `moment`, or as soon as somebody rings; a ring before the call counts.
  virtual void wait_until(time_point moment) = 0;
  /// Callable from any thread.
  virtual void ring() noexcept = 0;
};

/// A started thread. join() must have been called, or detach(), before it is destroyed.
class thread {
 public:
  virtual ~thread() = default;
  virtual void join() = 0;
  virtual void detach() noexcept = 0;
  virtual bool is_current() const noexcept = 0;
};

/// Thread-safe.
class clock {
 public:
  virtual ~clock() = default;
  virtual time_point now() const noexcept = 0;
  /// Cheaper to read than the time: a number that is another one after a few milliseconds, and
  /// after every suspend.
  virtual std::int64_t tick() const noexcept { return now().time_since_epoch().count(); }

  /// Blocks while `word` has the value `expected`, until unparked or `until`; may return early.
  /// The caller holds no mutex.
  virtual void park(park_word& word, std::uint32_t expected, time_point until) = 0;
  /// Wakes every thread parked on `word`. The word may be gone already: only its address is used.
  virtual void unpark(park_word& word) noexcept = 0;

  virtual std::unique_ptr<alarm> make_alarm() = 0;
  virtual std::unique_ptr<thread> start(std::string_view name, std::function<void()> body) = 0;
  virtual void fill_random(std::span<std::uint8_t> bytes) = 0;
};

/// The clock of real programs: CLOCK_BOOTTIME, futexes, std::thread, getrandom.
clock& real_clock() noexcept;

}  // namespace crosslock::seam
