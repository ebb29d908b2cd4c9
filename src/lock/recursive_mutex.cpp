// Re-entry without a mutex or a system call: each owning thread has a record that only it changes,
// and `current` points to the record of the thread that holds the lock. Records are never freed
// before the recursive_mutex, so a thread may look at another's token at any time.
#include <crosslock/recursive_mutex.hpp>

#include "engine/guarded.hpp"
#include "lock/acquirer.hpp"
#include "lock/thread_token.hpp"

#include <atomic>
#include <utility>
#include <vector>

namespace crosslock {

struct recursive_mutex::state {
  struct record {
    std::atomic<std::uint64_t> thread{0};  // 0: free
    std::size_t depth = 0;
    std::shared_ptr<inner::critical_section> critical_section;
  };

  state(const client& locks, std::string_view name) : lock{locks, name} {}

  const inner::acquirer lock;
  std::atomic<record*> current{nullptr};

  seam::mutex guard;
  std::vector<std::unique_ptr<record>> records CROSSLOCK_GUARDED_BY(guard);

  /// The record of this thread when it holds the lock as far as anybody knows: no mutex.
  record* own_current() const noexcept {
    record* const found = current.load(std::memory_order_acquire);
    const bool mine =
        found && found->thread.load(std::memory_order_relaxed) == inner::this_thread_token();
    return mine ? found : nullptr;
  }

  /// The same also for a thread whose hold was lost and taken by another.
  record* own() {
    if (record* const found = own_current()) return found;
    if (lock.core().inherited_by_fork()) return nullptr;  // the guard may be locked for ever here
    const seam::lock_guard locked{guard};
    return with_thread(inner::this_thread_token());
  }

  record* with_thread(std::uint64_t thread) const CROSSLOCK_REQUIRES(guard) {
    for (const auto& each : records) {
      if (each->thread.load(std::memory_order_relaxed) == thread) return each.get();
    }
    return nullptr;
  }

  void remember(std::shared_ptr<inner::critical_section> entered) {
    const seam::lock_guard locked{guard};
    record* free = with_thread(0);
    if (!free) free = records.emplace_back(std::make_unique<record>()).get();
    free->depth = 1;
    free->critical_section = std::move(entered);
    free->thread.store(inner::this_thread_token(), std::memory_order_relaxed);
    current.store(free, std::memory_order_release);
  }

  /// Takes the critical section out of a record and frees the record.
  std::shared_ptr<inner::critical_section> forget(record& ended) {
    const seam::lock_guard locked{guard};
    record* expected = &ended;
    current.compare_exchange_strong(expected, nullptr);
    ended.thread.store(0, std::memory_order_relaxed);
    return std::move(ended.critical_section);
  }

  bool lock_until(time_point end) {
    if (record* const mine = own()) {
      mine->critical_section->check_again();
      ++mine->depth;
      return true;
    }
    auto entered = lock.acquire({}, end);
    if (!entered) return false;
    entered->note_thread(inner::this_thread_token());
    remember(std::move(entered));
    return true;
  }

  const inner::critical_section& own_critical_section() {
    lock.core().check_usable();
    record* const mine = own();
    if (!mine) {
      throw error{errc::not_held, "'" + lock.name().str() + "' is not locked by this thread"};
    }
    return *mine->critical_section;
  }
};

recursive_mutex::recursive_mutex(const client& locks, std::string_view name)
    : state_{std::make_unique<state>(locks, name)} {}
recursive_mutex::recursive_mutex(const client& locks, lock_name name)
    : recursive_mutex{locks, name.view()} {}
recursive_mutex::~recursive_mutex() = default;

void recursive_mutex::lock() { state_->lock_until(time_point::max()); }

bool recursive_mutex::try_lock() { return state_->lock_until(inner::acquire_request::no_wait); }

bool recursive_mutex::lock_within(duration wait) {
  return state_->lock_until(state_->lock.core().end_of(wait));
}

void recursive_mutex::unlock() noexcept {
  state::record* mine = state_->own_current();
  if (mine && mine->depth > 1) {
    --mine->depth;
    return;
  }
  if (state_->lock.core().inherited_by_fork()) return;
  mine = state_->own();
  if (!mine) return state_->lock.report_release(release_result::not_owner);
  if (--mine->depth > 0) return;
  state_->forget(*mine)->leave();
}

fence recursive_mutex::fence() const { return state_->own_critical_section().fence(); }

std::stop_token recursive_mutex::lost() const {
  return state_->own_critical_section().lost_token();
}

time_point recursive_mutex::expires_at() const {
  return state_->own_critical_section().expires_at();
}

bool recursive_mutex::valid() const noexcept {
  const state::record* const mine = state_->own();
  return mine && mine->critical_section->valid();
}

void recursive_mutex::check() const { state_->own_critical_section().check(); }

std::size_t recursive_mutex::depth() const noexcept {
  const state::record* const mine = state_->own();
  return mine ? mine->depth : 0;
}

const lock_name& recursive_mutex::name() const noexcept { return state_->lock.name(); }

}  // namespace crosslock
