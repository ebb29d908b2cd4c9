// The command `crosslock acquire`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// Takes the lock, lets go of it and prints the receipt for it; nothing goes on in the background.
/// What fails behind the grant, a receipt that cannot be printed too, gives the lock back.
command offer_acquire(command_line& program);

}  // namespace crosslock::cli
