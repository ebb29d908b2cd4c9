// One futex word per OS thread: the cheapest way to hand the right to run from one thread to
// another. Built from an atomic, so that the thread sanitizer sees the order it makes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace crosslock::world {

class baton {
 public:
  /// The taker may run, and even free this object, before give() is back from the kernel, which
  /// uses the address only.
  void give() noexcept {
    word_.store(1, std::memory_order_release);
    futex(FUTEX_WAKE_PRIVATE, 1, nullptr);
  }

  void take() noexcept {
    while (word_.exchange(0, std::memory_order_acquire) == 0) {
      futex(FUTEX_WAIT_PRIVATE, 0, nullptr);
    }
  }

  /// False when nobody gave it within about `seconds` of real time.
  bool take_within(std::time_t seconds) noexcept {
    if (word_.exchange(0, std::memory_order_acquire) != 0) return true;
    const timespec limit{seconds, 0};
    futex(FUTEX_WAIT_PRIVATE, 0, &limit);
    return word_.exchange(0, std::memory_order_acquire) != 0;
  }

 private:
  void futex(int operation, std::uint32_t value, const timespec* limit) noexcept {
    ::syscall(SYS_futex, &word_, operation, value, limit, nullptr, 0);
  }

  std::atomic<std::uint32_t> word_{0};
};

}  // namespace crosslock::world
