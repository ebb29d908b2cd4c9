// Acquires that wait without a thread: described first, then begun by a callback, a future, or
// co_await.
#pragma once

#include <crosslock/error.hpp>
#include <crosslock/hold.hpp>
#include <crosslock/inspect.hpp>
#include <crosslock/time.hpp>

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace crosslock {

/// Runs the function it is given, once; not before it returns. One that throws has not taken it:
/// then it runs where it would have run without this executor.
using continuation_executor = std::function<void(std::function<void()>)>;

namespace inner {

class acquirer;

/// What an acquire of that kind needs to begin; empty once it has begun.
template <class Held>
struct acquire_plan;

template <>
struct acquire_plan<hold> {
  std::shared_ptr<const acquirer> lock{};
  acquire_how how{};
  std::optional<duration> wait{};
  claim_mode mode = claim_mode::exclusive;
  std::int32_t permits = 1;
  std::int32_t of = 1;
  continuation_executor executor{};
  /// An upgrade: the shared critical section in whose place the next one comes.
  std::shared_ptr<critical_section> upgrades{};

  /// Throws `not_held` the second time.
  void start(acquire_callback done);
};

[[noreturn]] void refuse_second_start();

/// Ends a wait from two sides: by the token that the user gave, and by whoever has this.
class joined_stop {
 public:
  explicit joined_stop(const std::stop_token& theirs) {
    if (theirs.stop_possible()) relay_.emplace(theirs, pass_on{source_});
  }

  std::stop_token token() const noexcept { return source_.get_token(); }
  void request() noexcept { source_.request_stop(); }

 private:
  struct pass_on {
    std::stop_source to;
    void operator()() noexcept { to.request_stop(); }
  };

  std::stop_source source_;
  std::optional<std::stop_callback<pass_on>> relay_;
};

/// Where a suspended coroutine and the end of its acquire meet. Owned by both; who comes second
/// knows it. Thread-safe.
template <class Held>
class meeting {
 public:
  meeting(std::coroutine_handle<> waiting, const std::stop_token& stop)
      : waiting_{waiting}, stop_{stop} {}

  std::stop_token token() const noexcept { return stop_.token(); }

  /// The acquire has ended. A hold that nobody waits for any more is released here.
  void arrive(acquire_outcome<Held> outcome) {
    outcome_ = std::move(outcome);
    if (state_.exchange(state::arrived) == state::abandoned) {
      outcome_ = {};
    } else {
      waiting_.resume();
    }
  }
  /// The coroutine was destroyed. If it was still waiting, its claim leaves the line.
  void abandon() noexcept {
    if (state_.exchange(state::abandoned) == state::waiting) stop_.request();
  }

  acquire_outcome<Held> take() { return std::exchange(outcome_, {}); }

 private:
  enum class state { waiting, arrived, abandoned };

  const std::coroutine_handle<> waiting_;
  joined_stop stop_;
  std::atomic<state> state_{state::waiting};
  acquire_outcome<Held> outcome_;  // the coroutine's once arrived
};

/// What co_await works with; lives in the frame of the coroutine.
template <class Held>
class [[nodiscard]] acquire_awaiter {
 public:
  explicit acquire_awaiter(acquire_plan<Held> plan) noexcept : plan_{std::move(plan)} {}
  acquire_awaiter(const acquire_awaiter&) = delete;
  acquire_awaiter& operator=(const acquire_awaiter&) = delete;
  ~acquire_awaiter() {
    if (meeting_) meeting_->abandon();
  }

  bool await_ready() const noexcept { return false; }

  void await_suspend(std::coroutine_handle<> waiting) {
    // As soon as it has begun, another thread may resume the coroutine and bring it to its end:
    // everything that start() needs is in locals, and nothing of this object is touched behind it.
    acquire_plan<Held> plan = std::move(plan_);
    const auto shared = std::make_shared<meeting<Held>>(waiting, plan.how.stop);
    meeting_ = shared;
    plan.how.stop = shared->token();
    plan.start([shared](acquire_outcome<Held> outcome) { shared->arrive(std::move(outcome)); });
  }

  std::optional<Held> await_resume() {
    acquire_outcome<Held> outcome = std::exchange(meeting_, nullptr)->take();
    if (outcome.failure) std::rethrow_exception(outcome.failure);
    return std::move(outcome.hold);
  }

 private:
  acquire_plan<Held> plan_;
  std::shared_ptr<meeting<Held>> meeting_;
};

}  // namespace inner

/// The future of an acquire. Destroyed before it was asked, it lets the claim leave the line, and a
/// hold that is already on its way is released. Moved into a plain std::future it is one: then
/// nobody notices when that is dropped, and the hold is released when it comes.
template <class Held>
class [[nodiscard]] acquire_future : public std::future<std::optional<Held>> {
 public:
  acquire_future() noexcept = default;
  acquire_future(acquire_future&&) noexcept = default;
  acquire_future& operator=(acquire_future&& other) noexcept {
    if (this == &other) return *this;
    leave_line();
    std::future<std::optional<Held>>::operator=(std::move(other));
    stop_ = std::move(other.stop_);
    return *this;
  }
  acquire_future(const acquire_future&) = delete;
  acquire_future& operator=(const acquire_future&) = delete;
  ~acquire_future() { leave_line(); }

  /// For the library's own use.
  acquire_future(std::future<std::optional<Held>> later,
                 std::shared_ptr<inner::joined_stop> stop) noexcept
      : std::future<std::optional<Held>>{std::move(later)}, stop_{std::move(stop)} {}

 private:
  void leave_line() noexcept {
    if (stop_ && this->valid()) stop_->request();
  }

  std::shared_ptr<inner::joined_stop> stop_;
};

/// An acquire that is described but has not begun: what a lock's `async_acquire` returns. It begins
/// once, in one of three ways, each of which returns at once and takes no thread while it waits; a
/// waiting time counts from then. One that is never begun does nothing.
///
///     lock.async_acquire().start([](crosslock::acquire_result result) { ... });
///     crosslock::acquire_future<hold> later = lock.async_acquire().future();
///     std::optional<hold> held = co_await lock.async_acquire({}, 2s);
///
/// Empty means out of time or stopped (acquire_how::stop); a failure is an exception. The lock
/// object may be destroyed meanwhile.
///
/// The continuation (the callback, or the coroutine behind co_await) runs where resume_on says; if
/// that was not called, where options::executor says; without one, on a thread of the client's own,
/// one continuation after another. Never inside of the call that began it, and never on a thread
/// that the library needs for other work.
///
/// Move-only; one thread at a time. Begun a second time it throws `not_held`.
template <class Held>
class [[nodiscard]] acquisition {
 public:
  using callback = std::function<void(acquire_outcome<Held>)>;

  acquisition(acquisition&&) noexcept = default;
  acquisition& operator=(acquisition&&) noexcept = default;
  acquisition(const acquisition&) = delete;
  acquisition& operator=(const acquisition&) = delete;
  ~acquisition() = default;

  /// Where the continuation of this acquire runs.
  acquisition resume_on(continuation_executor where) && {
    plan_.executor = std::move(where);
    return std::move(*this);
  }

  /// `done` is called exactly once, unless this throws: `closed`, `forked`, `invalid_lease`.
  void start(callback done) && { plan_.start(std::move(done)); }

  /// Every failure is in the future.
  acquire_future<Held> future() &&;

  /// A coroutine of any type can await it. When the coroutine is destroyed while it waits, the
  /// claim leaves the line, and a hold that is already on its way is released. As with everything
  /// that a coroutine awaits: destroy it where its continuation would run, or where it cannot be
  /// resumed at the same moment.
  inner::acquire_awaiter<Held> operator co_await() && noexcept {
    return inner::acquire_awaiter<Held>{std::move(plan_)};
  }

  /// For the library's own use.
  explicit acquisition(inner::acquire_plan<Held> plan) noexcept : plan_{std::move(plan)} {}
  inner::acquire_plan<Held>& plan() noexcept { return plan_; }

 private:
  inner::acquire_plan<Held> plan_;
};

template <class Held>
acquire_future<Held> acquisition<Held>::future() && {
  const auto promise = std::make_shared<std::promise<std::optional<Held>>>();
  const auto stop = std::make_shared<inner::joined_stop>(plan_.how.stop);
  acquire_future<Held> result{promise->get_future(), stop};
  plan_.how.stop = stop->token();
  try {
    // The stop is kept: a plain future may have been made of the result.
    std::move(*this).start([promise, stop](acquire_outcome<Held> outcome) {
      if (outcome.failure) {
        promise->set_exception(outcome.failure);
      } else {
        promise->set_value(std::move(outcome.hold));
      }
    });
  } catch (const error&) {
    promise->set_exception(std::current_exception());
  }
  return result;
}

/// A release that is described but has not begun: what hold::async_release returns. It begins once,
/// in one of two ways, each of which returns at once. One that is never begun does nothing.
class [[nodiscard]] releasing {
 public:
  /// Every failure is in the future.
  std::future<release_result> future() &&;

  /// The release goes on when the coroutine is destroyed meanwhile.
  class [[nodiscard]] awaiter {
   public:
    explicit awaiter(std::shared_ptr<inner::critical_section> held) noexcept
        : held_{std::move(held)} {}
    awaiter(const awaiter&) = delete;
    awaiter& operator=(const awaiter&) = delete;
    ~awaiter() {
      if (meeting_) meeting_->abandon();
    }

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      // As for an acquire: behind the start nothing of this object is touched.
      const auto held = std::move(held_);
      const auto shared =
          std::make_shared<inner::meeting<release_result>>(waiting, std::stop_token{});
      meeting_ = shared;
      begin(held, [shared](release_result result) { shared->arrive({.hold = result}); });
    }
    release_result await_resume() { return *std::exchange(meeting_, nullptr)->take().hold; }

   private:
    std::shared_ptr<inner::critical_section> held_;
    std::shared_ptr<inner::meeting<release_result>> meeting_;
  };
  awaiter operator co_await() && noexcept { return awaiter{std::move(held_)}; }

  /// For the library's own use.
  explicit releasing(std::shared_ptr<inner::critical_section> held) noexcept
      : held_{std::move(held)} {}

 private:
  /// Throws `closed`, `forked`; `not_held` for a hold that was moved from.
  static void begin(const std::shared_ptr<inner::critical_section>& held, release_callback done);

  std::shared_ptr<inner::critical_section> held_;
};

}  // namespace crosslock
