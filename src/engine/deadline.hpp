// How long a grant may be believed: computed here and nowhere else.
#pragma once

#include <crosslock/time.hpp>

#include <algorithm>

namespace crosslock::seam {

/// What is taken off a lease for clocks that run at different rates and for rounding.
constexpr duration lease_margin(duration lease) noexcept {
  return lease / 100 + std::chrono::milliseconds{2};
}

/// The loss signal goes out this much before the deadline, so that it is heard by then, also when
/// a thousand holds are lost at once.
constexpr duration notice_lead(duration lease) noexcept {
  return std::min<duration>(lease / 50, std::chrono::milliseconds{10});
}

/// The deadline: counted from before the request was sent, never from its answer, because the
/// server may have started the lease at any moment between the two.
constexpr time_point valid_until(time_point sent, duration lease) noexcept {
  return sent + lease - lease_margin(lease);
}

/// `sent`, unless the mutant that counts from the answer is in force.
time_point counted_from(time_point sent, time_point answered) noexcept;

}  // namespace crosslock::seam
