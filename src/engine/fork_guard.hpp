// Telling a forked child from its parent without a system call.
#pragma once

#include <atomic>
#include <cstdint>

namespace crosslock::seam {

/// Counted by real_clock.cpp; ask fork_generation().
extern std::atomic<std::uint32_t> forks;

/// Grows by one in every forked child. A client remembers the value it was made under; when it
/// differs, the client belongs to the parent and must not be touched.
inline std::uint32_t fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

}  // namespace crosslock::seam
