// May a grant go to the next thread of this process without the network?
#pragma once

#include <crosslock/options.hpp>
#include <crosslock/time.hpp>

#include <cstdint>

namespace crosslock::inner {

struct pass_question {
  bool same_lease = false;  ///< the next thread wants the same, renewed lease
  bool fence_left = false;  ///< the block has a higher fence to give
  duration lease_left{};    ///< until the deadline of the grant
  duration lease{};
  bool wanted = false;       ///< others wait on the server
  std::uint32_t passes = 0;  ///< since they are known to wait
  duration wanted_for{};
};

/// Bounded as soon as others are known to wait; never with a lease that is about to end.
constexpr bool may_pass(const pass_question& asked, const pass_options& limits) noexcept {
  if (!asked.same_lease || !asked.fence_left) return false;
  if (asked.lease_left < asked.lease / 20) return false;
  if (!asked.wanted) return true;
  return asked.passes < limits.passes && asked.wanted_for < limits.time;
}

}  // namespace crosslock::inner
