// One connection through the proxy: two streams of messages, each with what is to happen to it.
#pragma once

#include "proxy/framing.hpp"
#include "proxy/socket.hpp"

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace crosslock::proxy {

/// Belongs to the proxy's thread, or to whoever has its mutex.
class link {
 public:
  using judge = std::function<fate(const sighting&)>;

  link(int number, descriptor client, descriptor server, const framing& how, judge what_happens);

  int number() const noexcept { return number_; }
  bool subscription() const noexcept { return subscription_; }
  int client() const noexcept { return client_.number(); }
  int server() const noexcept { return server_.number(); }
  bool finished() const noexcept { return finished_; }
  /// Whether to listen for more from that side, and for room to write to it.
  bool wants_from(way going) const { return !stream_of(going).ended; }
  bool wants_room(way going) const { return stream_of(going).full; }

  /// Takes in what has come.
  void receive(way going, time_point now);
  /// Sends what is due; when the next will be.
  time_point send_due(time_point now);
  /// What was held goes on.
  void release();
  /// Both sides see a reset.
  void reset() noexcept;

 private:
  struct parcel {
    std::string bytes{};
    time_point due{};
    duration pause{};  ///< before each byte
    bool held = false;
    bool resets = false;  ///< when it has been sent
    bool last = false;    ///< the sender has hung up
  };
  struct stream {
    std::string unread{};
    std::deque<parcel> parcels{};
    bool ended = false;  ///< nothing comes any more
    bool muted = false;
    bool full = false;  ///< the receiver's system takes no more for now
  };
  struct question {
    std::vector<std::string> words;
    std::uint64_t number;
    std::size_t answers;
    bool swallow;  ///< the answers
    std::int64_t label;
  };

  const stream& stream_of(way going) const { return streams_[going == way::to_client ? 1 : 0]; }
  stream& stream_of(way going) { return streams_[going == way::to_client ? 1 : 0]; }
  int source(way going) const { return going == way::to_server ? client() : server(); }
  int target(way going) const { return going == way::to_server ? server() : client(); }

  void take_frames(way going, time_point now);
  void take_request(const frame& what, std::string bytes, time_point now);
  void take_answer(const frame& what, std::string bytes, time_point now);
  void apply(const fate& what, way going, std::string bytes, time_point now);
  time_point send_stream(way going, time_point now);
  bool put(way going, parcel& next, time_point now);

  const int number_;
  descriptor client_;
  descriptor server_;
  const framing& how_;
  const judge what_happens_;
  stream streams_[2];
  std::deque<question> unanswered_;
  std::uint64_t requests_ = 0;
  std::uint64_t pushes_ = 0;
  bool subscription_ = false;
  bool finished_ = false;
};

}  // namespace crosslock::proxy
