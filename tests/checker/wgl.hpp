// The exhaustive cross-check: is there any order of the calls that a lock server could have carried
// out one after another? The search of Wing and Gong with the memory of Lowe; exponential, so for
// small histories only. Knows nothing of beliefs, and shares no rule with the sweeps.
#pragma once

#include "checker/history.hpp"

#include <cstddef>
#include <string>

namespace crosslock::checker {

enum class search_result { possible, impossible, too_large };

inline constexpr std::size_t search_calls_max = 200;

/// The fenced mutex of Hazelcast's Jepsen tests: (owner, fence, largest fence so far). An acquire
/// is legal when the lock is free and its fence is larger than all before; a release when the
/// owner matches; a refusal when it does not. A call of unknown outcome may have happened or not;
/// an expired, lost or killed hold may end at any time from then on. Exclusive claims only.
search_result search_mutex(const history& events, const std::string& lock,
                           bool ties_in_order = false);

/// Readers and one writer: as the mutex, and a reader gets in while no writer is in, with a fence
/// above those of all writers before it. A downgrade makes the writer a reader.
search_result search_shared(const history& events, const std::string& lock,
                            bool ties_in_order = false);

/// Permits: who has how many, never more than there are.
search_result search_permits(const history& events, const std::string& lock,
                             bool ties_in_order = false);

}  // namespace crosslock::checker
