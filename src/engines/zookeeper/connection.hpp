// One client's session with a ZooKeeper ensemble, made anew when the ensemble has ended it.
//
// The client library's single-threaded flavour does no work by itself: somebody has to let it read
// and write. Whoever waits for an answer does that for all (it "drives"); the others park. While
// nobody waits, a thread of our own drives: for the heartbeat, and for news.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"
#include "engine/seat.hpp"
#include "engine/session.hpp"
#include "engines/zookeeper/protocol.hpp"
#include "session/proof.hpp"
#include "session/tree.hpp"

#include <crosslock/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct _zhandle;
struct timeval;

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

class connection final : public tree {
 public:
  connection(connection_settings how, seam::clock& clock, session_listener& listener);
  ~connection() override;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Connects, or throws by `give_up` at the latest.
  void open(time_point give_up);

  using tree::send;
  void send(std::span<asked> requests, session_number session) override;
  bool await(flight& mine, time_point give_up) override;
  bool await_so_far(flight& mine, time_point until) override;
  bool closing() const noexcept override { return closing_.load(); }
  /// One request after another, waited for. Throws `timed_out` or `unreachable`.
  std::vector<response> call(std::vector<request> requests, time_point give_up);
  response call(request one, time_point give_up);
  void require(time_point give_up) override;
  void await_news(seam::park_word& word, std::uint32_t expected, time_point until) override;
  void rouse(seam::park_word& word) noexcept override;
  void expect_news(int more) noexcept override;
  life now() const override;
  life await_proof(time_point since, time_point until) override;
  duration beat_interval() const override;
  const std::string& shown() const noexcept override { return how_.shown; }
  const std::string& root() const noexcept { return how_.root; }
  /// What the rights of a node take of a message.
  std::size_t bytes_of(rights who) const;
  /// The server's wall clock minus our clock, as of the last heartbeat.
  std::optional<std::int64_t> server_ms() const;
  bool on_own_thread() const noexcept;

  /// Ends the session. Nothing is heard afterwards.
  void close() noexcept;
  /// In a forked child.
  void abandon() noexcept CROSSLOCK_NO_ANALYSIS;

 private:
  struct pending;
  struct arrival;
  struct completions;
  enum class standing { none, connecting, associating, connected, ended };

  void submit(asked& one) CROSSLOCK_REQUIRES(mutex_);
  int submit_transaction(const request& what, pending* waits) CROSSLOCK_REQUIRES(mutex_);
  void note_state(time_point before) CROSSLOCK_REQUIRES(mutex_);
  void leave_connected() CROSSLOCK_REQUIRES(mutex_);
  void session_goes_on() CROSSLOCK_REQUIRES(mutex_);
  void end_session() CROSSLOCK_REQUIRES(mutex_);
  void make_session_node() CROSSLOCK_REQUIRES(mutex_);
  void learn_rights(const std::string& path, bool made_just_now) CROSSLOCK_REQUIRES(mutex_);
  void refuse_session(error why) CROSSLOCK_REQUIRES(mutex_);
  void submit_rights_question(const std::string& path, hearer then) CROSSLOCK_REQUIRES(mutex_);
  void make_ancestors(const std::string& path) CROSSLOCK_REQUIRES(mutex_);
  void tend(time_point now) CROSSLOCK_REQUIRES(mutex_);
  void plan_heartbeat(time_point when) noexcept CROSSLOCK_REQUIRES(mutex_);
  void try_again_after_refusal(time_point now) CROSSLOCK_REQUIRES(mutex_);
  void give_up_attempt(time_point now) CROSSLOCK_REQUIRES(mutex_);
  void send_heartbeat(time_point now) CROSSLOCK_REQUIRES(mutex_);
  void heartbeat_answered(std::uint64_t number, time_point sent, const response& said)
      CROSSLOCK_REQUIRES(mutex_);
  void note_server_time(std::int64_t ms, time_point when) CROSSLOCK_REQUIRES(mutex_);
  void note_refusal(int code) noexcept CROSSLOCK_REQUIRES(mutex_);
  std::string current_server() const CROSSLOCK_REQUIRES(mutex_);
  bool something_came() const noexcept CROSSLOCK_REQUIRES(mutex_);
  void hang_up() noexcept CROSSLOCK_REQUIRES(mutex_);
  template <class Over>
  void ride(flight& mine, time_point give_up, const Over& over) CROSSLOCK_REQUIRES(mutex_);
  bool land(flight& mine, time_point give_up) CROSSLOCK_REQUIRES(mutex_);
  void hang_up_if_silent() noexcept CROSSLOCK_REQUIRES(mutex_);
  class driver;
  void offer_seat() CROSSLOCK_REQUIRES(mutex_);
  void ring() noexcept CROSSLOCK_REQUIRES(mutex_);
  std::string session_node() const CROSSLOCK_REQUIRES(mutex_);
  [[noreturn]] void refuse_unconnected() const CROSSLOCK_REQUIRES(mutex_);
  void take_down(arrival what) CROSSLOCK_NO_ANALYSIS;
  void rejoin() CROSSLOCK_REQUIRES(mutex_);
  // These let go of the mutex for a while.
  void make_handle() CROSSLOCK_REQUIRES(mutex_);
  void drop_handle() noexcept CROSSLOCK_REQUIRES(mutex_);
  int show_interest(int& interest, timeval& patience) CROSSLOCK_REQUIRES(mutex_);
  void drive_once(time_point until) CROSSLOCK_REQUIRES(mutex_);
  void poll_once(time_point until) CROSSLOCK_REQUIRES(mutex_);
  void deliver() CROSSLOCK_REQUIRES(mutex_);
  void rest() CROSSLOCK_REQUIRES(mutex_);

