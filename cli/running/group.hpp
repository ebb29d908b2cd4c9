// A command in a process group of its own, with everything that it starts and leaves there.
#pragma once

#include "cli/descriptor.hpp"
#include "cli/running/census.hpp"
#include "cli/running/terminal.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::cli {

/// How a command is started.
struct launch {
  const std::vector<std::string>& words;  ///< the first one is looked for in PATH
  const std::vector<std::string>& environment;
  const terminal* foreground;  ///< put the group there, unless null
  int inherited;               ///< the one descriptor of ours that the command gets
  int socket;                  ///< to the program, which is told the pid of the command
};

/// For the guardian, which has one thread, and which orphans of the group come to (it is their
/// "subreaper"), so that it can tell when nobody is left.
class group {
 public:
  /// Our standard streams, no signal blocked, those ignored that were ignored for us, and killed
  /// when this process dies. Throws std::system_error when there is no room for another process.
  static group start(const launch& how);

  /// Readable when it is known whether the command could be executed, which may take long on a file
  /// system that hangs; -1 from then on.
  int descriptor() const noexcept { return beginning_ ? beginning_->get() : -1; }
  /// Only when that is readable: 0, or why not, as errno. Then nobody is left.
  int begun() noexcept;

  pid_t leader() const noexcept { return leader_; }
  /// To everybody in it. Nothing happens when nobody is left.
  void send(int signal) noexcept;

  struct change {
    enum class kind { paused, ended } what;
    int number;  ///< the signal, or the exit code
  };
  /// What has happened to the leader; whoever else has ended is buried by the way. CHLD tells when
  /// to ask.
  std::vector<change> look();
  /// Whether nobody is left. Looks each time: a process whose parent has left the group ends
  /// without anybody telling us.
  bool is_gone() noexcept;

 private:
  group(pid_t leader, cli::descriptor beginning)
      : leader_{leader}, beginning_{std::move(beginning)} {}

  pid_t leader_;
  std::optional<cli::descriptor> beginning_;
  bool leader_ended_ = false;
  bool gone_ = false;
  census others_;
};

}  // namespace crosslock::cli
