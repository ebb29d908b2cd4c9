// Which thread this is, for locks that a thread owns.
#pragma once

#include <atomic>
#include <cstdint>

namespace crosslock::inner {

/// Unlike std::thread::id never given to a later thread, so that a lock left behind by a thread
/// that has ended is not taken for the new thread's own.
inline std::uint64_t this_thread_token() noexcept {
  static std::atomic<std::uint64_t> threads{0};
  thread_local const std::uint64_t token = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return token;
}

}  // namespace crosslock::inner
