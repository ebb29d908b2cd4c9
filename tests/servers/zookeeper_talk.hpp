// A connection to ZooKeeper for tests that look inside or do harm: no library, no watches, one
// request at a time. Paths are whole ones.
//
//   zookeeper_talk talk{server.address()};
//   for (const std::string& each : talk.below("/case-1")) ...
//   zookeeper_talk{server.address(), stolen}.close();    // the session of somebody else is over
#pragma once

#include "proxy/jute.hpp"
#include "proxy/socket.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::servers {

/// Refused by the server.
class zookeeper_refusal : public std::runtime_error {
 public:
  zookeeper_refusal(const std::string& what, std::int32_t code)
      : std::runtime_error{what + ": error " + std::to_string(code)}, code_{code} {}
  std::int32_t code() const noexcept { return code_; }

 private:
  std::int32_t code_;
};

struct zookeeper_stat {
  std::int64_t created = 0;  ///< czxid
  std::int64_t changed = 0;  ///< mzxid
  std::int32_t version = 0;
  std::int64_t owner = 0;  ///< the session of an ephemeral node
  std::int32_t children = 0;
};

struct zookeeper_node {
  std::string data;
  zookeeper_stat stat;
};

/// One thread at a time. Throws std::runtime_error when there is no answer.
class zookeeper_talk {
 public:
  /// In a session of its own, or as one more connection of that one.
  explicit zookeeper_talk(const proxy::address& where, const proxy::jute_session& session = {});
  zookeeper_talk(zookeeper_talk&&) = default;
  zookeeper_talk& operator=(zookeeper_talk&&) = default;
  /// Its session ends.
  ~zookeeper_talk();

  /// As given by the server; id 0 when the session is over.
  const proxy::jute_session& session() const noexcept { return session_; }

  enum class kind : std::int32_t {
    persistent = 0,
    ephemeral = 1,
    sequential = 2,
    ephemeral_sequential = 3,
    container = 4,
  };
  /// Its name, which a sequence completes.
  std::string create(const std::string& path, const std::string& data = {},
                     kind what = kind::persistent);
  void remove(const std::string& path);
  /// With all that is below; what is not there is no fault.
  void remove_tree(const std::string& path);
  bool exists(const std::string& path);
  zookeeper_node get(const std::string& path);
  /// The same; empty when it is not there.
  std::optional<zookeeper_node> find(const std::string& path);
  void set(const std::string& path, const std::string& data);
  /// Names, sorted; none when the node is not there.
  std::vector<std::string> children(const std::string& path);
  /// Every node below, deepest last; whole paths.
  std::vector<std::string> below(const std::string& path);
  /// As user `name`.
  void authenticate(const std::string& name, const std::string& password);
  /// From now on that node has these rights and no others: `perms` for each identity, a scheme and
  /// an id.
  using identity = std::pair<std::string, std::string>;
  void set_rights(const std::string& path, std::int32_t perms, const std::vector<identity>& whose);
  /// Ends the session, for every connection that takes part in it.
  void close();
  /// Hangs up; the session goes on until its time is over.
  void hang_up() { socket_.close(); }

 private:
  /// The body of the answer, behind its header. A refusal is thrown.
  std::string ask(proxy::jute_op what, const proxy::jute_writer& body, const std::string& about,
                  std::int32_t xid = 0);
  void send(const std::string& message);
  std::string receive();

  proxy::descriptor socket_;
  proxy::jute_session session_;
  std::string received_;
  std::int32_t last_xid_ = 0;
};

}  // namespace crosslock::servers
