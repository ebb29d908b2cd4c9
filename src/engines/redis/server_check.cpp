#include "engines/redis/server_check.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace crosslock::redis {
namespace {

using seam::finding;
using seam::severity;

std::optional<std::uint64_t> number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

void note_field(server_info& to, std::string_view field, std::string_view value) {
  using text_field = std::pair<std::string_view, std::string server_info::*>;
  static constexpr std::array<text_field, 8> texts{{
      {"redis_version", &server_info::redis_version},
      {"valkey_version", &server_info::valkey_version},
      {"redis_mode", &server_info::mode},
      {"run_id", &server_info::run_id},
      {"role", &server_info::role},
      {"master_host", &server_info::master_host},
      {"master_port", &server_info::master_port},
      {"maxmemory_policy", &server_info::eviction_policy},
  }};
  for (const auto& [name, member] : texts) {
    if (field == name) to.*member = value;
  }
  if (field == "maxmemory") to.max_memory = number(value);
  if (field == "uptime_in_seconds") to.uptime_seconds = number(value);
  if (field == "connected_slaves") to.replicas = number(value).value_or(0);
  if (field == "loading") to.loading = value == "1";
  if (field == "aof_enabled") to.append_only = value == "1";
  if (field == "aof_last_write_status") to.append_only_fails = value == "err";
  if (field == "rdb_last_bgsave_status") to.snapshot_fails = value == "err";
}

/// Collects what there is to say.
class report {
 public:
  report(const server_info& info, bool eviction_allowed)
      : info_{info}, eviction_allowed_{eviction_allowed} {}

  std::vector<finding> all() {
    judge_kind();
    judge_version();
    judge_eviction();
    judge_persistence();
    judge_replicas();
    std::ranges::stable_sort(found_, std::greater<>{}, &finding::weight);
    return std::move(found_);
  }

 private:
  void say(severity weight, const char* topic, std::string text) {
    found_.push_back({weight, topic, std::move(text), errc{}});
  }
  void refuse(errc code, const char* topic, std::string text) {
    found_.push_back({severity::refusal, topic, std::move(text), code});
  }

  void judge_kind() {
    if (info_.mode == "sentinel") {
      refuse(errc::unsupported, "mode",
             "this is a Sentinel, which keeps no data; Sentinel is not supported yet: name the "
             "primary itself");
    }
    if (info_.mode == "cluster") {
      refuse(errc::unsupported, "mode",
             "this server is part of a Cluster, which is not supported yet: use one that is not");
    }
    if (info_.role == "slave") {
      std::string text = "this is a replica, and locks live on the primary";
      if (!info_.master_host.empty()) {
        text += ", which is " + info_.master_host + " port " + info_.master_port;
      }
      // A failover may make it the primary: trying again makes sense.
      refuse(errc::unreachable, "role", text + ": name that one");
    } else if (info_.role != "master" && info_.mode != "sentinel") {
      say(severity::warning, "role",
          "the server does not say whether it is a primary: on a replica no lock can be taken");
    }
    if (info_.loading) {
      refuse(errc::unreachable, "loading",
             "the server has just started and is still loading its data: try again soon");
    }
  }

  void judge_version() {
    if (!info_.valkey_version.empty()) {
      say(severity::note, "version", "Valkey " + info_.valkey_version);
      return;
    }
    const auto version = parse_version(info_.redis_version);
    if (!version) {
      say(severity::warning, "version",
          "the server does not tell its version; 7.0 or newer is needed");
    } else if (*version < oldest_version) {
      refuse(
          errc::unsupported, "version",
          "Redis " + info_.redis_version +
              " is too old: 7.0 or newer is needed (the scripts use PEXPIRE with GT), or Valkey");
    } else {
      say(severity::note, "version", "Redis " + info_.redis_version);
    }
  }

  void judge_eviction() {
    const std::string& policy = info_.eviction_policy;
    if (policy.empty()) {
      say(severity::warning, "eviction",
          "the server does not tell its maxmemory-policy: with any but noeviction it may drop "
          "locks that are held");
      return;
    }
    if (policy == "noeviction") {
      const bool limited = info_.max_memory.value_or(0) > 0;
      say(severity::note, "eviction",
          limited
              ? "nothing is evicted; when maxmemory is reached no lock can be taken until there "
                "is room again"
              : "nothing is evicted, and memory has no limit");
      return;
    }
    const std::string meaning =
        "with maxmemory-policy " + policy +
        " the server may drop a lock that is held when memory is short, and then two hold it";
    if (eviction_allowed_) {
      say(severity::warning, "eviction", meaning + "; eviction=allowed accepts that");
    } else {
      refuse(errc::unsupported, "eviction",
             meaning + ": use noeviction, or accept it by eviction=allowed in the URL");
    }
  }

  void judge_persistence() {
    if (!info_.append_only) {
      say(severity::warning, "persistence",
          "the server does not say what it keeps on disk: after a restart it may have forgotten "
          "who "
          "holds what");
    } else if (*info_.append_only) {
      say(severity::note, "persistence",
          "the append-only file is on; how often it reaches the disk is not shown: with "
          "appendfsync "
          "everysec a crash of the machine may forget the grants of the last second, with always "
          "none");
    } else {
      say(severity::warning, "persistence",
          "the append-only file is off: a restart forgets who holds what since the last snapshot, "
          "and then two may hold a lock, each with its own fence; fences rise all the same");
    }
    if (info_.append_only_fails) {
      say(severity::warning, "persistence",
          "the append-only file cannot be written: the server refuses writes, and so locks");
    }
    if (info_.snapshot_fails) {
      say(severity::warning, "persistence",
          "the last snapshot failed: with stop-writes-on-bgsave-error the server refuses writes, "
          "and so locks");
    }
  }

  void judge_replicas() {
    if (info_.replicas == 0 || info_.role != "master") return;
    say(severity::note, "replicas",
        "replication is asynchronous: a replica that takes over may not know the last grants, and "
        "then two hold a lock; fences rise all the same");
  }

  const server_info& info_;
  const bool eviction_allowed_;
  std::vector<finding> found_;
};

}  // namespace

server_info read_info(std::string_view text) {
  server_info out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto colon = line.find(':');
    if (line.starts_with('#') || colon == std::string_view::npos) continue;
    note_field(out, line.substr(0, colon), line.substr(colon + 1));
  }
  return out;
}

std::optional<version_number> parse_version(std::string_view text) noexcept {
  version_number out;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, out.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, out.minor);
  if (minor.ec != std::errc{}) return std::nullopt;
  return out;
}

std::vector<finding> judge_server(const server_info& info, bool eviction_allowed) {
  return report{info, eviction_allowed}.all();
}

}  // namespace crosslock::redis
