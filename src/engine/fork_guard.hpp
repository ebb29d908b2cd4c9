// Telling a forked child from its parent without a system call.
#pragma once

#include "engine/guarded.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

namespace crosslock::seam {

/// Counted by real_clock.cpp; ask fork_generation().
extern std::atomic<std::uint32_t> forks;

/// Grows by one in every forked child. A client remembers the value it was made under; when it
/// differs, the client belongs to the parent and must not be touched.
inline std::uint32_t fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

/// For tables of a whole process, which are locked for a moment only. A child that inherits it
/// locked, by a thread which it does not have, may take it.
class CROSSLOCK_CAPABILITY("mutex") fork_safe_mutex {
 public:
  void lock() noexcept CROSSLOCK_ACQUIRE() {
    const std::uint32_t mine = fork_generation() + 1;
    for (std::uint32_t seen = 0; !taken_by_.compare_exchange_weak(seen, mine);) {
      if (seen != mine) continue;  // inherited: replace what is there
      std::this_thread::yield();
      seen = 0;
    }
  }
  void unlock() noexcept CROSSLOCK_RELEASE() { taken_by_.store(0); }

 private:
  std::atomic<std::uint32_t> taken_by_{0};  // a generation, counted from one
};

}  // namespace crosslock::seam
