// One acquire in progress: a blocked thread, or a callback to be called.
#pragma once

#include "local/claim_state.hpp"
#include "local/line_mutex.hpp"
#include "local/local_grant.hpp"

#include <crosslock/hold.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace crosslock::inner {

/// What an acquire wants, and for how long it will wait.
struct acquire_request {
  seam::demand demand{};
  duration lease{};
  bool fixed = false;
  bool among_readers = false;          ///< of a lock that can also be shared
  time_point end = time_point::max();  ///< `no_wait`: one round trip, no place in line
  std::stop_token stop{};
  /// A thread that waits without end, whatever happens (thread_token.hpp); 0: none.
  std::uint64_t endless_thread = 0;
  /// Asynchronous: where the callback runs, if not where the client's callbacks run.
  std::function<void(std::function<void()>)> executor{};

  static constexpr time_point no_wait = time_point::min();
  bool waits() const noexcept { return end != no_wait; }
};

/// Guarded by the line's mutex but for `news`, and once it has ended its owner's alone. A blocking
/// waiter lives on its thread's stack, an asynchronous one on the heap, kept by the line.
struct waiter {
  enum class state { outside, queued, claimant, granted, failed, left };

  acquire_request request;
  std::shared_ptr<crosslock::inner::critical_section> critical_section;
  time_point started{};

  state now_is = state::outside;
  acquire_cause cause = acquire_cause::asked;
  std::exception_ptr failure;
  observer::wait_result left_because = observer::wait_result::busy;

  // While claimant.
  claim_state claim;
  std::shared_ptr<local_grant> record;  ///< what is claimed, and what the grant will be
  time_point claims_since{};
  const inner::critical_section* upgrades = nullptr;  ///< a shared hold that shall become exclusive
  const seam::grant* adopts = nullptr;                ///< a detached hold that shall be taken up

  seam::park_word news{0};  ///< a blocking waiter parks here; grows with every change

  // Asynchronous waiters only.
  acquire_callback done;
  std::shared_ptr<waiter> self;  ///< while the line has it
  task_queue::ticket timer{};    ///< gives up at the end of the wait
  task_queue::ticket overdue{};  ///< looks whether the answer to its ask has come
  time_point look_planned{};     ///< the moment of the last look that was planned
  std::optional<std::stop_callback<std::function<void()>>> stop_watch;

  waiter* before = nullptr;
  waiter* after = nullptr;

  bool asynchronous() const noexcept { return static_cast<bool>(done); }
};

/// First come first served, without allocation.
class waiter_queue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  waiter& front() const noexcept { return *first_; }
  /// The first that the question is answered with yes for; null when there is none.
  template <class Question>
  waiter* find(Question&& question) const CROSSLOCK_REQUIRES(line_mutex) {
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
