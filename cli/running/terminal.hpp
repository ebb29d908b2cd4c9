// The terminal this program was started on, and whose keyboard it is at the moment.
#pragma once

#include "cli/descriptor.hpp"

#include <sys/types.h>

namespace crosslock::cli {

/// The process group in the foreground gets what is typed, Ctrl-C included. Without a terminal all
/// of this does nothing.
class terminal {
 public:
  /// Blocks TTOU for this thread: who is in the background and writes, or gives the terminal away,
  /// is stopped otherwise.
  terminal();

  /// Whether our group is in the foreground.
  bool is_ours() const noexcept;
  /// Whether `group` is.
  bool is_with(pid_t group) const noexcept;
  /// From now on `group` is. Safe in a forked child.
  void give_to(pid_t group) const noexcept;
  /// Our own group again, where `group` is, or one that is gone. A shell that has taken its
  /// terminal back meanwhile keeps it.
  void take_back_from(pid_t group) const noexcept;

 private:
  cli::descriptor device_;
};

}  // namespace crosslock::cli
