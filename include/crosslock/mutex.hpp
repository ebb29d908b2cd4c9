// The exclusive lock.
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

namespace crosslock {

/// An exclusive lock by name, across threads, processes and machines. Thread-safe, like std::mutex.
/// Meets TimedLockable, so std::scoped_lock, std::unique_lock and std::lock work.
///
/// | state | lock() | try_lock() | unlock() | fence(), lost() | valid() |
/// |---|---|---|---|---|---|
/// | free | returns holding | true | nothing; observer: `not_held` | throw `not_held` | false |
/// | held by this thread's lock() | throws | throws | frees it | of this hold | true |
/// | held by anyone else | waits | false | of this object: frees it | of that hold | of that hold |
/// | lost by this thread, not unlocked | throws | throws | observer: `lost` | requested | false |
///
/// What lock() and try_lock() throw there is `would_deadlock`.
///
/// An exception from a locking call means: not held. Two objects of one name exclude each other: a
/// thread that has locked one, or runs a function under the name (client::run), and then waits for
/// the other without end, gets `would_deadlock`, too, if both are of one client. A wait that may
/// end by time or stop just waits. Holds from `acquire` belong to objects, not to threads: nobody
/// is told that they are its own.
class mutex {
 public:
  mutex(const client& locks, std::string_view name);
  mutex(const client& locks, lock_name name);
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex();  ///< releases what lock() still holds

  // The standard way.
  void lock();
  [[nodiscard]] bool try_lock();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
    return lock_within(wait_time(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& end) {
    return lock_within(time_left(end));
  }
  void unlock() noexcept;
  /// Of the hold taken by lock(). Throws `not_held` when there is none.
  [[nodiscard]] crosslock::fence fence() const;
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] time_point expires_at() const;
  /// As those of a hold. Without one valid() is false, and check() throws `not_held`.
  [[nodiscard]] bool valid() const noexcept;
  void check() const;

  // The rich way.
  hold acquire(acquire_how how = {});  ///< with a stop_token: use the form below
  template <std::same_as<std::stop_token> Stop>
  [[nodiscard]] std::optional<hold> acquire(
      Stop stop) {  // a template, so that acquire({}) is the form above
    return acquire_until_stopped(std::move(stop));
  }
  [[nodiscard]] std::optional<hold> try_acquire(acquire_how how = {});
  template <class Rep, class Period>
  [[nodiscard]] std::optional<hold> try_acquire_for(const std::chrono::duration<Rep, Period>& wait,
                                                    acquire_how how = {}) {
    return acquire_within(wait_time(wait), std::move(how));
  }
  /// Waits at most `wait`; the hold then ends after `lease` at the latest and is not renewed.
  template <class Rep, class Period, class Rep2, class Period2>
  [[nodiscard]] std::optional<hold> try_acquire_for(
      const std::chrono::duration<Rep, Period>& wait,
      const std::chrono::duration<Rep2, Period2>& lease, std::stop_token stop = {}) {
    return acquire_within(wait_time(wait), {.lease = wait_time(lease), .stop = std::move(stop)});
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<hold> try_acquire_until(
      const std::chrono::time_point<Clock, Duration>& end, acquire_how how = {}) {
    return acquire_within(time_left(end), std::move(how));
  }
  /// Never blocks the caller. `done` is called exactly once, by options::executor. Without
  /// `wait` it waits until granted, stopped, or failed.
  void acquire_async(acquire_callback done, acquire_how how = {},
                     std::optional<duration> wait = std::nullopt);
  /// The same, to be begun by a callback, a future or co_await: see async.hpp.
  acquisition<hold> async_acquire(acquire_how how = {},
                                  std::optional<duration> wait = std::nullopt);

  const lock_name& name() const noexcept;

 private:
  struct state;

  bool lock_within(duration wait);
  std::optional<hold> acquire_until_stopped(std::stop_token stop);
  std::optional<hold> acquire_within(duration wait, acquire_how how);

  std::shared_ptr<state> state_;  // shared with acquires that have not begun
};

}  // namespace crosslock
