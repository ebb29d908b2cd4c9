// Several locks taken as one.
#pragma once

#include <crosslock/async.hpp>
#include <crosslock/client.hpp>
#include <crosslock/hold.hpp>
#include <crosslock/wait.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock {

namespace inner {
class joint;
class lock_set;
}  // namespace inner

/// What a multi_lock has in hand: all of its locks, from the moment the last was granted. One loss
/// is the loss of all. Destruction releases silently. One thread at a time may use it; the
/// stop_token it gives out may be used anywhere. Its states are those of a hold.
class [[nodiscard]] multi_hold {
 public:
  multi_hold(multi_hold&& other) noexcept;
  multi_hold& operator=(multi_hold&& other) noexcept;  ///< releases what it had
  multi_hold(const multi_hold&) = delete;
  multi_hold& operator=(const multi_hold&) = delete;
  ~multi_hold();

  /// One for each element, in the order in which they were given.
  [[nodiscard]] std::vector<crosslock::fence> fences() const;
  std::size_t size() const noexcept;  ///< how many were given; 0 when moved from
  /// The earliest end of all.
  [[nodiscard]] time_point expires_at() const noexcept;

  /// Requested once, when the first of them is lost.
  [[nodiscard]] std::stop_token lost() const;
  /// Of the first, in the order of taking, that was lost.
  [[nodiscard]] loss_reason lost_reason() const noexcept;
  /// Requested once, when somebody waits for any of them: see hold::wanted.
  [[nodiscard]] std::stop_token wanted() const;
  /// Reads the clock: true as long as every one of them is valid.
  [[nodiscard]] bool valid() const noexcept;
  /// Throws `lost`, naming the one that is, or `not_held`, unless valid().
  void check() const;

  /// As hold::extend, of each in the order of taking; then expires_at(). When one throws, those
  /// before it are extended, and all are held as before.
  time_point extend(std::optional<duration> lease = std::nullopt);

  /// Releases all of them, in the reverse order of taking, whatever becomes of each. The worst of
  /// the results: `lost` before `not_owner`, `unknown`, `not_held`, `passed` and `released`.
  release_result release() noexcept;
  /// What release() found, for each element in the order in which they were given; empty before.
  const std::vector<release_result>& release_results() const noexcept;

  /// For the library's own use.
  explicit multi_hold(std::unique_ptr<inner::joint> joint) noexcept;

 private:
  std::unique_ptr<inner::joint> joint_;
};

using multi_acquire_result = acquire_outcome<multi_hold>;
using multi_acquire_callback = std::function<void(multi_acquire_result)>;

namespace inner {

template <>
struct acquire_plan<multi_hold> {
  std::shared_ptr<const lock_set> locks{};
  acquire_how how{};
  std::optional<duration> wait{};
  continuation_executor executor{};

  void start(multi_acquire_callback done);
};

}  // namespace inner

/// Several names, of one client or several, even on several engines, held all together or not at
/// all. Thread-safe.
///
/// They are taken one after another, in an order that is the same for everybody: by the bytes of
/// the name with its client's prefix, then by the kind of engine, then by an id that the server
/// keeps; never by the URL, which may name one server in many ways. So two of them never wait for
/// each other, in whatever order their elements were given. The same name on the same server given
/// twice is taken once, exclusively if either is.
///
/// That holds among multi_locks. A thread that has locked one of the names by other means, and then
/// waits without end, gets `would_deadlock`, as with two mutexes of one name; and whoever takes
/// locks one by one while holding a multi_lock can close a circle, as with any locks.
///
/// Waiting times count for all together. When one cannot be had (busy, out of time, stopped, an
/// error), those that were taken are released before the call returns; `lost` is thrown when one
/// that was taken is lost while the others are waited for, which a fixed lease makes likely.
class multi_lock {
 public:
  struct element {
    client locks;
    std::string name;
    claim_mode mode = claim_mode::exclusive;  ///< or shared
  };

  /// Throws `invalid_name` for a bad name, and when there is none at all. Elements of one name and
  /// kind of engine but of different clients make it ask their servers who they are, once for each
  /// client: then it throws also what cells throw, `unsupported` where the engine has none.
  explicit multi_lock(std::span<const element> elements);
  multi_lock(std::initializer_list<element> elements)
      : multi_lock{std::span{elements.begin(), elements.size()}} {}
  multi_lock(const client& locks, std::span<const std::string> names);
  multi_lock(const client& locks, std::initializer_list<std::string_view> names);
  multi_lock(const multi_lock&) = delete;
  multi_lock& operator=(const multi_lock&) = delete;
  ~multi_lock();  ///< releases what lock() still holds

  // The standard way: TimedLockable, as mutex is.
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
  /// Of the hold taken by lock(). Throw `not_held` when there is none.
  [[nodiscard]] std::vector<crosslock::fence> fences() const;
  [[nodiscard]] std::stop_token lost() const;

  // The rich way.
  multi_hold acquire(acquire_how how = {});
  template <std::same_as<std::stop_token> Stop>
  [[nodiscard]] std::optional<multi_hold> acquire(Stop stop) {
    return acquire_within(std::nullopt, {.stop = std::move(stop)});
  }
  [[nodiscard]] std::optional<multi_hold> try_acquire(acquire_how how = {}) {
    return acquire_within(duration::zero(), std::move(how));
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<multi_hold> try_acquire_for(
      const std::chrono::duration<Rep, Period>& wait, acquire_how how = {}) {
    return acquire_within(wait_time(wait), std::move(how));
  }
  template <class Rep, class Period, class Rep2, class Period2>
  [[nodiscard]] std::optional<multi_hold> try_acquire_for(
      const std::chrono::duration<Rep, Period>& wait,
      const std::chrono::duration<Rep2, Period2>& lease, std::stop_token stop = {}) {
    return acquire_within(wait_time(wait), {.lease = wait_time(lease), .stop = std::move(stop)});
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<multi_hold> try_acquire_until(
      const std::chrono::time_point<Clock, Duration>& end, acquire_how how = {}) {
    return acquire_within(time_left(end), std::move(how));
  }
  /// Never blocks the caller: see async.hpp. What goes on between the first lock and the last runs
  /// where callbacks of the clients run, and so does the continuation unless resume_on says where.
  acquisition<multi_hold> async_acquire(acquire_how how = {},
                                        std::optional<duration> wait = std::nullopt);
  void acquire_async(multi_acquire_callback done, acquire_how how = {},
                     std::optional<duration> wait = std::nullopt) {
    async_acquire(std::move(how), wait).start(std::move(done));
  }

  std::size_t size() const noexcept;  ///< how many were given

 private:
  struct state;

  bool lock_within(std::optional<duration> wait);
  std::optional<multi_hold> acquire_within(std::optional<duration> wait, acquire_how how);

  std::unique_ptr<state> state_;
};

}  // namespace crosslock
