// What can be seen of a lock from outside.
#pragma once

#include <crosslock/fence.hpp>
#include <crosslock/owner_id.hpp>
#include <crosslock/time.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace crosslock {

enum class claim_mode { exclusive, shared, permit };

/// One holder or waiter, as the server shows it. Ages are the server's own.
struct claim_info {
  owner_id owner;
  claim_mode mode = claim_mode::exclusive;
  std::string who;           ///< user@host pid program, and what options::who added
  duration age{};            ///< held, or waited, for so long
  duration lease_left{};     ///< holders: what is left of the lease
  crosslock::fence fence{};  ///< holders: the fence the grant began with
  std::int32_t permits = 1;  ///< permit claims: how many ...
  std::int32_t of = 1;       ///< ... of how many
  /// Holders: not one of ours, but of another library at the same key. It has no fence, its age is
  /// not known, and a lease_left of duration::max() says that it never ends by itself.
  bool foreign = false;
};

/// Holders first come first, then the line in order.
struct lock_info {
  std::string name;
  std::vector<claim_info> holders;
  std::vector<claim_info> line;
};

}  // namespace crosslock
