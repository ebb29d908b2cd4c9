// The command `crosslock run`.
#pragma once

#include "cli/command.hpp"
#include "cli/target.hpp"
#include "cli/waiting.hpp"

#include <optional>
#include <string>
#include <vector>

namespace crosslock::cli {

/// The words behind the first `--` of a command line; empty when there was none.
using behind_dashes = std::optional<std::vector<std::string>>;

struct run_request {
  std::string name;
  std::vector<std::string> command;  ///< at least one word
};

/// What the words of a command line mean. Those of the command are never looked into: they are all
/// that comes after NAME, without a `--` that stands between the two.
/// `words` is what came before the first `--`, without options of ours; `shell` what came with -c
/// before NAME. Throws usage_error when something is missing.
run_request read_run_words(const std::vector<std::string>& words, const behind_dashes& behind,
                           const std::optional<std::string>& shell);

/// Holds the lock while the command runs. When a signal ends the wait for the lock, it ends this
/// process, too.
command offer_run(command_line& program, const behind_dashes& behind);

}  // namespace crosslock::cli
