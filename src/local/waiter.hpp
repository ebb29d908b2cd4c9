// One acquire in progress: a blocked thread, or a callback to be called.
#pragma once

#include "local/tenancy.hpp"

#include <crosslock/hold.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace crosslock::inner {

/// What an acquire wants, and for how long it will wait.
struct wish {
  seam::wish want{};
  duration lease{};
  bool fixed = false;
  bool among_readers = false;          ///< of a lock that can also be shared
  time_point end = time_point::max();  ///< `no_wait`: one round trip, no place in line
  std::stop_token stop{};
  /// Asynchronous: where the callback runs, if not where the client's callbacks run.
  std::function<void(std::function<void()>)> executor{};

  static constexpr time_point no_wait = time_point::min();
  bool waits() const noexcept { return end != no_wait; }
};

/// A claim on the server that has not been granted yet, for the waiter that made it.
struct attempt {
  std::shared_ptr<inner::tenancy> tenancy;
  time_point began{};                 ///< when it became head
  bool asking = false;                ///< asynchronous: an ask is on its way
  bool was_on_server = false;         ///< before the present ask
  bool on_server = false;             ///< the server may know the claim
  bool stands = false;                ///< it was told to stand in line, or its ask failed
  std::optional<seam::grant> pushed;  ///< came while the head was busy
  bool look_now = false;
  time_point revoked_at{};  ///< a grant that was asked for before this was taken away
  acquire_cause next_cause = acquire_cause::asked;
  int failures = 0;
  std::uint64_t round = 0;  ///< asynchronous: numbers the asks, so that old timers are known
};

/// Guarded by the line's mutex but for `news`. A blocking waiter lives on its thread's stack, an
/// asynchronous one on the heap, kept by its own timers and the line.
struct waiter {
  enum class state { outside, queued, head, granted, failed, left };

  crosslock::inner::wish wish;
  std::shared_ptr<crosslock::inner::section> section;
  time_point started{};

  state now_is = state::outside;
  acquire_cause cause = acquire_cause::asked;
  std::exception_ptr failure;
  observer::wait_result left_because = observer::wait_result::busy;

  inner::attempt attempt;                    ///< while head
  const inner::section* upgrades = nullptr;  ///< a shared hold that shall become exclusive

  seam::park_word news{0};  ///< a blocking waiter parks here; grows with every change

  // Asynchronous waiters only.
  acquire_callback done;
  std::shared_ptr<waiter> self;  ///< while the line has it
  errands::ticket timer{};       ///< gives up at the end of the wait
  std::optional<std::stop_callback<std::function<void()>>> stop_watch;

  waiter* before = nullptr;
  waiter* after = nullptr;

  bool asynchronous() const noexcept { return static_cast<bool>(done); }
};

/// First come first served, without allocation. Guarded by the line's mutex.
class waiter_queue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  waiter& front() const noexcept { return *first_; }
  /// The first that the question is answered with yes for; null when there is none.
  template <class Question>
  waiter* find(Question&& question) const {
    waiter* at = first_;
    while (at && !question(*at)) at = at->after;
    return at;
  }

  void push_back(waiter& waiter) noexcept {
    waiter.before = last_;
    waiter.after = nullptr;
    (last_ ? last_->after : first_) = &waiter;
    last_ = &waiter;
  }

  void remove(waiter& waiter) noexcept {
    (waiter.before ? waiter.before->after : first_) = waiter.after;
    (waiter.after ? waiter.after->before : last_) = waiter.before;
    waiter.before = waiter.after = nullptr;
  }

  waiter& pop_front() noexcept {
    waiter& front = *first_;
    remove(front);
    return front;
  }

 private:
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

}  // namespace crosslock::inner
