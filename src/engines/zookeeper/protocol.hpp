// What is said to ZooKeeper and what it answers, in our own words: the rest of the engine knows no
// type of the client library beyond its numbers.
#pragma once

#include <crosslock/error.hpp>
#include <crosslock/fence.hpp>
#include <crosslock/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::zookeeper {

/// Who may do what with a node that we make.
enum class rights {
  shared,    ///< parents and cells: everybody who may use these locks
  own_node,  ///< claims: read by them, written by this client alone, so that a write is its word
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
  int code = 0;  ///< the library's number; 0 is success
  std::string path{};
  std::string data{};
  node_facts facts{};
  name_list names{};  ///< children; of a transaction, the paths that it created

  bool ok() const noexcept { return code == 0; }
  bool no_node() const noexcept;
  bool exists_already() const noexcept;
  /// Neither done nor refused for sure: the connection or the session ended under way.
  bool cut_off() const noexcept;
};

using hearer = std::function<void(response&)>;

error make_error(errc code, const std::string& text, int native = 0, bool outcome_unknown = false);
/// What a failed response means for whoever asked; `what` completes "cannot ...".
error error_in(const response& said, const std::string& what, const std::string& server);

/// The first fence of a hold whose place in line was created by that transaction, and the last of
/// its block. Throws `fence_exhausted` when it does not fit.
fence fence_of(std::int64_t transaction, std::string_view name);
fence last_of_block(fence first) noexcept;

/// What a node of ours says about its claim.
struct inscription {
  duration session{};    ///< the timeout of its session
  std::int64_t token{};  ///< the fence, where it is not that of the node's own birth
  std::int32_t of{};     ///< permits: of how many
  std::string beside{};  ///< upgrades: the owner of the shared claim that does not hinder it
  std::string mark{};    ///< the owner id, where the name of the node does not say it
  std::string who{};
};
std::string inscribe(const inscription& words);
/// Empty for the node of another library.
std::optional<inscription> read_inscription(std::string_view data);

}  // namespace crosslock::zookeeper
