// The least a first-come lock inside of one process can do.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace crosslock::bench {

/// A queue of waiters, each asleep on a futex word of its own; unlock hands the lock to the first
/// and wakes it. No fence, no deadline, no name. Thread-safe.
class fifo_futex_lock {
 public:
  void lock() {
    waiter me;
    {
      const std::lock_guard guard{mutex_};
      if (!held_) {
        held_ = true;
        return;
      }
      (last_ ? last_->next : first_) = &me;
      last_ = &me;
    }
    while (me.turn.load(std::memory_order_acquire) == 0) {
      syscall(SYS_futex, &me.turn, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
  }

  void unlock() {
    std::atomic<std::uint32_t>* word = nullptr;
    {
      const std::lock_guard guard{mutex_};
      if (!first_) {
        held_ = false;
        return;
      }
      word = &first_->turn;
      first_ = first_->next;
      if (!first_) last_ = nullptr;
    }
    // From here on the waiter may be gone: only the address of its word is used to wake it.
    word->store(1, std::memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  struct waiter {
    std::atomic<std::uint32_t> turn{0};
    waiter* next = nullptr;
  };

  std::mutex mutex_;
  bool held_ = false;
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

}  // namespace crosslock::bench
