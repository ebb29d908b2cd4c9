// What the program and its guardian write to each other. They are two halves of one process image,
// so a letter is a struct; the socket between them keeps letters whole.
#pragma once

#include "cli/running/stop_plan.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>

namespace crosslock::cli {

/// To the guardian.
struct order {
  enum class kind {
    launch,   ///< start the command: everything below is filled in
    keep,     ///< the lease was renewed: `times`
    pass_on,  ///< `signal` to the whole group
    stop,     ///< the lock was lost: `times`
  };
  kind what = kind::keep;
  int signal = 0;
  stop_times times{};
  bool in_foreground = false;
  std::array<char, 24> fence{};
  std::array<char, 40> owner{};
  std::array<char, 32> engine{};
};

/// From the guardian.
struct report {
  enum class kind {
    started,        ///< `number`: the pid of what will be the command, and leads its group
    running,        ///< now it is the command
    too_late,       ///< the lock was lost before the command could be started
    cannot_launch,  ///< `number`: why, as errno; nobody is left
    stopping,       ///< its lease is about to end, or it was told so: the command was asked to stop
    paused,         ///< `number`: the signal that has stopped the command
    ended,          ///< `number`: the exit code, or 128 + the signal
    gone,           ///< nobody is left in the group
  };
  kind what = kind::gone;
  int number = 0;
};

/// False when the other side is gone, or has not read for very long.
template <class Letter>
bool send_letter(int to, const Letter& letter) noexcept {
  return ::send(to, &letter, sizeof letter, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof letter);
}

enum class mail { here, none, closed };

/// Without waiting.
template <class Letter>
mail receive_letter(int from, Letter& letter) noexcept {
  for (;;) {
    const ssize_t got = ::recv(from, &letter, sizeof letter, MSG_DONTWAIT);
    if (got == static_cast<ssize_t>(sizeof letter)) return mail::here;
    if (got < 0 && errno == EINTR) continue;
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? mail::none : mail::closed;
  }
}

}  // namespace crosslock::cli
