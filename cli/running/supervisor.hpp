// Watches over a command that runs under a lock.
#pragma once

#include "cli/running/child.hpp"
#include "cli/signals.hpp"

#include <crosslock/hold.hpp>

namespace crosslock::cli {

struct verdict {
  int exit_code = 0;     ///< of the command
  bool stopped = false;  ///< because the lock was lost, or was about to be
};

/// Waits until the command has ended. Meanwhile signals are passed on to it, except those that the
/// terminal has sent to it as well. When the lock is lost, or has not been renewed until shortly
/// before its lease ends, the command gets TERM, and KILL if it is still there at the end.
verdict supervise(child& command, const hold& held, signal_inbox& signals);

}  // namespace crosslock::cli
