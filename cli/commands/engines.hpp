// The command `crosslock engines`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// One line per engine: its name, its URL schemes, whether this program can use it, and what it
/// offers; then where locks are kept by default. Connects to nothing.
command offer_engines(command_line& program);

}  // namespace crosslock::cli
