// The command `crosslock top`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// A table of all locks that is drawn again and again, what is most waited for on top.
command offer_top(command_line& program);

}  // namespace crosslock::cli
