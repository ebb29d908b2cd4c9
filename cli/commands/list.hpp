// The command `crosslock list`.
#pragma once

#include "cli/command.hpp"

namespace crosslock::cli {

/// Who holds what, and who waits for it.
command offer_list(command_line& program);

}  // namespace crosslock::cli
