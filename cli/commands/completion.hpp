// The command `crosslock completion`.
#pragma once

#include "cli/command.hpp"

#include <string>
#include <string_view>

namespace crosslock::cli {

/// The script for one of the shells bash, zsh and fish. Commands and options in it are those of
/// `program`: they are put in where the scripts in cli/completion/ have a mark. Throws usage_error
/// for any other shell.
std::string completion_script(const command_line& program, std::string_view shell);

/// Prints it.
command offer_completion(command_line& program);

}  // namespace crosslock::cli
