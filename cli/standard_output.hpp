// Standard output for those who must know whether their words have arrived there.
#pragma once

#include "cli/signals.hpp"

#include <string_view>

namespace crosslock::cli {

/// Throws when the program was started without one, and makes a reader that went away an error
/// like any other, not a signal.
void require_standard_output();

/// Writes it all, and returns 0. A signal that comes before that ends it, and is returned. Throws
/// when it cannot be written.
int write_out(std::string_view text, signal_inbox& signals);

}  // namespace crosslock::cli
