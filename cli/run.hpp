// The command `crosslock run`.
#pragma once

#include <string>
#include <vector>

namespace crosslock::cli {

struct run_request {
  std::string name;
  std::vector<std::string> command;  ///< at least one word
};

/// What the words of a command line mean. Those of the command are never looked into: they are all
/// that comes after NAME, without a `--` that stands between the two.
/// `words` is what came before the first `--`, without options of ours; `after` what followed it,
/// and is null when there was none. Throws std::invalid_argument when something is missing.
run_request read_run_words(const std::vector<std::string>& words,
                           const std::vector<std::string>* after);

/// Holds the lock while the command runs; returns the exit code of this program. When a signal ends
/// the wait for the lock, it ends this process, too.
int run(const run_request& wanted);

}  // namespace crosslock::cli
