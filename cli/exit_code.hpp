// What the program's exit codes mean (those of sysexits.h where one fits).
#pragma once

#include <crosslock/error.hpp>

namespace crosslock::cli {

struct exit_code {
  static constexpr int success = 0;
  static constexpr int usage = 64;
  static constexpr int unreachable = 69;
  static constexpr int internal = 70;
  static constexpr int busy = 75;
  static constexpr int denied = 77;
  static constexpr int configuration = 78;
  static constexpr int lost = 79;
  static constexpr int cannot_execute = 126;
  static constexpr int not_found = 127;
};

int exit_code_of(const error& failure) noexcept;

}  // namespace crosslock::cli
