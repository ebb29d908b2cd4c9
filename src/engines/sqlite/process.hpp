// Who this process is, and whether another one still lives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crosslock::sqlite {

/// Names a process on this machine for as long as it runs since boot. A pid means something only
/// in its own namespace, and only together with the start time: pids are used again.
struct process_id {
  std::int64_t pid = 0;
  std::int64_t start = 0;   ///< clock ticks after boot; 0: not known
  std::int64_t pid_ns = 0;  ///< which namespace; 0: not known, or /proc shows another one

  friend bool operator==(const process_id&, const process_id&) = default;
};

struct surroundings {
  process_id self;
  std::int64_t time_ns = 0;
  std::string boot_id;
};

/// Throws `unsupported` when it is not the kernel that answers.
std::string read_boot_id(const std::string& path);
/// Throws `unsupported` where /proc does not tell.
surroundings read_surroundings();

/// That process of our own namespace; 0: this one.
process_id process_of(std::int64_t pid, const process_id& self) noexcept;

/// What /proc/PID/stat says of it.
struct process_state {
  char state = '?';
  std::int64_t threads = 0;
  std::int64_t start = 0;
};
std::optional<process_state> parse_stat(std::string_view text) noexcept;

/// What looking at a pid has shown.
struct sighting {
  bool there = true;                   ///< kill(pid, 0) did not say that there is none
  std::optional<process_state> state;  ///< empty where /proc could not be read
};
sighting look_at(std::int64_t pid) noexcept;

/// The rule: dead only when there can be no doubt.
bool surely_dead(const process_id& who, const process_id& self, const sighting& seen) noexcept;
/// Looks, and applies the rule.
bool surely_dead(const process_id& who, const process_id& self) noexcept;
/// The part of it that costs next to nothing: there is no such process.
bool surely_gone(const process_id& who, const process_id& self) noexcept;

}  // namespace crosslock::sqlite
