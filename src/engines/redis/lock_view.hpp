// Reading what scripts tell: a lock as people see it, and what became of a renewal.
#pragma once

#include "engine/claim.hpp"
#include "engines/redis/reply.hpp"

#include <crosslock/inspect.hpp>

#include <string>

namespace crosslock::redis {

/// The answer of look.lua, with the line served: nothing has been written.
lock_info read_lock_view(std::string name, const reply& said);

/// The answer of renew.lua. What is no answer leaves the outcome unknown.
void read_renewal(const reply& said, seam::renewal& into);

}  // namespace crosslock::redis
