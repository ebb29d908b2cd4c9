// The command `crosslock show`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// Everything of one lock; that nobody has it is no error.
command offer_show(command_line& program);

}  // namespace crosslock::cli
