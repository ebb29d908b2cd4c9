// One client among those that hear through one connection.
#pragma once

#include "engine/clock.hpp"
#include "engine/visits.hpp"
#include "engines/redis/connection.hpp"

#include <crosslock/error.hpp>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crosslock::redis {

/// What a client is told.
struct hearing_events {
  std::function<void(std::string_view message)> heard;
  /// From now on nothing is missed; what came before may have been.
  std::function<void()> listening;
  std::function<void(const error& why)> deaf;
  /// It is deaf because it may not listen any more; told once until it listens again.
  std::function<void(const error& why)> refused;
};

/// It outlives its client for as long as somebody looks at it; whoever wants to do something for
/// the client visits it.
class listener : public seam::visited {
 public:
  /// `to` and `report` are used during visits only.
  listener(std::string own, connection& to, const hearing_events& report, duration give_up_after,
           seam::clock& clock)
      : seam::visited{clock},
        channel{std::move(own)},
        commands{to},
        events{report},
        timeout{give_up_after} {}

  using visit = seam::visit;

  const std::string channel;
  connection& commands;
  const hearing_events& events;
  const duration timeout;

  std::atomic<bool> listens{false};  ///< what is pushed reaches it, and is believed
  std::atomic<bool> rung{true};      ///< its connection is to be looked at
  /// The same in a while: the timer is set, or the thread wakes by itself.
  std::atomic<bool> looks_soon{false};
  seam::park_word answered{0};  ///< whether it may listen is known, or why that cannot be known

  // Guarded by the mutex of the hearing.
  bool wants_news = true;
  bool asked = false;          ///< the last request was to listen
  bool again = false;          ///< it listens, but to what follows the next answer only
  int unanswered = 0;          ///< requests
  bool look_is_due = false;    ///< for whatever it may have missed
  bool tells_refusal = false;  ///< else whoever waits for the first answer finds out
  bool told_refusal = false;
  std::optional<error> refusal;  ///< to be told
  std::optional<error> failure;  ///< why it does not listen yet
  int failures = 0;
  time_point next_try{};

  void note_refusal(const error& why) {
    if (tells_refusal) refusal = why;
  }

  // The thread's own.
  connection::watch watched;
};

}  // namespace crosslock::redis
