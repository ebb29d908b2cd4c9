// The names of claims in ZooKeeper, as crosslock and other lock libraries write them.
#pragma once

#include "engine/claim.hpp"

#include <crosslock/owner_id.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::zookeeper {

/// Whose names we write. Each library's are read, but no name of ours satisfies them all.
enum class naming { curator, kazoo };

enum class node_kind {
  mutex,
  writer,
  reader,
  permits,  ///< in a semaphore's queue
  lease,    ///< one permit given out
};

/// One child that is a claim:
///
/// | | Curator | kazoo |
/// |---|---|---|
/// | mutex | `_c_<uuid>-lock-<sequence>` | `<32 hex digits>__lock__<sequence>` |
/// | writer | `_c_<uuid>-__WRIT__<sequence>` | as a mutex, and read as one |
/// | reader | `_c_<uuid>-__READ__<sequence>` | `<32 hex digits>__rlock__<sequence>` |
/// | permits, 3 of them | `_c_<uuid>-p3-lock-<sequence>` (Curator's own: a mutex) | the same |
/// | lease | `_c_<uuid>-lease-<sequence>` | the same |
///
/// Read as a mutex too: `lock-<sequence>` alone, go-zookeeper's `_c_<32 hex digits>-lock-`, and
/// `x-<session>-` of ZooKeeper's own recipes.
///
/// A line of hundreds is read by everybody who joins it: so this is a view of the name, which must
/// outlive it, and who stands there is worked out only when asked for.
struct node {
  std::string_view name{};
  node_kind kind = node_kind::mutex;
  std::int32_t sequence = 0;
  std::string_view id{};  ///< what the name says of its owner
  std::int32_t permits = 1;

  std::optional<owner_id> owner() const;  ///< none: there is none that we can read

  friend bool operator==(const node&, const node&) = default;
};

/// A name without its sequence, which the server appends.
std::string new_node(naming how, node_kind kind, const owner_id& owner, std::int32_t permits = 1);

/// The name as the server makes it of what was given to it.
std::string sequenced(std::string_view stem, std::int32_t sequence);

/// Downgrade: the reader's whole name at the writer's place.
std::string reader_in_place_of(naming how, const owner_id& owner, std::int32_t sequence);

/// Empty when the child is no claim.
std::optional<node> read_node(std::string_view child);

/// What the child may be of another library, which would not respect a claim of that kind beside
/// it, and what to do; empty when it would, or is nothing of the sort. (A claim of ours may look
/// like that, too: one in 64.)
std::string_view stranger(naming how, node_kind ours, std::string_view child);

/// The claims among the children but no leases, first come first. The server counts to 2^31 - 1 and
/// goes on with -2^31; the order is right as long as fewer than 2^31 lie between first and last.
std::vector<node> read_line(std::span<const std::string_view> children);

/// The queue of a semaphore is an exclusive line.
seam::demand demand_of(const node& node) noexcept;

}  // namespace crosslock::zookeeper