  std::vector<response> call_once(std::vector<request> requests, bool harmless, time_point give_up);
  void own_thread();
  void tell_proof();
  void wait_until(time_point give_up, const std::function<bool()>& ready);
  void tell(arrival& what);
  void wake(flight& one) noexcept;
  duration attempt_longest() const noexcept;

  const connection_settings how_;
  seam::clock& clock_;
  session_listener& listener_;
  const std::unique_ptr<access> access_;
  int bell_ = -1;   ///< an eventfd that whoever drives also listens to
  int pulse_ = -1;  ///< the time of the next heartbeat, also for a process that was frozen
  std::function<void(event)> take_down_;

  mutable seam::mutex mutex_;
  _zhandle* handle_ CROSSLOCK_GUARDED_BY(mutex_) = nullptr;
  time_point handle_again_at_ CROSSLOCK_GUARDED_BY(mutex_){};
  int last_failure_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  /// Addresses where there was nobody.
  std::set<std::string> refused_ CROSSLOCK_GUARDED_BY(mutex_){};
  bool all_refused_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  int descriptor_ CROSSLOCK_GUARDED_BY(mutex_) = -1;
  /// The descriptor by which a server is being tried ...
  int attempt_on_ CROSSLOCK_GUARDED_BY(mutex_) = -1;
  time_point attempt_began_ CROSSLOCK_GUARDED_BY(mutex_){};  ///< ... since then
  standing state_ CROSSLOCK_GUARDED_BY(mutex_) = standing::none;
  std::optional<error> refusal_ CROSSLOCK_GUARDED_BY(mutex_);  ///< why sessions are useless here
  /// Connected, and the listener has done what comes first then: what is left to remove goes out
  /// before anybody asks, so that no claim meets an old one of its own client.
  bool resumed_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  seam::seat seat_ CROSSLOCK_GUARDED_BY(mutex_);
  const seam::park_word* driver_waits_on_ CROSSLOCK_GUARDED_BY(mutex_) = nullptr;
  std::list<flight*> parked_ CROSSLOCK_GUARDED_BY(mutex_);
  int listening_ CROSSLOCK_GUARDED_BY(mutex_) = 0;  ///< threads in await_news that do not drive
  std::uint64_t calls_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  bool owner_wanted_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  bool owner_sleeps_ CROSSLOCK_GUARDED_BY(mutex_) = false;  ///< until the seat is left
  std::deque<arrival> arrived_ CROSSLOCK_GUARDED_BY(mutex_);
  /// Before the present connect request went out.
  time_point primed_ CROSSLOCK_GUARDED_BY(mutex_){};
  session_number session_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  std::int64_t session_id_ CROSSLOCK_GUARDED_BY(mutex_) = 0;  ///< 0: there is none
  duration timeout_ CROSSLOCK_GUARDED_BY(mutex_){};
  proof proof_ CROSSLOCK_GUARDED_BY(mutex_);
  std::shared_ptr<seam::session> lasts_ CROSSLOCK_GUARDED_BY(mutex_);
  std::uint64_t heartbeats_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t first_heartbeat_ CROSSLOCK_GUARDED_BY(mutex_) = 1;  ///< of this connection
  std::uint64_t answered_heartbeat_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  time_point next_heartbeat_ CROSSLOCK_GUARDED_BY(mutex_){};
  /// Asked, and nothing came since.
  std::optional<time_point> unheard_since_ CROSSLOCK_GUARDED_BY(mutex_){};
  bool session_node_made_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  int session_node_tries_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  std::optional<response> ancestor_failure_ CROSSLOCK_GUARDED_BY(mutex_){};
  time_point hung_up_ CROSSLOCK_GUARDED_BY(mutex_){};
  std::optional<std::int64_t> server_ms_ CROSSLOCK_GUARDED_BY(mutex_);
  time_point server_ms_at_ CROSSLOCK_GUARDED_BY(mutex_){};
  std::unique_ptr<seam::thread> thread_ CROSSLOCK_GUARDED_BY(mutex_);

  std::atomic<bool> closing_{false};
  seam::park_word proof_news_{0};
  seam::park_word owner_word_{0};
  seam::park_word seat_word_{0};
  std::atomic<int> expected_news_{0};

  // Of whoever has the seat.
  bool apart_ = false;  ///< calls the library without the mutex: nobody else can, ...
  std::deque<arrival> arrived_apart_;  ///< ... and this is what it says meanwhile
};

}  // namespace crosslock::zookeeper
