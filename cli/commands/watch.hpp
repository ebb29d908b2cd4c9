// The command `crosslock watch`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// One JSON line for each lock that is taken or given back, and for each waiter that comes or goes.
command offer_watch(command_line& program);

}  // namespace crosslock::cli
