// The command `crosslock hold`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// Holds the lock, renewed, until a signal, the end of standard input, or until nobody reads
/// standard output any more; these are the normal ends. When a signal ends the wait for the lock,
/// it ends this process, too.
command offer_hold(command_line& program);

}  // namespace crosslock::cli
