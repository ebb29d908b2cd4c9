// The lock of many readers or one writer.
#pragma once

#include <crosslock/async.hpp>
#include <crosslock/client.hpp>
#include <crosslock/hold.hpp>
#include <crosslock/wait.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

namespace crosslock {

/// Many may hold it shared, or one exclusively, across threads, processes and machines.
/// Thread-safe. Meets SharedTimedLockable, so std::shared_lock and std::unique_lock work. A
/// crosslock::mutex of the same name is excluded by both.
///
/// Fair: whoever comes later than a waiting writer, reader or not, stands behind it. Readers of one
/// process share one grant of the server as long as nobody else is known to wait for the name; each
/// of them has a fence of its own all the same.
///
/// A thread that has locked it, either way, and locks it again gets `would_deadlock`. Throws
/// `unsupported` where the engine has no shared locks.
class shared_mutex {
 public:
  shared_mutex(const client& locks, std::string_view name);
  shared_mutex(const client& locks, lock_name name);
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;
  ~shared_mutex();  ///< releases what lock() and lock_shared() still hold

  // The standard way: one writer.
  void lock();
  [[nodiscard]] bool try_lock();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
    return lock_within(wait_time(wait), claim_mode::exclusive);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& end) {
    return lock_within(time_left(end), claim_mode::exclusive);
  }
  void unlock() noexcept;

