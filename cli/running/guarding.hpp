// What the guardian does, in its own process.
#pragma once

#include "cli/descriptor.hpp"
#include "cli/running/guardian.hpp"

namespace crosslock::cli {

/// `socket` leads to the program. Never returns.
[[noreturn]] void guard(const guarded& what, descriptor socket);

}  // namespace crosslock::cli
