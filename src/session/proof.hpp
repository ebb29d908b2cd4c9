// When the servers are known to have agreed that a session is alive.
#pragma once

#include <crosslock/time.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

namespace crosslock::session {

/// The heartbeats of one client. The server that answers one may speak for itself alone. So a
/// heartbeat counts when a later write on the same connection, sent at least some time after its
/// answer had come, has succeeded too: had the servers given the session up in between, it would
/// have failed. (That time after it was sent would not do: behind a stall of the network both
/// arrive together.) Not thread-safe.
///
/// | | heartbeat | the later write | apart |
/// |---|---|---|---|
/// | ZooKeeper | a write | the next heartbeats | a tick: so often servers tell their leader |
/// | etcd | a keepalive | one in the same raft term | nothing |
class proof {
 public:
  explicit proof(duration apart) : apart_{apart} {}

  /// A new connection: what was sent before can no longer be proven by what is sent on this one.
  /// `new_session_sent`: it began a session, and that request went out then. To begin one is itself
  /// a write that all agree on.
  void connected(std::optional<time_point> new_session_sent) {
    sent_.clear();
    if (new_session_sent) proven_ = new_session_sent;
  }

  /// Numbers rise, and so do times.
  void sent(std::uint64_t number, time_point when) { sent_.push_back({number, when}); }

  /// With success, at that time. False, and nothing has changed, when it is not of this connection.
  bool answered(std::uint64_t number, time_point when) {
    const auto which = std::ranges::find(sent_, number, &heartbeat::number);
    if (which == sent_.end()) return false;
    which->answered = when;
    return true;
  }

  /// A write that was sent then on this connection has succeeded.
  void confirmed(time_point sent) {
    const time_point latest = sent - apart_;
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

  const duration apart_;
  std::deque<heartbeat> sent_;  // of this connection, oldest first, as far as they may still count
  std::optional<time_point> proven_;
};

/// The second next goes out just so long after each answer: for when the proof has fallen behind.
inline duration quickest_heartbeat(duration apart) { return apart / 2 + apart / 20; }

/// Often enough for the deadline to move well before a session ends, no more than a sixth of it
/// apart, and so that one heartbeat, or the second next, counts for each answer. A session lasts
/// four times `apart` at least.
inline duration heartbeat_interval(duration timeout, duration apart) {
  return apart + apart / 16 <= timeout / 8 ? timeout / 8 : quickest_heartbeat(apart);
}

}  // namespace crosslock::session
