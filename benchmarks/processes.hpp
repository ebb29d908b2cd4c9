// This program, started again: for parties and for experiments that need a process of their own.
#pragma once

#include "benchmarks/subject.hpp"

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::bench {

/// Started by exec, not merely forked: each begins as any program does, with nothing of this one's
/// connections. Those that are still there at its end are killed. One thread at a time.
class processes {
 public:
  processes() = default;
  ~processes();
  processes(const processes&) = delete;
  processes& operator=(const processes&) = delete;

  /// `words` are its arguments; `inherited` is open in it under the same number.
  void start(std::vector<std::string> words, int inherited);
  /// How many have not ended.
  std::size_t running();

 private:
  std::vector<pid_t> ids_;
};

/// In such a process: a subject of the one that has started it.
std::unique_ptr<subject> join(std::string_view engine, std::string_view subject,
                              const std::string& address);

/// What such a process is for is its first argument, which users never give; the others are
/// `words`. Returns the exit code.
using role = int (*)(std::span<char* const> words);
inline constexpr std::string_view take_part = "--take-part";
int take_part_in_setting(std::span<char* const> words);
inline constexpr std::string_view reenter = "--reenter";
int reenter_without_system_calls(std::span<char* const> words);
inline constexpr std::string_view hold_on = "--hold-on";
int hold_on_until_killed(std::span<char* const> words);

}  // namespace crosslock::bench
