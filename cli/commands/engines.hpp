// The command `crosslock engines`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// One line per engine: its name, its URL schemes, and whether this program can use it.
command offer_engines(CLI::App& program);

}  // namespace crosslock::cli
