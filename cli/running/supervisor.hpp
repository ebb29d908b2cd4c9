// Watches over a command that runs under a lock: the program's side, which keeps the lock, tells
// the guardian how long it is ours, and passes signals on.
#pragma once

#include "cli/running/guardian.hpp"
#include "cli/running/narrator.hpp"
#include "cli/running/terminal.hpp"
#include "cli/signals.hpp"

#include <crosslock/hold.hpp>

#include <optional>

namespace crosslock::cli {

struct supervision {
  guardian& guard;
  const hold& held;
  signal_inbox& signals;
  const terminal& keyboard;
  narrator& story;
  duration kill_after;
  bool ignore_loss = false;  ///< the command is told, but not stopped
};

struct verdict {
  int exit_code = 0;          ///< of the command
  std::optional<int> cannot;  ///< why it could not be executed, as errno
  bool interrupted = false;   ///< by Ctrl-C, which only the command has got
  bool stopped = false;       ///< because the lock was lost, or was about to be
  bool never_ran = false;     ///< because that was so before it could be started
  bool unguarded = false;     ///< because the guardian was killed
};

/// Starts the command and waits until nobody is left in its group. Meanwhile signals are passed on.
/// When the lock is lost, or has not been renewed until shortly before its lease ends, the command
/// is asked to stop, and killed if it is still there shortly before that end.
verdict supervise(const supervision& how, const lock_facts& facts);

}  // namespace crosslock::cli
