// The exclusive lock a thread may take again.
#pragma once

#include <crosslock/client.hpp>
#include <crosslock/hold.hpp>
#include <crosslock/wait.hpp>

#include <memory>
#include <stop_token>
#include <string_view>

namespace crosslock {

/// An exclusive lock by name, owned by a thread, which may lock it again: that costs no round trip
/// and no system call, keeps the fence, and is checked against the lease's deadline (`lost` is
/// thrown when it has passed; while over a second is left, the exact clock is read once per tick of
/// the kernel). It is given back when unlocked as often as locked. Thread-safe.
/// Meets TimedLockable. It has no asynchronous forms: those belong to no thread.
///
/// An unlock by a thread that does not hold it changes nothing; the observer hears `not_owner`.
class recursive_mutex {
 public:
  recursive_mutex(const client& locks, std::string_view name);
  recursive_mutex(const client& locks, lock_name name);
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;
  ~recursive_mutex();

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

  /// Of this thread's hold; throws `not_held` when it has none.
  [[nodiscard]] crosslock::fence fence() const;
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] time_point expires_at() const;
  /// As those of a hold. Without one valid() is false, and check() throws `not_held`.
  [[nodiscard]] bool valid() const noexcept;
  void check() const;
  /// How often this thread holds it; 0 when it does not.
  [[nodiscard]] std::size_t depth() const noexcept;

  const lock_name& name() const noexcept;

 private:
  struct state;

  bool lock_within(duration wait);

  std::unique_ptr<state> state_;
};

}  // namespace crosslock
