// Which thread this is, for locks that a thread owns.
#pragma once

#include <atomic>
#include <cstdint>

namespace crosslock::inner {

/// Unlike std::thread::id never given to a later thread, so that a lock left behind by a thread
/// that has ended is not taken for the new thread's own.
inline std::uint64_t this_thread_token() noexcept {
  static std::atomic<std::uint64_t> threads{0};
  // Initialised without code: that would have to be asked for, and guarded, at every call.
  [[gnu::tls_model("initial-exec")]] thread_local constinit std::uint64_t token = 0;
  if (token == 0) token = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return token;
}

}  // namespace crosslock::inner
