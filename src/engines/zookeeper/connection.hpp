// One client's session with a ZooKeeper ensemble, made anew when the ensemble has ended it.
//
// The client library's single-threaded flavour does no work by itself: somebody has to let it read
// and write. Whoever waits for an answer does that for all (it "drives"); the others park. While
// nobody waits, a thread of our own drives: for the heartbeat, and for news.
#pragma once

#include "engine/clock.hpp"
#include "engines/zookeeper/protocol.hpp"
#include "engines/zookeeper/session_proof.hpp"

#include <crosslock/time.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct _zhandle;

namespace crosslock::zookeeper {

struct access;  // access.hpp

struct connection_settings {
  std::string hosts;  ///< `h1:2181,h2:2181`
  std::string shown;  ///< the same for people
  std::string root;   ///< the chroot: empty, or a path
  std::string user{};
  std::string password{};  ///< never shown
  duration session{};      ///< the timeout that is asked for
  duration tick{};         ///< the servers' tickTime
};

/// A watch has fired.
struct event {
  enum class kind { erased, written, children, created };
  kind what = kind::erased;
  std::string path;
};

/// Counts the sessions of one connection, from 1.
using session_number = std::uint64_t;

/// What happens to the session, and watches. Called by whoever drives, one call at a time and in
/// the order in which it happened, answers included; without any mutex of the connection.
class session_listener {
 public:
  virtual ~session_listener() = default;
  virtual void heard(const event& news) noexcept = 0;
  virtual void suspended(const error& why) noexcept = 0;
  /// Connected, again or for the first time, with that session.
  virtual void resumed(session_number session) noexcept = 0;
  virtual void ended(session_number session) noexcept = 0;
  /// A heartbeat went out: the time for what is to be done now and then.
  virtual void beat() noexcept = 0;
};

class connection {
 public:
  connection(connection_settings how, seam::clock& clock, session_listener& listener);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Connects, or throws by `give_up` at the latest.
  void open(time_point give_up);

  /// A batch of answers that somebody waits for.
  struct flight {
    seam::park_word word{0};
    std::atomic<int> missing{0};
    bool landed() const noexcept { return missing.load(std::memory_order_acquire) == 0; }
  };
  /// Sends requests behind each other: their answers come in the same order. Nobody is heard when
  /// it throws, which it does when there is no connection now.
  struct asked {
    request what;
    hearer then;
  };
  /// `session`: only in that one; 0: in any.
  void send(std::span<asked> requests, session_number session = 0);
  /// Until the flight has landed; false when it has not by `give_up`.
  bool await(flight& mine, time_point give_up);
  /// The same, for whoever has not given up then. At once when it is being closed.
  bool await_so_far(flight& mine, time_point until);
  bool closing() const noexcept { return closing_.load(); }
  /// One request after another, waited for. Throws `timed_out` or `unreachable`.
  std::vector<response> call(std::vector<request> requests, time_point give_up);
  response call(request one, time_point give_up);
  /// Waits for a connection; throws `unreachable` or `denied` without one.
  void require(time_point give_up);

  /// As engine::await_news and engine::rouse.
  void await_news(seam::park_word& word, std::uint32_t expected, time_point until);
  void rouse(seam::park_word& word) noexcept;
  /// So many wait for news without a thread that would listen for them.
  void expect_news(int more) noexcept;

  struct life {
    session_number session = 0;
    std::int64_t id = 0;  ///< as nodes name their owner
    duration timeout{};   ///< as negotiated
    std::optional<time_point> proven{};
  };
  /// The session as it is now.
  life now() const;
  /// Waits until the session is proven alive after `since`, or has ended, or `until`.
  life await_proof(time_point since, time_point until);

  const std::string& root() const noexcept { return how_.root; }
  const std::string& shown() const noexcept { return how_.shown; }
  duration timeout() const { return now().timeout; }
  duration beat_interval() const;
  /// The server's wall clock minus our clock, as of the last heartbeat.
  std::optional<std::int64_t> server_ms() const;
  bool on_own_thread() const noexcept;

  /// Ends the session. Nothing is heard afterwards.
  void close() noexcept;
  /// In a forked child.
  void abandon() noexcept;

