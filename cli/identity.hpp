// What a holder says of itself: shown to others beside user@host, pid and program.
#pragma once

#include "cli/command_line.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::cli {

/// What the command line says of it.
struct identity_flags {
  std::optional<std::string> owner;
  std::vector<std::string> meta;
};

/// Gives a command --owner and --meta, which may be repeated.
void offer_identity(command_words& words, identity_flags& flags);

/// For options::who: the owner, or else `otherwise`, and behind it what --meta says:
/// `nightly; build=7, stage=test`. Throws usage_error that names the option.
std::string note(const identity_flags& flags, std::string_view otherwise);

}  // namespace crosslock::cli
