// The lock of n permits.
#pragma once

#include <crosslock/async.hpp>
#include <crosslock/client.hpp>
#include <crosslock/hold.hpp>
#include <crosslock/wait.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

namespace crosslock {

/// At most n permits are held at any instant, across threads, processes and machines. First come
/// first served: who wants many is not overtaken by those who want few. The permits of a holder
/// that died come back with its lease. Thread-safe; a hold belongs to whoever has it.
///
/// All clients must mean the same n: as long as anybody holds or waits, another one is a `conflict`
/// that names both. Throws `unsupported` where the engine has no permits.
class semaphore {
 public:
  /// Throws `conflict` for a number of permits below one.
  semaphore(const client& locks, std::string_view name, std::int32_t permits);
  semaphore(const client& locks, lock_name name, std::int32_t permits);
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  ~semaphore();

  /// Takes `count` of the permits at once; throws `conflict` when there are not so many. The hold
  /// gives them back together.
  hold acquire(std::int32_t count = 1, acquire_how how = {});
  template <std::same_as<std::stop_token> Stop>
  [[nodiscard]] std::optional<hold> acquire(Stop stop) {
    return acquire_within(duration::max(), 1, {.stop = std::move(stop)});
  }
  template <std::same_as<std::stop_token> Stop>
  [[nodiscard]] std::optional<hold> acquire(std::int32_t count, Stop stop) {
    return acquire_within(duration::max(), count, {.stop = std::move(stop)});
  }
  [[nodiscard]] std::optional<hold> try_acquire(std::int32_t count = 1, acquire_how how = {}) {
    return acquire_within(duration::zero(), count, std::move(how));
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<hold> try_acquire_for(const std::chrono::duration<Rep, Period>& wait,
                                                    std::int32_t count = 1, acquire_how how = {}) {
    return acquire_within(wait_time(wait), count, std::move(how));
  }
  /// With a fixed lease, as those of mutex.
  template <class Rep, class Period, class Rep2, class Period2>
  [[nodiscard]] std::optional<hold> try_acquire_for(
      const std::chrono::duration<Rep, Period>& wait,
      const std::chrono::duration<Rep2, Period2>& lease, std::stop_token stop = {}) {
    return try_acquire_for(wait, 1, lease, std::move(stop));
  }
  template <class Rep, class Period, class Rep2, class Period2>
  [[nodiscard]] std::optional<hold> try_acquire_for(
      const std::chrono::duration<Rep, Period>& wait, std::int32_t count,
      const std::chrono::duration<Rep2, Period2>& lease, std::stop_token stop = {}) {
    return acquire_within(wait_time(wait), count,
                          {.lease = wait_time(lease), .stop = std::move(stop)});
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<hold> try_acquire_until(
      const std::chrono::time_point<Clock, Duration>& end, std::int32_t count = 1,
      acquire_how how = {}) {
    return acquire_within(time_left(end), count, std::move(how));
  }
  /// Never blocks the caller; `done` is called exactly once, by options::executor.
  void acquire_async(acquire_callback done, std::int32_t count = 1, acquire_how how = {},
                     std::optional<duration> wait = std::nullopt);
  /// The same, to be begun by a callback, a future or co_await: see async.hpp.
  acquisition<hold> async_acquire(std::int32_t count = 1, acquire_how how = {},
                                  std::optional<duration> wait = std::nullopt);

  std::int32_t permits() const noexcept;  ///< n
  /// How many of them are free; none for a newcomer while others wait, who come first. Asks the
  /// server. One moment of the past: never decide by it, but try_acquire().
  [[nodiscard]] std::int32_t available() const;
  const lock_name& name() const noexcept;

 private:
  struct state;

  std::optional<hold> acquire_within(duration wait, std::int32_t count, acquire_how how);

  std::shared_ptr<state> state_;  // shared with acquires that have not begun
};

}  // namespace crosslock
