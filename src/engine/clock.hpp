// Time, and everything in the core that waits for it. Real in programs; virtual in the
// simulation, where one seed decides every step.
#pragma once

#include <crosslock/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

/// What was noted. Apart, so that the tests can put a mistake in its place (mutant.hpp).
std::uint32_t as_noted(const park_word& word, std::uint32_t noted) noexcept;

/// Parks on `word` again and again until `look` has seen what this thread waits for. `look()` says
/// until when to park, or nothing when the wait is over. The word is noted before the look: whoever
/// brings news changes the word, so that what comes behind the look is not slept through.
/// `park(word, seen, until)` stands for clock::park.
template <class Look, class Park>
void park_unless(park_word& word, const Look& look, const Park& park) {
  for (;;) {
    const std::uint32_t noted = word.load();
    const std::optional<time_point> until = look();
    if (!until) return;
    park(word, as_noted(word, noted), *until);
  }
}

template <class Look>
void park_unless(clock& clock, park_word& word, const Look& look) {
  park_unless(word, look, [&clock](park_word& at, std::uint32_t seen, time_point until) {
    clock.park(at, seen, until);
  });
}

/// Does nothing until then.
inline void rest(clock& clock, time_point until) {
  park_word nobody_rings{0};
  park_unless(clock, nobody_rings, [&]() -> std::optional<time_point> {
    return clock.now() < until ? std::optional{until} : std::nullopt;
  });
}

/// The clock of real programs: CLOCK_BOOTTIME, futexes, std::thread, getrandom.
clock& real_clock() noexcept;

}  // namespace crosslock::seam
