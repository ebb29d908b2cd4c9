// The terminal this program was started on, and whose keyboard it is at the moment.
#pragma once

#include "cli/descriptor.hpp"

#include <sys/types.h>

namespace crosslock::cli {

/// The process group in the foreground gets what is typed, Ctrl-C included. Without a terminal all
/// of this does nothing.
class terminal {
 public:
  terminal();

  /// Whether our group is in the foreground.
  bool is_ours() const;
  /// From now on `group` is. Safe in a forked child, as long as TTOU is blocked there.
  void give_to(pid_t group) const noexcept;
  /// Our own group again.
  void take_back() const noexcept;

 private:
  cli::descriptor device_;
};

}  // namespace crosslock::cli
