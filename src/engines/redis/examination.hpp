// A closer look at a server, for people who ask.
#pragma once

#include "engine/clock.hpp"
#include "engine/finding.hpp"
#include "engines/redis/address.hpp"

#include <vector>

namespace crosslock::redis {

/// On a connection of its own: what judge_server says, how the server is reached and how fast, its
/// clock, how it writes to its disk if it tells us, and what our user lacks to hear of grants.
/// Needs no more rights than the engine itself. Throws what connecting throws.
std::vector<seam::finding> examine_server(const address& where, bool eviction_allowed,
                                          seam::clock& clock, time_point give_up);

/// Whether nothing that is sent there leaves this machine.
bool is_local(const address& where) noexcept;

}  // namespace crosslock::redis
