// A TCP proxy between clients and a server that does to messages what a test says, at exactly the
// message it says.
//
//   fault_proxy proxy;                                   // a thread of its own
//   door& wire = proxy.open({.path = "redis.sock"});     // one for each client or process
//   connect("redis://127.0.0.1:" + std::to_string(wire.port()));
//   const auto held = wire.add({.going = way::to_client, .matches = is_answer_to("EVALSHA"),
//                               .what = fate::hold()});
//   wire.await(held);                                    // it has happened
//   wire.release();
#pragma once

#include "proxy/framing.hpp"
#include "proxy/rule.hpp"
#include "proxy/socket.hpp"

#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace crosslock::proxy {

class fault_proxy;
class link;

/// What a test may ask about the connections of a door.
struct connection_seen {
  int link = 0;
  bool subscription = false;
};

/// One port that leads to the server. Thread-safe; lives as long as its proxy.
class door {
 public:
  using rule_id = std::uint64_t;

  std::uint16_t port() const noexcept { return port_; }

  /// From now on, for new messages. The first rule that matches decides.
  rule_id add(rule next);
  void remove(rule_id which);
  void remove_all();
  /// Asked after the rules.
  void obey(script next);
  /// How often it has decided; await: until it has done so so often, false after 20 s.
  std::uint64_t applied(rule_id which) const;
  bool await(rule_id which, std::uint64_t times = 1) const;

  /// What is held goes on; the rule that held it stays.
  void release();
  /// Nothing passes in either direction, and all connections stay open; what was sent meanwhile
  /// arrives after the healing, as TCP would have it.
  void cut();
  void heal();
  /// Of those connections that match: both sides see a reset.
  void reset(const std::function<bool(const connection_seen&)>& whom = {});
  void refuse_new(bool refuse);
  /// For connections that come from now on.
  void lead_to(address server);
  std::vector<connection_seen> connections() const;
  /// How many there have been.
  int connections_made() const;

 private:
  friend class fault_proxy;
  struct placed {
    rule what;
    std::uint64_t seen = 0;
    std::uint64_t applied = 0;
  };

  door(fault_proxy& home, address server);
  fate judge(const sighting& seen);
  /// A client that knocks at a cut wire is not heard by the server.
  bool lets_in() const noexcept { return !refuses_ && !cut_; }
  void let_in();
  /// When there is something to do next.
  time_point send_due(time_point now);

  fault_proxy& home_;
  address server_;
  descriptor listener_;
  const std::uint16_t port_;
  bool cut_ = false;
  bool refuses_ = false;
  rule_id last_rule_ = 0;
  std::map<rule_id, placed> rules_;
  script script_;
  std::vector<std::unique_ptr<link>> links_;
  int links_made_ = 0;
};

class fault_proxy {
 public:
  explicit fault_proxy(framing how = resp_framing);
  fault_proxy(const fault_proxy&) = delete;
  fault_proxy& operator=(const fault_proxy&) = delete;
  ~fault_proxy();

  door& open(address server);

 private:
  friend class door;

  struct source {
    link* whose;  ///< null: a door's, or the bell
    way going;
  };
  struct watch_list {
    std::vector<pollfd> sockets;
    std::vector<source> sources;  ///< of the same index
  };

  void run();
  void what_to_watch(watch_list& list) const;
  void take_in_news(const watch_list& list, time_point moment);
  void ring() const;

  const framing how_;
  mutable std::mutex mutex_;  ///< of everything in here and in the doors
  mutable std::condition_variable changed_;
  std::vector<std::unique_ptr<door>> doors_;
  descriptor bell_;
  watch_list watched_;  ///< here, or a child that was forked would have lost it
  std::atomic<bool> over_{false};
  std::thread thread_;  // last: it uses the others
};

/// For rule::matches: by the first word, as people write it.
std::function<bool(const sighting&)> is_request(std::string word);
std::function<bool(const sighting&)> is_answer_to(std::string word);
std::function<bool(const sighting&)> is_push();

}  // namespace crosslock::proxy
