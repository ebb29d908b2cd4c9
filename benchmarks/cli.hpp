// `bench cli`: what the program costs beside the command that it runs.
#pragma once

#include <chrono>
#include <iosfwd>

namespace crosslock::bench {

struct cli_choice {
  bool json = false;
  int rounds = 5;
  std::chrono::duration<double> span{0.35};  ///< how long one turn of one subject is measured
};

/// Runs `true` bare, under flock(1), and under `crosslock run` on the embedded engine, in turns,
/// and says how long each took.
void run_cli(const cli_choice& choice, std::ostream& out);

}  // namespace crosslock::bench
