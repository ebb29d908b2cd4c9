// The command `crosslock engines`.
#pragma once

#include <iosfwd>

namespace crosslock::cli {

/// One line per engine: its name, its URL schemes, and whether this program can use it.
void show_engines(std::ostream& out, bool json);

}  // namespace crosslock::cli
