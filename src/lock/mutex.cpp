// The standard's face keeps the hold inside the mutex, one entry per locking thread: usually there
// is one, but a thread whose hold was lost may still have to unlock while another already holds.
#include <crosslock/mutex.hpp>

#include "lock/acquirer.hpp"
#include "lock/thread_token.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace crosslock {

struct mutex::state {
  struct entry {
    std::uint64_t thread;
    crosslock::hold hold;
  };

  state(const client& locks, std::string_view name) : lock{locks, name} {}

  const inner::acquirer lock;

  mutable std::mutex guard;
  std::vector<entry> entries;

  /// This thread's entry, else the one that is valid, else the end. The guard is held.
  std::vector<entry>::iterator find() {
    const std::uint64_t me = inner::this_thread_token();
    const auto mine = std::find_if(entries.begin(), entries.end(),
                                   [&](const entry& each) { return each.thread == me; });
    if (mine != entries.end()) return mine;
    return std::find_if(entries.begin(), entries.end(), [](const entry& each) {
      return each.hold.lost_reason() == loss_reason::none;
    });
  }

  void refuse_own_thread() {
    lock.core().check_usable();
    const std::uint64_t me = inner::this_thread_token();
    const std::lock_guard locked{guard};
    for (const entry& each : entries) {
      if (each.thread == me) {
        throw error{errc::would_deadlock, "this thread has locked '" + lock.name().str() +
                                              "' already: unlock it first, or use recursive_mutex"};
      }
    }
  }

  bool lock_until(time_point end) {
    refuse_own_thread();
    auto section = lock.acquire({}, end);
    if (!section) return false;
    const std::lock_guard locked{guard};
    entries.push_back({inner::this_thread_token(), hold{std::move(section)}});
    return true;
  }

  template <class Question>
  auto ask_hold(Question&& question) {
    lock.core().check_usable();
    const std::lock_guard locked{guard};
    const auto found = find();
    if (found == entries.end()) {
      throw error{errc::not_held, "'" + lock.name().str() + "' is not locked by this mutex"};
    }
    return question(found->hold);
  }
};

mutex::mutex(const client& locks, std::string_view name)
    : state_{std::make_unique<state>(locks, name)} {}
mutex::mutex(const client& locks, lock_name name) : mutex{locks, name.view()} {}
mutex::~mutex() = default;

void mutex::lock() { state_->lock_until(time_point::max()); }

bool mutex::try_lock() { return state_->lock_until(inner::wish::no_wait); }

bool mutex::lock_within(duration wait) {
  return state_->lock_until(state_->lock.end_of_standard_wait(wait));
}

void mutex::unlock() noexcept {
  if (state_->lock.core().inherited_by_fork()) return;
  std::optional<hold> ended;
  {
    const std::lock_guard locked{state_->guard};
    const auto found = state_->find();
    if (found != state_->entries.end()) {
      ended.emplace(std::move(found->hold));
      state_->entries.erase(found);
    }
  }
  if (ended) {
    ended->release();
  } else {
    state_->lock.report_release(release_result::not_held);
  }
}

fence mutex::fence() const {
  return state_->ask_hold([](const hold& held) { return held.fence(); });
}

std::stop_token mutex::lost() const {
  return state_->ask_hold([](const hold& held) { return held.lost(); });
}

hold mutex::acquire(acquire_how how) {
  auto section = state_->lock.acquire(how, time_point::max());
  if (!section) {
    throw error{errc::timed_out, "the wait for '" + name().str() + "' was stopped"};
  }
  return hold{std::move(section)};
}

std::optional<hold> mutex::acquire_until_stopped(std::stop_token stop) {
  auto section = state_->lock.acquire({.stop = std::move(stop)}, time_point::max());
  return section ? std::optional<hold>{std::move(section)} : std::nullopt;
}

std::optional<hold> mutex::try_acquire(acquire_how how) {
  return acquire_within(duration::zero(), std::move(how));
}

std::optional<hold> mutex::acquire_within(duration wait, acquire_how how) {
  auto section = state_->lock.acquire(how, state_->lock.core().end_of(wait));
  return section ? std::optional<hold>{std::move(section)} : std::nullopt;
}

void mutex::acquire_async(acquire_callback done, acquire_how how, std::optional<duration> wait) {
  inner::core& core = state_->lock.core();
  state_->lock.acquire_async(std::move(done), how, wait ? core.end_of(*wait) : time_point::max());
}

const lock_name& mutex::name() const noexcept { return state_->lock.name(); }

}  // namespace crosslock
