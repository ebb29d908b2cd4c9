// Who is left in a process group.
#pragma once

#include <crosslock/time.hpp>

#include <sys/types.h>

#include <chrono>

namespace crosslock::cli {

/// Zombies do not count: one whose parent has left the group, and does not wait for it, may stay
/// for ever. The kernel counts them, so a look into /proc decides; not too often, as it is a long
/// one.
class census {
 public:
  bool anybody_in(pid_t group) noexcept;

 private:
  time_point next_walk_{};
  duration pause_ = std::chrono::milliseconds{20};
};

}  // namespace crosslock::cli
