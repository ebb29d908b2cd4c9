// A program that this one has started.
#pragma once

#include <sys/types.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace crosslock::cli {

/// The command could not be executed; `code` is what the shell would exit with, 126 or 127.
struct cannot_execute : std::runtime_error {
  cannot_execute(int exit_with, const std::string& text)
      : std::runtime_error{text}, code{exit_with} {}
  int code;
};

/// One thread at a time. Whoever destroys it before it has ended leaves it to itself.
class child {
 public:
  /// Finds the command by PATH and starts it with exactly these words and this environment, in our
  /// process group and with our standard streams; no signal is blocked in it, and those that we
  /// were started with as ignored are so for it, too. Throws cannot_execute, or
  /// std::system_error when there is no room for another process.
  static child start(const std::vector<std::string>& words,
                     const std::vector<std::string>& environment);

  /// Nothing happens when it has ended already.
  void send(int signal) noexcept;
  void kill_and_wait() noexcept;
  /// Once it has ended: its exit code, or 128 + n when signal n killed it. CHLD tells when to ask.
  std::optional<int> exit_code();

 private:
  explicit child(pid_t pid) : pid_{pid} {}

  pid_t pid_;
  std::optional<int> code_;
};

}  // namespace crosslock::cli