 private:
  struct pending;
  struct arrival;
  struct completions;
  enum class standing { none, connecting, associating, connected, ended };

  // The mutex is held in all of these.
  void make_handle();
  void drop_handle() noexcept;
  void submit(asked& one);
  int submit_transaction(const request& what, pending* waits);
  void note_state(time_point before);
  void leave_connected();
  void session_goes_on();
  void end_session();
  void make_session_node();
  void make_ancestors(const std::string& path);
  void tend(time_point now);
  void plan_heartbeat(time_point when) noexcept;
  void try_again_after_refusal(time_point now);
  void give_up_attempt(time_point now);
  duration attempt_longest() const noexcept;
  void send_heartbeat(time_point now);
  void heartbeat_answered(std::uint64_t number, time_point sent, const response& said);
  void note_server_time(std::int64_t ms, time_point when);
  void wake(flight& one) noexcept;
  void note_refusal(int code) noexcept;
  bool something_came() const noexcept;
  void hang_up() noexcept;
  bool land(std::unique_lock<std::mutex>& guard, flight& mine, time_point give_up);
  void hang_up_if_silent() noexcept;
  void leave_seat();
  void ring() noexcept;
  std::string session_node() const;
  [[noreturn]] void refuse_unconnected() const;
  // The same; they let go of it for a while.
  void drive_once(std::unique_lock<std::mutex>& guard, time_point until);
  void poll_once(std::unique_lock<std::mutex>& guard, time_point until);
  void deliver(std::unique_lock<std::mutex>& guard);
  void rest(std::unique_lock<std::mutex>& guard);

  std::vector<response> call_once(std::vector<request> requests, bool harmless, time_point give_up);
  void own_thread();
  void tell_proof();
  void wait_until(time_point give_up, const std::function<bool()>& ready);
  void tell(arrival& what);

  const connection_settings how_;
  seam::clock& clock_;
  session_listener& listener_;
  const std::unique_ptr<access> access_;
  int bell_ = -1;   ///< an eventfd that whoever drives also listens to
  int pulse_ = -1;  ///< the time of the next heartbeat, also for a process that was frozen
  std::function<void(event)> take_down_;

  mutable std::mutex mutex_;
  _zhandle* handle_ = nullptr;
  time_point handle_again_at_{};
  int last_failure_ = 0;
  std::set<std::string> refused_{};  ///< addresses where there was nobody
  bool all_refused_ = false;
  int descriptor_ = -1;
  int attempt_on_ = -1;         ///< the descriptor by which a server is being tried ...
  time_point attempt_began_{};  ///< ... since then
  standing state_ = standing::none;
  std::optional<error> refusal_;  ///< why sessions are useless here
  bool driving_ = false;
  const seam::park_word* driver_waits_on_ = nullptr;
  std::list<flight*> parked_;
  int listening_ = 0;  ///< threads in await_news that do not drive
  std::uint64_t calls_ = 0;
  bool owner_wanted_ = false;
  bool owner_sleeps_ = false;  ///< until the seat is left
  std::deque<arrival> arrived_;
  time_point primed_{};  ///< before the present connect request went out
  session_number session_ = 0;
  std::int64_t session_id_ = 0;  ///< 0: there is none
  duration timeout_{};
  session_proof proof_;
  std::uint64_t heartbeats_ = 0;
  std::uint64_t first_heartbeat_ = 1;  ///< of this connection
  std::uint64_t answered_heartbeat_ = 0;
  time_point next_heartbeat_{};
  std::optional<time_point> unheard_since_{};  ///< asked, and nothing came since
  bool session_node_made_ = false;
  int session_node_tries_ = 0;
  std::optional<response> ancestor_failure_{};
  time_point hung_up_{};
  std::optional<std::int64_t> server_ms_;
  time_point server_ms_at_{};
  std::unique_ptr<seam::thread> thread_;

  std::atomic<bool> closing_{false};
  seam::park_word proof_news_{0};
  seam::park_word owner_word_{0};
  seam::park_word seat_word_{0};
  std::atomic<int> expected_news_{0};
};

}  // namespace crosslock::zookeeper
