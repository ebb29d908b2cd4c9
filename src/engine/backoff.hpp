// How long to wait before a failed request is tried again.
#pragma once

#include <crosslock/options.hpp>
#include <crosslock/time.hpp>

#include <cstdint>

namespace crosslock::seam {

/// The pause before retry `attempt` (0 is the first one): `base` doubled so many times, at most
/// `cap`; of that a random part between half and the whole. Pure, and right for every input:
/// a base or cap of zero or less gives no pause.
duration retry_delay(const retry_options& retry, std::uint64_t attempt,
                     std::uint64_t random) noexcept;

}  // namespace crosslock::seam
