// The commands `crosslock renew` and `crosslock release`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// Extends the lease of a lock that somebody has a receipt for.
command offer_renew(command_line& program);

/// Gives such a lock back.
command offer_release(command_line& program);

}  // namespace crosslock::cli