  // The standard way: many readers.
  void lock_shared();
  [[nodiscard]] bool try_lock_shared();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait) {
    return lock_within(wait_time(wait), claim_mode::shared);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& end) {
    return lock_within(time_left(end), claim_mode::shared);
  }
  void unlock_shared() noexcept;

  /// Of this thread's hold taken by lock() or lock_shared(). Throws `not_held` when there is none.
  [[nodiscard]] crosslock::fence fence() const;
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] time_point expires_at() const;
  /// As those of a hold. Without one valid() is false, and check() throws `not_held`.
  [[nodiscard]] bool valid() const noexcept;
  void check() const;

  // The rich way, as in mutex.
  hold acquire(acquire_how how = {}) { return acquire_or_throw(how, claim_mode::exclusive); }
  template <std::same_as<std::stop_token> Stop>
  [[nodiscard]] std::optional<hold> acquire(Stop stop) {
    return acquire_within(duration::max(), {.stop = std::move(stop)}, claim_mode::exclusive);
  }
  [[nodiscard]] std::optional<hold> try_acquire(acquire_how how = {}) {
    return acquire_within(duration::zero(), std::move(how), claim_mode::exclusive);
  }
  template <class Rep, class Period, class Rep2, class Period2>
  [[nodiscard]] std::optional<hold> try_acquire_for(
      const std::chrono::duration<Rep, Period>& wait,
      const std::chrono::duration<Rep2, Period2>& lease, std::stop_token stop = {}) {
    return acquire_within(wait_time(wait), {.lease = wait_time(lease), .stop = std::move(stop)},
                          claim_mode::exclusive);
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<hold> try_acquire_for(const std::chrono::duration<Rep, Period>& wait,
                                                    acquire_how how = {}) {
    return acquire_within(wait_time(wait), std::move(how), claim_mode::exclusive);
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<hold> try_acquire_until(
      const std::chrono::time_point<Clock, Duration>& end, acquire_how how = {}) {
    return acquire_within(time_left(end), std::move(how), claim_mode::exclusive);
  }
  hold acquire_shared(acquire_how how = {}) { return acquire_or_throw(how, claim_mode::shared); }
  template <std::same_as<std::stop_token> Stop>
  [[nodiscard]] std::optional<hold> acquire_shared(Stop stop) {
    return acquire_within(duration::max(), {.stop = std::move(stop)}, claim_mode::shared);
  }
  [[nodiscard]] std::optional<hold> try_acquire_shared(acquire_how how = {}) {
    return acquire_within(duration::zero(), std::move(how), claim_mode::shared);
  }
  template <class Rep, class Period, class Rep2, class Period2>
  [[nodiscard]] std::optional<hold> try_acquire_shared_for(
      const std::chrono::duration<Rep, Period>& wait,
      const std::chrono::duration<Rep2, Period2>& lease, std::stop_token stop = {}) {
    return acquire_within(wait_time(wait), {.lease = wait_time(lease), .stop = std::move(stop)},
                          claim_mode::shared);
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<hold> try_acquire_shared_for(
      const std::chrono::duration<Rep, Period>& wait, acquire_how how = {}) {
    return acquire_within(wait_time(wait), std::move(how), claim_mode::shared);
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<hold> try_acquire_shared_until(
      const std::chrono::time_point<Clock, Duration>& end, acquire_how how = {}) {
    return acquire_within(time_left(end), std::move(how), claim_mode::shared);
  }

  /// Never block the caller; `done` is called exactly once, by options::executor.
  void acquire_async(acquire_callback done, acquire_how how = {},
                     std::optional<duration> wait = std::nullopt);
  void acquire_shared_async(acquire_callback done, acquire_how how = {},
                            std::optional<duration> wait = std::nullopt);
  /// The same, to be begun by a callback, a future or co_await: see async.hpp.
  acquisition<hold> async_acquire(acquire_how how = {},
                                  std::optional<duration> wait = std::nullopt) {
    return describe_acquire(std::move(how), wait, claim_mode::exclusive);
  }
  acquisition<hold> async_acquire_shared(acquire_how how = {},
                                         std::optional<duration> wait = std::nullopt) {
    return describe_acquire(std::move(how), wait, claim_mode::shared);
  }

  /// An exclusive hold becomes a shared one, without a gap in which anybody else could get in, and
  /// keeps its fence. When the server does not answer, the hold counts as shared from now on and
  /// the server is told with the next renewal. Throws `not_held`, `lost`; or `conflict`, for a
  /// hold of another name or client, and for a permit.
  void downgrade(hold& held);

  /// A shared hold becomes an exclusive one, as soon as all others have left, with a new fence. In
  /// the meantime it stays shared. When another writer already waits, or upgrades,
  /// `upgrade_conflict` is thrown at once: let go of the shared hold then, or two of you wait for
  /// each other for ever. Whatever is thrown, a shared hold that was valid is kept. Throws `lost`
  /// when it was not.
  void upgrade(hold& held, std::stop_token stop = {});
  /// False when it has not become exclusive in time: it is shared as before.
  template <class Rep, class Period>
  [[nodiscard]] bool try_upgrade_for(hold& held, const std::chrono::duration<Rep, Period>& wait,
                                     std::stop_token stop = {}) {
    return upgrade_within(held, wait_time(wait), std::move(stop));
  }
  [[nodiscard]] bool try_upgrade(hold& held) { return upgrade_within(held, duration::zero(), {}); }
  /// The same without blocking the caller, to be begun by a callback, a future or co_await (see
  /// async.hpp): an exclusive hold of its own, which takes the place of `held`. That one counts as
  /// released then, and its lost() goes on telling of the new one. In the meantime it stays shared;
  /// if it is released, the upgrade fails with `not_held`; if only the object ends, it is kept
  /// until the upgrade has ended. Empty, or a failure: it is shared as before.
  ///
  ///     if (auto writing = co_await prices.async_upgrade(reading)) ...
  acquisition<hold> async_upgrade(const hold& held, std::stop_token stop = {},
                                  std::optional<duration> wait = std::nullopt);
  void upgrade_async(const hold& held, acquire_callback done, std::stop_token stop = {},
                     std::optional<duration> wait = std::nullopt) {
    async_upgrade(held, std::move(stop), wait).start(std::move(done));
  }

  const lock_name& name() const noexcept;

 private:
  struct state;

  bool lock_within(duration wait, claim_mode mode);
  hold acquire_or_throw(const acquire_how& how, claim_mode mode);
  std::optional<hold> acquire_within(duration wait, acquire_how how, claim_mode mode);
  bool upgrade_within(hold& held, duration wait, std::stop_token stop);
  acquisition<hold> describe_acquire(acquire_how how, std::optional<duration> wait,
                                     claim_mode mode);

  std::shared_ptr<state> state_;  // shared with acquires that have not begun
};

}  // namespace crosslock
