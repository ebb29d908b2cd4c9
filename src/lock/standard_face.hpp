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
    held->critical_section()->note_thread(this_thread_token());
    holds_.add(std::move(*held));
    return true;
  }

  void unlock(claim_mode mode) noexcept {
    if (lock.core().inherited_by_fork()) return;
    const auto ended = holds_.take([mode](const hold& held) { return held.mode() == mode; });
    if (!ended) return lock.report_release(release_result::not_held);
    end(*ended);
  }

  /// The lock object ends; acquires that were described by it may live on.
  void let_go() noexcept {
    if (lock.core().inherited_by_fork()) return;
    for (const auto& each : holds_.take_all()) end(each.held);
  }

  /// Of this thread's hold, else of the one that is valid.
  template <class Question>
  auto ask_hold(Question&& question) {
    lock.core().check_usable();
    auto answer = holds_.ask(question);
    if (answer) return std::move(*answer);
    throw not_locked();
  }

  bool valid() noexcept {
    const auto entered = critical_section();
    return entered && entered->valid();
  }

  void check() {
    if (const auto entered = critical_section()) return entered->check();
    lock.core().check_usable();
    throw not_locked();
  }

 private:
  error not_locked() const {
    return error{errc::not_held, "'" + lock.name().str() + "' is not locked by this object"};
  }

  /// What may tell a loss is asked without the guard. Null when there is none, and in a child.
  std::shared_ptr<inner::critical_section> critical_section() noexcept {
    if (lock.core().inherited_by_fork()) return nullptr;  // the guard may be locked for ever here
    return holds_.ask([](const hold& held) { return held.critical_section(); }).value_or(nullptr);
  }

  /// Now, and not with the last reference: a thread in valid() may have one.
  static void end(const hold& held) noexcept { held.critical_section()->leave(); }

  void refuse_own_thread() {
    lock.core().check_usable();
    if (!holds_.has_own()) return;
    throw error{errc::would_deadlock, "this thread has locked '" + lock.name().str() +
                                          "' already: unlock it first, or use recursive_mutex"};
  }

  thread_holds<hold> holds_;
};

}  // namespace crosslock::inner
