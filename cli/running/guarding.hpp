// What the guardian does, in its own process.
#pragma once

#include "cli/descriptor.hpp"
#include "cli/running/guardian.hpp"

namespace crosslock::cli {

/// `letters` leads to the program. Never returns.
[[noreturn]] void guard(const guarded& what, descriptor letters);

}  // namespace crosslock::cli
