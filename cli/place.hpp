// Where the locks are kept: what was said on the command line, in the environment, in a file, or
// else the default.
#pragma once

#include "cli/config_file.hpp"

#include <crosslock/client.hpp>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace crosslock::cli {

/// What the command line says of it.
struct place_flags {
  std::optional<std::string> url;
  std::optional<std::string> prefix;
  std::optional<std::string> lease;
};

/// Gives a command the options --url and --prefix; and, if it takes locks, --lease.
void offer_place(CLI::App& words, place_flags& flags);
void offer_lease(CLI::App& words, place_flags& flags);

struct place {
  std::string url;     ///< never to be shown as it is: see shown()
  std::string source;  ///< who said so: "--url", "CROSSLOCK_URL", FILE:LINE, "the default"
  options how;         ///< lease and prefix, as far as they come from flags or files

  /// The URL as it may be shown.
  std::string shown() const;
};

/// Flag, environment, file, default, in this order. The parameters of a URL count as said where the
/// URL is said, before what else is said there. Connects nothing; throws usage_error and what the
/// parts throw.
place find_place(const place_flags& flags, const configuration& files);
/// The same with the files of this machine and user.
place find_place(const place_flags& flags);

}  // namespace crosslock::cli
