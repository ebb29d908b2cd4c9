// What the standard's calls need beside the rich ones: holds that live inside the lock object.
#pragma once

#include "lock/acquirer.hpp"
#include "lock/thread_holds.hpp"

#include <optional>
#include <utility>

namespace crosslock::inner {

/// Keeps the holds of lock() and lock_shared(), one per locking thread. A thread whose hold
/// was lost may still have to unlock while another already holds. Thread-safe.
class standard_face {
 public:
  standard_face(const client& locks, std::string_view name, bool among_readers = false)
      : lock{locks, name, among_readers} {}

  const acquirer lock;

  bool lock_until(time_point end, seam::demand demand = {}) {
    refuse_own_thread();
    auto held = lock.try_acquire({}, end, demand);
    if (!held) return false;
    holds_.add(std::move(*held));
    return true;
  }

  void unlock(claim_mode mode) noexcept {
    if (lock.core().inherited_by_fork()) return;
    const auto ended = holds_.take([mode](const hold& held) { return held.mode() == mode; });
    if (!ended) lock.report_release(release_result::not_held);
  }

  /// The lock object ends; acquires that were described by it may live on.
  void let_go() noexcept {
    if (!lock.core().inherited_by_fork()) holds_.clear();
  }

  /// Of this thread's hold, else of the one that is valid.
  template <class Question>
  auto ask_hold(Question&& question) {
    lock.core().check_usable();
    auto answer = holds_.ask(question);
    if (answer) return std::move(*answer);
    throw error{errc::not_held, "'" + lock.name().str() + "' is not locked by this object"};
  }

 private:
  void refuse_own_thread() {
    lock.core().check_usable();
    if (!holds_.has_own()) return;
    throw error{errc::would_deadlock, "this thread has locked '" + lock.name().str() +
                                          "' already: unlock it first, or use recursive_mutex"};
  }

  thread_holds<hold> holds_;
};

}  // namespace crosslock::inner
