// What the standard's calls need beside the rich ones: holds that live inside the lock object.
#pragma once

#include "engine/guarded.hpp"
#include "lock/acquirer.hpp"
#include "lock/thread_token.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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
    const seam::lock_guard locked{guard_};
    thread_holds_.push_back({this_thread_token(), std::move(*held)});
    return true;
  }

  void unlock(claim_mode mode) noexcept {
    if (lock.core().inherited_by_fork()) return;
    std::optional<hold> ended;
    {
      const seam::lock_guard locked{guard_};
      const auto found = find(mode);
      if (found != thread_holds_.end()) {
        ended.emplace(std::move(found->held));
        thread_holds_.erase(found);
      }
    }
    if (!ended) lock.report_release(release_result::not_held);
  }

  /// The lock object ends; acquires that were described by it may live on.
  void let_go() noexcept {
    if (lock.core().inherited_by_fork()) return;
    std::vector<thread_hold> ended;
    const seam::lock_guard locked{guard_};
    ended.swap(thread_holds_);
  }

  /// Of this thread's hold, else of the one that is valid.
  template <class Question>
  auto ask_hold(Question&& question) {
    lock.core().check_usable();
    const seam::lock_guard locked{guard_};
    const auto found = find(std::nullopt);
    if (found == thread_holds_.end()) {
      throw not_locked();
    }
    return question(found->held);
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
  struct thread_hold {
    std::uint64_t thread;
    hold held;
  };

  error not_locked() const {
    return error{errc::not_held, "'" + lock.name().str() + "' is not locked by this object"};
  }

  /// What may tell a loss is asked without the guard. Null when there is none, and in a child.
  std::shared_ptr<inner::critical_section> critical_section() noexcept {
    if (lock.core().inherited_by_fork()) return nullptr;  // the guard may be locked for ever here
    const seam::lock_guard locked{guard_};
    const auto found = find(std::nullopt);
    return found == thread_holds_.end() ? nullptr : found->held.critical_section();
  }

  /// This thread's hold, else one that is valid, else the end.
  std::vector<thread_hold>::iterator find(std::optional<claim_mode> mode)
      CROSSLOCK_REQUIRES(guard_) {
    const auto fits = [&](const thread_hold& each) { return !mode || each.held.mode() == *mode; };
    const std::uint64_t me = this_thread_token();
    const auto mine =
        std::find_if(thread_holds_.begin(), thread_holds_.end(),
                     [&](const thread_hold& each) { return each.thread == me && fits(each); });
    if (mine != thread_holds_.end()) return mine;
    return std::find_if(thread_holds_.begin(), thread_holds_.end(), [&](const thread_hold& each) {
      return each.held.lost_reason() == loss_reason::none && fits(each);
    });
  }

  void refuse_own_thread() {
    lock.core().check_usable();
    const std::uint64_t me = this_thread_token();
    const seam::lock_guard locked{guard_};
    for (const thread_hold& each : thread_holds_) {
      if (each.thread == me) {
        throw error{errc::would_deadlock, "this thread has locked '" + lock.name().str() +
                                              "' already: unlock it first, or use recursive_mutex"};
      }
    }
  }

  seam::mutex guard_;
  std::vector<thread_hold> thread_holds_ CROSSLOCK_GUARDED_BY(guard_);
};

}  // namespace crosslock::inner
