// Telling a forked child from its parent without a system call.
#pragma once

#include <cstdint>

namespace crosslock::seam {

/// Grows by one in every forked child. A client remembers the value it was made under; when it
/// differs, the client belongs to the parent and must not be touched.
std::uint32_t fork_generation() noexcept;

}  // namespace crosslock::seam
