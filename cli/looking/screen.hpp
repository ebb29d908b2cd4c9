// The whole terminal, borrowed: what was there comes back.
#pragma once

#include "cli/descriptor.hpp"

#include <termios.h>

#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::cli {

/// Draws on the other screen of the terminal, without a cursor, and takes keys as they are pressed,
/// if there is a keyboard. The destructor, and leave(), put everything back.
class screen {
 public:
  screen();
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  void leave() noexcept;
  void enter();

  /// From the top; what has no room is left out. False when the terminal has gone.
  bool draw(const std::vector<std::string>& lines);

  struct extent {
    std::size_t columns = 80;
    std::size_t rows = 24;
  };
  static extent size();

  /// Readable when a key was pressed; -1 when there is no keyboard.
  int keyboard() const noexcept { return keyboard_; }
  /// Empty when the keyboard has gone.
  std::optional<char> key();

 private:
  int keyboard_ = -1;
  bool inside_ = false;
  termios before_{};
};

/// The signals that concern somebody who has borrowed a terminal, as something to wait for: WINCH,
/// TSTP, CONT and those that end a program. What was ignored stays ignored.
class screen_signals {
 public:
  screen_signals();
  ~screen_signals();
  screen_signals(const screen_signals&) = delete;
  screen_signals& operator=(const screen_signals&) = delete;

  int descriptor() const noexcept { return arrivals_.get(); }
  /// The next one, without waiting.
  std::optional<int> next();

 private:
  sigset_t before_{};
  cli::descriptor arrivals_;
};

}  // namespace crosslock::cli
