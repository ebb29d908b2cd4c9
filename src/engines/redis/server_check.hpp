// Is this server fit to keep locks? Pure: works on the text of INFO.
#pragma once

#include "engine/finding.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::redis {

/// What INFO says, as far as it matters to locks. What the server does not tell is empty. The
/// sections `server`, `replication`, `memory` and `persistence` have all of it. How often the
/// append-only file reaches the disk (appendfsync), and whether snapshots are made at all (save),
/// is not in INFO.
struct server_info {
  std::string redis_version;   ///< Valkey says here which Redis it is like
  std::string valkey_version;  ///< of Valkey only
  std::string mode;            ///< standalone, cluster, sentinel
  std::string run_id;          ///< another one after every start
  std::string role;            ///< master, slave
  std::string master_host;     ///< of a replica
  std::string master_port;
  std::string eviction_policy;
  std::optional<std::uint64_t> max_memory;  ///< bytes; 0: no limit
  std::optional<std::uint64_t> uptime_seconds;
  std::uint64_t replicas = 0;
  bool loading = false;
  std::optional<bool> append_only;
  bool append_only_fails = false;  ///< its last write did
  bool snapshot_fails = false;     ///< the last one did
};

/// Reads `field:value` lines and ignores what it does not know.
server_info read_info(std::string_view text);

/// `7.0.15` is {7, 0}; empty when that is no version.
struct version_number {
  unsigned major = 0;
  unsigned minor = 0;
  friend auto operator<=>(const version_number&, const version_number&) = default;
};
std::optional<version_number> parse_version(std::string_view text) noexcept;

/// The scripts use PEXPIRE with GT, which came with 7.0. Every Valkey has it.
inline constexpr version_number oldest_version{7, 0};

/// The gravest findings first. `eviction_allowed`: the user has said so (`eviction=allowed`).
std::vector<seam::finding> judge_server(const server_info& info, bool eviction_allowed);

}  // namespace crosslock::redis
