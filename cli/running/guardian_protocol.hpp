// What the program and its guardian write to each other. They are two halves of one process image,
// so a message is a struct; the socket between them keeps messages whole.
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
template <class Message>
bool send_message(int to, const Message& message) noexcept {
  return ::send(to, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof message);
}

enum class arrival { here, none, closed };

/// Without waiting.
template <class Message>
arrival receive_message(int from, Message& message) noexcept {
  for (;;) {
    const ssize_t got = ::recv(from, &message, sizeof message, MSG_DONTWAIT);
    if (got == static_cast<ssize_t>(sizeof message)) return arrival::here;
    if (got < 0 && errno == EINTR) continue;
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? arrival::none : arrival::closed;
  }
}

}  // namespace crosslock::cli
