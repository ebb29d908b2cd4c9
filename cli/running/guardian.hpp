// The guardian: a second process of this program that starts the command, knows until when the lock
// is ours, and stops the whole group when the program dies, freezes past that moment, or says so. A
// program alone cannot promise that: whoever is killed or frozen stops nobody.
//
//     crosslock run  <-- messages -->  guardian  -- parent of -->  command, in a group of its own
//
// It is started before anything is connected to, while there is one thread and no lock, and does no
// I/O but this socket. It ends with the program: when that is gone, and the group too.
#pragma once

#include "cli/descriptor.hpp"
#include "cli/running/census.hpp"
#include "cli/running/guardian_protocol.hpp"
#include "cli/running/terminal.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace crosslock::cli {

/// What the guardian has to know before it is started.
struct guarded {
  std::string name;                  ///< of the lock, as it was given
  std::vector<std::string> command;  ///< at least one word
  int on_lost = 0;                   ///< the signal that asks the command to stop; 0: none
  const terminal& keyboard;
};

/// What the command may want to know of its lock.
struct lock_facts {
  std::string fence;
  std::string owner;
  std::string engine;
};

/// The program's side of it. One thread at a time.
class guardian {
 public:
  /// Throws std::system_error when there is no room for another process.
  explicit guardian(guarded what);
  guardian(const guardian&) = delete;
  guardian& operator=(const guardian&) = delete;
  ~guardian() { dismiss(); }

  /// Lets it go, and waits for it: whatever still runs by then is killed.
  void dismiss() noexcept;

  pid_t pid() const noexcept { return pid_; }

  /// Starts the command. What comes of it is reported.
  void launch(const lock_facts& facts, const stop_times& times, bool in_foreground) noexcept;
  /// The pid of the command, and the number of its group; 0 before it was started.
  pid_t command() const noexcept { return command_; }

  void keep(const stop_times& times) noexcept;
  void pass_on(int signal) noexcept;
  void stop(const stop_times& times) noexcept;

  /// Readable when there is a report, or when the guardian is dead.
  int descriptor() const noexcept { return socket_.get(); }
  /// The next report without waiting.
  std::optional<report> next() noexcept;
  /// It was killed: nobody else can stop the command now.
  bool dead() const noexcept { return dead_; }
  /// Kills the group from here, for when the guardian does not. True when nobody is left in it.
  bool kill_group() noexcept;
  /// Kills the guardian itself, which must be frozen: what it does not bury is then ours to bury.
  void give_up() noexcept;

 private:
  void send(const order& message) noexcept;

  const guarded what_;
  cli::descriptor socket_;
  pid_t pid_ = -1;
  pid_t command_ = 0;
  bool dead_ = false;
  bool idle_ = true;  ///< there is nothing to guard
  census group_;
};

}  // namespace crosslock::cli
