// Where the locks are kept: what was said on the command line, in the environment, in a file, or
// else the default.
#pragma once

#include "cli/command_line.hpp"
#include "cli/config_file.hpp"

#include <crosslock/client.hpp>

#include <optional>
#include <string>

namespace crosslock::cli {

/// What the command line says of it.
struct target_flags {
  std::optional<std::string> url;
  std::optional<std::string> prefix;
  std::optional<std::string> lease;
};

/// Gives a command the options --url and --prefix; and, if it takes locks, --lease.
void offer_target(command_words& words, target_flags& flags);
void offer_lease(command_words& words, target_flags& flags);

struct target {
  std::string url;     ///< never to be shown as it is: see shown()
  std::string source;  ///< who said so: "--url", "CROSSLOCK_URL", FILE:LINE, "the default"
  options how;         ///< lease and prefix, as far as they come from flags or files

  /// The URL as it may be shown.
  std::string shown() const;
};

/// Flag, environment, file, default, in this order. The parameters of a URL count as said where the
/// URL is said, before what else is said there. Connects nothing; throws usage_error and what the
/// parts throw.
target find_target(const target_flags& flags, const configuration& files);
/// The same with the files of this machine and user.
target find_target(const target_flags& flags);

}  // namespace crosslock::cli
