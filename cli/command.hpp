// What every command of the program is: the words it understands, and what it does then.
#pragma once

#include "cli/command_line.hpp"

#include <functional>
#include <stdexcept>

namespace crosslock::cli {

/// `words` is its part of the command line; `act` is called when that was read without an error,
/// and returns the exit code of the program. Each command is offered by one function of its own
/// file, `command offer_NAME(command_line& program)`, and main.cpp lists them all.
struct command {
  command_words words;
  std::function<int()> act;
};

/// The command line cannot be meant; exit code 64. The text names the word and says what to do.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace crosslock::cli
