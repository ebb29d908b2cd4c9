// A door that opens once so much has been done.
#pragma once

#include <crosslock/client.hpp>
#include <crosslock/wait.hpp>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>

namespace crosslock {

/// Opens when it has been counted down to zero, by whomever, and stays open: across threads,
/// processes and machines, and also when all of them end. A death changes nothing about the count:
/// what was counted stays counted, what was not is still missing. Thread-safe.
///
/// | the latch is | count_down(n) | count() | wait() | reset() | erase() |
/// |---|---|---|---|---|---|
/// | untouched | counts, it is now agreed how many | the whole | waits | false | nothing |
/// | counting | counts, to zero at most | what is left | waits | false | untouched |
/// | open | nothing | 0 | returns | true: untouched, in the next round | untouched |
///
/// erase() removes it from the server, open or not, when nobody needs it any more. Whoever still
/// waits for what was counted there gets `broken`: that it will open, or has, cannot be told. If it
/// is begun anew before that one has looked, its wait is one for the new one.
///
/// All must mean the same count: while it counts or is open, another one is a `conflict` that names
/// both. Who waits when a round ends, by the count and a reset right after it, has waited enough.
///
/// Each count_down counts exactly once, also if its answer was lost and it had to be repeated. Only
/// when the server stays silent for all tries it throws, with `outcome_unknown()`; then it may have
/// counted, once.
class count_down_latch {
 public:
  static constexpr std::int32_t count_max = 10'000;

  /// Throws `conflict` for a count outside of 1 to count_max, and `unsupported` where the engine
  /// stores no values. Asks nothing of the server.
  count_down_latch(const client& locks, std::string_view name, std::int32_t count);
  count_down_latch(const client& locks, lock_name name, std::int32_t count);
  count_down_latch(const count_down_latch&) = delete;
  count_down_latch& operator=(const count_down_latch&) = delete;
  ~count_down_latch();

  /// Throws `conflict` for n below one.
  void count_down(std::int32_t n = 1);
  /// What is left; a moment later it may be less.
  [[nodiscard]] std::int32_t count() const;
  [[nodiscard]] bool try_wait() const { return count() == 0; }

  void wait() const;
  /// False when stopped, or out of time.
  [[nodiscard]] bool wait(std::stop_token stop) const;
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& wait,
                              std::stop_token stop = {}) const {
    return wait_within(wait_time(wait), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& end,
                                std::stop_token stop = {}) const {
    return wait_within(time_left(end), std::move(stop));
  }

  /// Begins anew, when it is open; whoever counts next says how many.
  bool reset();

  void erase();

  const lock_name& name() const noexcept;

 private:
  struct state;

  bool wait_within(duration wait, std::stop_token stop) const;

  std::unique_ptr<state> state_;
};

}  // namespace crosslock
