// What ZooKeeper's answers mean, and what its nodes say about claims.
#pragma once

#include "session/tree.hpp"

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

using namespace session;  // what is asked of the tree, and what it answers

/// What one message takes (jute.maxbuffer), less the rest.
inline constexpr std::size_t message_longest = 1'000'000;

/// What the library's numbers mean.
response::result result_of(int code) noexcept;

error make_error(errc code, const std::string& text, int native = 0, bool outcome_unknown = false);
/// What a failed response means for whoever asked; `what` completes "cannot ...".
error error_in(const response& said, const std::string& what, const std::string& server);

/// What people are told of a session that the servers keep for less time.
std::string shorter_than_asked(const std::string& server, duration asked, duration given);

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
