// What the user has in hand.
#pragma once

#include <crosslock/fence.hpp>
#include <crosslock/inspect.hpp>
#include <crosslock/lock_name.hpp>
#include <crosslock/observer.hpp>
#include <crosslock/owner_id.hpp>
#include <crosslock/receipt.hpp>
#include <crosslock/time.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace crosslock {

namespace inner {
class critical_section;
}  // namespace inner

class releasing;
using release_callback = std::function<void(release_result)>;

/// One critical section: from the moment the lock was granted until release, loss, or the end of
/// this object. Belongs to whoever has the object, not to a thread. Destruction releases silently,
/// also when an exception leaves the scope, and does not wait for the server's answer. One thread
/// at a time may use a hold; the stop_token it gives out may be used anywhere.
///
/// | state | fence() | lost() | check() | release() |
/// |---|---|---|---|---|
/// | held | the token | not requested | returns | `released` or `passed` |
/// | lost | the same token | requested | throws `lost` | `lost`, nothing changes on the server |
/// | released, detached | the same token | never requested | throws `not_held` | `not_held` |
/// | moved from | 0 | never requested | throws `not_held` | `not_held` |
class [[nodiscard]] hold {
 public:
  hold(hold&& other) noexcept;
  hold& operator=(hold&& other) noexcept;  ///< releases what it had
  hold(const hold&) = delete;
  hold& operator=(const hold&) = delete;
  ~hold();

  const lock_name& name() const;
  [[nodiscard]] crosslock::fence fence() const noexcept;
  owner_id owner() const noexcept;
  /// exclusive, shared or permit: changed by shared_mutex::upgrade and downgrade.
  claim_mode mode() const noexcept;
  /// While the hold is valid, nobody else can have been granted the name before then, unless the
  /// server lost its state.
  /// Moves forward with each renewal.
  [[nodiscard]] time_point expires_at() const noexcept;

  /// Requested once, before the lease can end on the server, when the hold ends other than by
  /// its release. Callbacks registered on it run on a thread of their own.
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] loss_reason lost_reason() const noexcept;
  /// Requested once when somebody waits for what is held, in this process or, as far as the engine
  /// tells (docs/locks.md), elsewhere: a polite holder leaves early. Says nothing about validity,
  /// and stays requested when the waiter has given up. Callbacks run as those on lost().
  [[nodiscard]] std::stop_token wanted() const;
  /// Reads the clock: false from the deadline on, whatever else the process is doing.
  [[nodiscard]] bool valid() const noexcept;
  /// Throws `lost` (or `not_held`) unless valid().
  void check() const;

  /// Asks the server, now, for at least `lease` from now on; without it for the client's own. Never
  /// shortens. A fixed lease stays fixed and ends later; one that is renewed goes on being renewed.
  /// Returns expires_at(), which lies before that by a margin, and on engines whose lease is a
  /// session not behind the end of that. Readers of one process that share a grant share this.
  /// Throws `lost`, `not_held`, `invalid_lease`; and when no answer came: then nothing has changed
  /// here, and the hold ends when it would have ended.
  time_point extend(std::optional<duration> lease = std::nullopt);

  /// Waits for the server's answer.
  release_result release() noexcept;
  /// Sends the release and returns; `done` is told what release() would have returned, where
  /// continuations of acquires run (acquisition). Throws `closed`, `forked`, or `not_held` if this
  /// hold was moved from.
  void release_async(release_callback done);
  /// The same as a future or an awaitable: `co_await held.async_release()` (async.hpp).
  releasing async_release() const noexcept;
  /// Lets go of the hold without releasing it. Throws `unsupported` where the engine's lease ends
  /// with the process, `lost` or `not_held` when there is nothing to detach.
  [[nodiscard]] receipt detach();

  /// For the library's own use: takes a granted critical section.
  explicit hold(std::shared_ptr<inner::critical_section> entered) noexcept;
  const std::shared_ptr<inner::critical_section>& critical_section() const noexcept {
    return critical_section_;
  }

 private:
  friend class shared_mutex;

  std::shared_ptr<inner::critical_section> critical_section_;
};

/// What a callback is given: a hold; or neither, when stopped or out of time; or a failure.
template <class Held>
struct acquire_outcome {
  std::optional<Held> hold{};
  std::exception_ptr failure{};
};

using acquire_result = acquire_outcome<hold>;
using acquire_callback = std::function<void(acquire_result)>;

/// How one acquire differs from the client's defaults.
struct acquire_how {
  /// A fixed lease: not renewed, it simply ends. Empty: the client's lease, renewed while held.
  std::optional<duration> lease{};
  /// Ends the wait without a hold.
  std::stop_token stop{};
};

}  // namespace crosslock
