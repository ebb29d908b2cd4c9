// Times as people write and read them.
#pragma once

#include <crosslock/time.hpp>

#include <string>
#include <string_view>

namespace crosslock::cli {

/// `30s`, `500ms`, `2m`, `1h`, a plain number of seconds, and any of them with a fraction (`0.5`).
/// Throws usage_error that names the option.
duration read_time(std::string_view option, std::string_view text);

/// Short, rounded down to what a person wants to know: `340ms`, `4.2s`, `3m12s`, `5h07m`, `2d03h`.
std::string show_time(duration time);

}  // namespace crosslock::cli
