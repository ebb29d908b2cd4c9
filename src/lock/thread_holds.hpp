// The holds of lock() and its kind, which live inside a lock object: one per locking thread.
#pragma once

#include "engine/guarded.hpp"
#include "lock/thread_token.hpp"

#include <crosslock/observer.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace crosslock::inner {

/// A guard may end on another thread than it began, and a hold may be lost before it is unlocked,
/// when another thread of the same object holds already. Thread-safe.
template <class Hold>
class thread_holds {
 public:
  struct thread_hold {
    std::uint64_t thread;
    Hold held;
  };

  void add(Hold held) {
    const seam::lock_guard locked{guard_};
    holds_.push_back({this_thread_token(), std::move(held)});
  }

  /// Whether this thread has locked and not unlocked.
  bool has_own() {
    const seam::lock_guard locked{guard_};
    return own([](const Hold&) { return true; }) != holds_.end();
  }

  /// The one that an unlock by this thread is meant for; empty when there is none. An unlock by
  /// another thread than the one that locked may be meant for any: then it is the first that was
  /// lost, because one that is valid must never be given up by mistake. The other comes later.
  template <class Fits>
  std::optional<Hold> take(const Fits& fits) {
    const seam::lock_guard locked{guard_};
    auto found = own(fits);
    if (found == holds_.end())
      found = of_anybody([&](const Hold& it) { return is_lost(it) && fits(it); });
    if (found == holds_.end()) found = of_anybody(fits);
    if (found == holds_.end()) return std::nullopt;
    std::optional<Hold> taken{std::move(found->held)};
    holds_.erase(found);
    return taken;
  }

  /// Asks this thread's hold, else one that is valid; empty when there is none.
  template <class Question>
  auto ask(const Question& question) {
    const seam::lock_guard locked{guard_};
    auto found = own([](const Hold&) { return true; });
    if (found == holds_.end()) found = of_anybody([](const Hold& it) { return !is_lost(it); });
    using answer = decltype(question(found->held));
    return found == holds_.end() ? std::optional<answer>{} : std::optional{question(found->held)};
  }

  std::vector<thread_hold> take_all() noexcept {
    const seam::lock_guard locked{guard_};
    return std::exchange(holds_, {});
  }

 private:
  using place = typename std::vector<thread_hold>::iterator;

  static bool is_lost(const Hold& held) { return held.lost_reason() != loss_reason::none; }

  template <class Fits>
  place own(const Fits& fits) CROSSLOCK_REQUIRES(guard_) {
    const std::uint64_t me = this_thread_token();
    return std::find_if(holds_.begin(), holds_.end(), [&](const thread_hold& each) {
      return each.thread == me && fits(each.held);
    });
  }
  template <class Fits>
  place of_anybody(const Fits& fits) CROSSLOCK_REQUIRES(guard_) {
    return std::find_if(holds_.begin(), holds_.end(),
                        [&](const thread_hold& each) { return fits(each.held); });
  }

  seam::mutex guard_;
  std::vector<thread_hold> holds_ CROSSLOCK_GUARDED_BY(guard_);
};

}  // namespace crosslock::inner
