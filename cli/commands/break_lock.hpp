// The command `crosslock break`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// Takes a lock away from the owner that is named. Asks before, if there is somebody to ask.
command offer_break(command_line& program);

}  // namespace crosslock::cli
