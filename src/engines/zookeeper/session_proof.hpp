// When ZooKeeper's leader is known to have heard of a session.
#pragma once

#include <crosslock/time.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

namespace crosslock::zookeeper {

/// The heartbeats of one client. A server that answers one has not told the leader yet that the
/// session is alive: it does so only about once a tick. So a heartbeat counts when a later one on
/// the same connection, sent at least a tick after its answer had come, is answered too: had the
/// server gone away with the news in between, no answer would have come. (A tick after it was sent
/// would not do: behind a stall of the network both arrive together.) Not thread-safe.
class session_proof {
 public:
  explicit session_proof(duration tick) : tick_{tick} {}

  /// A new connection: what was sent before can no longer be proven by what is sent on this one.
  /// `new_session_sent`: it began a session, and its connect request went out then. To begin one
  /// is itself a write of the leader.
  void connected(std::optional<time_point> new_session_sent) {
    sent_.clear();
    if (new_session_sent) proven_ = new_session_sent;
  }

  /// Numbers rise, and so do times.
  void sent(std::uint64_t number, time_point when) { sent_.push_back({number, when}); }

  /// With success, at that time; a number that is not of this connection changes nothing.
  void answered(std::uint64_t number, time_point when) {
    const auto which = std::ranges::find(sent_, number, &heartbeat::number);
    if (which == sent_.end()) return;
    which->answered = when;
    const time_point latest = which->when - tick_;
    for (const heartbeat& one : sent_) {
      if (one.answered && *one.answered <= latest) prove(one.when);
    }
    while (!sent_.empty() && proven_ && sent_.front().when <= *proven_) sent_.pop_front();
  }

  /// When the newest heartbeat that counts was sent; within a session it never goes back.
  std::optional<time_point> proven() const noexcept { return proven_; }

  void session_ended() {
    sent_.clear();
    proven_.reset();
  }

 private:
  struct heartbeat {
    std::uint64_t number = 0;
    time_point when{};
    std::optional<time_point> answered{};
  };

  void prove(time_point when) { proven_ = proven_ ? std::max(*proven_, when) : when; }

  const duration tick_;
  std::deque<heartbeat> sent_;  // of this connection, oldest first, as far as they may still count
  std::optional<time_point> proven_;
};

/// The second next goes out just a tick after each answer: for when the proof has fallen behind.
inline duration quickest_heartbeat(duration tick) { return tick / 2 + tick / 20; }

/// Often enough for the deadline to move well before a session ends, no more than a sixth of it
/// apart, and so that one heartbeat, or the second next, goes out just a tick after each answer. A
/// session lasts four ticks at least.
inline duration heartbeat_interval(duration timeout, duration tick) {
  return tick + tick / 16 <= timeout / 8 ? timeout / 8 : quickest_heartbeat(tick);
}

}  // namespace crosslock::zookeeper
