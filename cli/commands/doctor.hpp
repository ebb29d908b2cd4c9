// The command `crosslock doctor`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// Connects, shows what the engine has to say, takes a lock and gives it back. The exit code is
/// that of the first thing that stands in the way of locks; 0 when there is none, warnings or not.
command offer_doctor(command_line& program);

}  // namespace crosslock::cli
