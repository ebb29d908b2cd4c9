// The server as session engines see it: a small tree of places, some of which end with the session.
#pragma once

#include "engine/clock.hpp"
#include "engine/session.hpp"

#include <crosslock/error.hpp>
#include <crosslock/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::session {

/// Who may do what with a node that we make.
enum class rights {
  shared,    ///< parents and cells: everybody who may use these locks
  own_node,  ///< claims: read by them, written by this client alone, so that a write is its word
  session,   ///< what heartbeats write to: everything, for this client and its user
};

enum class node_life {
  persistent,
  container,             ///< removed by the server some time after its last child
  ephemeral,             ///< ends with the session
  ephemeral_sequential,  ///< the same; the server appends the next number of the parent
};

/// One part of a transaction.
struct change {
  enum class kind { create, erase, write, check };
  kind what = kind::check;
  std::string path;
  std::string data;
  node_life life = node_life::ephemeral;  ///< create
  rights who = rights::own_node;          ///< create
  std::int32_t version = -1;              ///< erase, write, check
};

struct request {
  enum class kind { create, erase, read, exists, write, children, sync, transaction };
  kind what = kind::read;
  std::string path;
  std::string data;
  node_life life = node_life::ephemeral;
  rights who = rights::own_node;
  std::int32_t version = -1;
  bool watch = false;  ///< read, exists, children: tell once when it changes
  std::vector<change> changes{};
};

/// The path of a child.
std::string below(std::string_view path, std::string_view child);

request create(std::string path, std::string data, node_life life, rights who);
request erase(std::string path);
request read(std::string path, bool watch = false);
request exists(std::string path, bool watch = false);
request write(std::string path, std::string data, std::int32_t version = -1);
request children(std::string path, bool watch = false);
request sync(std::string path);
request transaction(std::vector<change> changes);

/// What is known of a node besides its data.
struct node_facts {
  std::int64_t born{};           ///< the transaction that created it
  std::int64_t made_at_ms{};     ///< by the server's wall clock
  std::int64_t written_at_ms{};  ///< the same
  std::int64_t owner{};          ///< the session it belongs to; 0: it outlives sessions
  std::int32_t version{};
};

/// Names in one piece of memory, which copies share.
class name_list {
 public:
  name_list() = default;
  explicit name_list(std::span<const char* const> names);

  auto begin() const noexcept { return views_.begin(); }
  auto end() const noexcept { return views_.end(); }
  std::size_t size() const noexcept { return views_.size(); }
  bool empty() const noexcept { return views_.empty(); }

 private:
  std::shared_ptr<const std::string> text_;
  std::vector<std::string_view> views_;
};

struct response {
  enum class result {
    done,
    missing,  ///< there is no such node
    exists,   ///< there is one already
    changed,  ///< it has another version
    cut_off,  ///< neither done nor refused for sure: the connection or the session ended under way
    refused,  ///< for a reason that the engine knows
  };

  result what = result::done;
  int code = 0;  ///< the client library's number
  std::string path{};
  std::string data{};
  node_facts facts{};
  name_list names{};  ///< children; of a transaction, the paths that it created

  bool ok() const noexcept { return what == result::done; }
  bool no_node() const noexcept { return what == result::missing; }
  bool exists_already() const noexcept { return what == result::exists; }
  bool cut_off() const noexcept { return what == result::cut_off; }
};

using hearer = std::function<void(response&)>;

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
  /// It goes on, but for less time than before.
  virtual void shortened() noexcept = 0;
  /// A heartbeat went out: the time for what is to be done now and then.
  virtual void beat() noexcept = 0;
};

/// The connection to it. Thread-safe.
class tree {
 public:
  virtual ~tree() = default;

  /// A batch of answers that somebody waits for.
  struct flight {
    seam::park_word word{0};
    std::atomic<int> missing{0};
    bool landed() const noexcept { return missing.load(std::memory_order_acquire) == 0; }
  };
  struct asked {
    request what;
    hearer then;
  };
  /// Sends requests behind each other: their answers come in the same order. Nobody is heard when
  /// it throws, which it does when there is no connection now. `session`: only in that one.
  virtual void send(std::span<asked> requests, session_number session) = 0;
  void send(std::span<asked> requests) { send(requests, any_session); }
  static constexpr session_number any_session = 0;
  /// Until the flight has landed; false when it has not by `give_up`.
  virtual bool await(flight& mine, time_point give_up) = 0;
  /// The same, for whoever has not given up then. At once when it is being closed.
  virtual bool await_so_far(flight& mine, time_point until) = 0;
  virtual bool closing() const noexcept = 0;
  /// Waits for a connection; throws `unreachable` or `denied` without one.
  virtual void require(time_point give_up) = 0;

  /// As engine::await_news and engine::rouse.
  virtual void await_news(seam::park_word& word, std::uint32_t expected, time_point until) = 0;
  virtual void rouse(seam::park_word& word) noexcept = 0;
  /// So many wait for news without a thread that would listen for them.
  virtual void expect_news(int more) noexcept = 0;

  struct life {
    session_number session = 0;
    std::int64_t id = 0;  ///< as nodes name their owner
    duration timeout{};   ///< as negotiated
    std::optional<time_point> proven{};
    std::shared_ptr<const seam::session> lasts{};  ///< what its holds last as long as
  };
  /// The session as it is now.
  virtual life now() const = 0;
  /// Waits until the session is proven alive after `since`, or has ended, or `until`.
  virtual life await_proof(time_point since, time_point until) = 0;
  duration timeout() const { return now().timeout; }
  virtual duration beat_interval() const = 0;
  virtual const std::string& shown() const noexcept = 0;  ///< the servers, for people
};

}  // namespace crosslock::session
