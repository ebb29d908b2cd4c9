// What the settings of a server mean for locks.
#include "engines/redis/server_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace crosslock::redis {
namespace {

using seam::finding;
using seam::severity;

/// A server to which there is no objection.
const std::string good_server =
    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
    "run_id:0123456789012345678901234567890123456789\r\nuptime_in_seconds:77\r\n\r\n"
    "# Memory\r\nused_memory:1000\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
    "# Persistence\r\nloading:0\r\nrdb_last_bgsave_status:ok\r\naof_enabled:1\r\n"
    "aof_last_write_status:ok\r\n"
    "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n";

/// Like that, but with these lines in the place of those about the same fields.
server_info server_with(const std::string& lines) { return read_info(good_server + lines); }

std::vector<finding> grave(const std::vector<finding>& all) {
  std::vector<finding> out;
  std::ranges::copy_if(all, std::back_inserter(out),
                       [](const finding& one) { return one.weight != severity::note; });
  return out;
}

TEST(redis_server_check, reads_what_info_says) {
  const server_info got = read_info(good_server);
  EXPECT_EQ(got.redis_version, "7.0.15");
  EXPECT_EQ(got.valkey_version, "");
  EXPECT_EQ(got.mode, "standalone");
  EXPECT_EQ(got.run_id, "0123456789012345678901234567890123456789");
  EXPECT_EQ(got.role, "master");
  EXPECT_EQ(got.eviction_policy, "noeviction");
  EXPECT_EQ(got.max_memory, 0u);
  EXPECT_EQ(got.uptime_seconds, 77u);
  EXPECT_EQ(got.append_only, true);
  EXPECT_FALSE(got.loading);
  EXPECT_FALSE(got.append_only_fails);
  EXPECT_FALSE(got.snapshot_fails);
}

TEST(redis_server_check, reads_odd_texts_without_guessing) {
  for (const char* const text : {"", "\r\n", ":", "role", "#role:master", "maxmemory:-1",
                                 "maxmemory:1x", "uptime_in_seconds:99999999999999999999999"}) {
    const server_info got = read_info(text);
    EXPECT_EQ(got.role, "") << text;
    EXPECT_FALSE(got.max_memory) << text;
    EXPECT_FALSE(got.uptime_seconds) << text;
    EXPECT_FALSE(got.append_only) << text;
  }
  EXPECT_EQ(read_info("role:master").role, "master");
  EXPECT_EQ(read_info("master_host:fe80::1\nrole:slave").master_host, "fe80::1");
}

TEST(redis_server_check, reads_versions) {
  const auto version = [](unsigned major, unsigned minor) { return version_number{major, minor}; };
  EXPECT_EQ(parse_version("7.0.15"), version(7, 0));
  EXPECT_EQ(parse_version("10.2"), version(10, 2));
  EXPECT_EQ(parse_version("255.255.255"), version(255, 255));
  for (const char* const text : {"", "7", "7.", ".7", "x.y", "-7.0"}) {
    EXPECT_FALSE(parse_version(text)) << text;
  }
  EXPECT_LT(version(6, 9), version(7, 0));
  EXPECT_LT(version(7, 0), version(10, 0));
}

TEST(redis_server_check, has_no_objection_to_a_good_server) {
  EXPECT_EQ(grave(judge_server(read_info(good_server), false)), std::vector<finding>{});
}

struct case_row {
  const char* lines;
  severity weight;
  const char* topic;
  errc code;
  const char* words;  ///< part of the text
};

void expect_one(const case_row& row, bool eviction_allowed = false) {
  SCOPED_TRACE(row.lines);
  const auto all = judge_server(server_with(row.lines), eviction_allowed);
  const auto found = grave(all);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(all.front(), found.front()) << "the gravest comes first";
  EXPECT_EQ(found[0].weight, row.weight);
  EXPECT_EQ(found[0].topic, row.topic);
  EXPECT_EQ(found[0].code, row.code);
  EXPECT_NE(found[0].text.find(row.words), std::string::npos) << found[0].text;
}

TEST(redis_server_check, objects_to_what_endangers_locks) {
  constexpr auto refusal = severity::refusal;
  constexpr auto warning = severity::warning;
  for (const case_row& row : std::vector<case_row>{
           {"role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6380\r\n", refusal, "role",
            errc::unreachable, "10.0.0.1 port 6380"},
           {"role:slave\r\n", refusal, "role", errc::unreachable, "name that one"},
           {"role:\r\n", warning, "role", errc{}, "does not say"},
           {"redis_mode:cluster\r\n", refusal, "mode", errc::unsupported, "Cluster"},
           {"redis_mode:sentinel\r\nrole:\r\n", refusal, "mode", errc::unsupported, "Sentinel"},
           {"loading:1\r\n", refusal, "loading", errc::unreachable, "loading"},
           {"redis_version:6.2.14\r\n", refusal, "version", errc::unsupported, "6.2.14"},
           {"redis_version:2.8.0\r\n", refusal, "version", errc::unsupported, "7.0 or newer"},
           {"redis_version:\r\n", warning, "version", errc{}, "does not tell"},
           {"maxmemory_policy:allkeys-lru\r\n", refusal, "eviction", errc::unsupported,
            "allkeys-lru"},
           {"maxmemory_policy:volatile-ttl\r\nmaxmemory:1000\r\n", refusal, "eviction",
            errc::unsupported, "eviction=allowed"},
           {"maxmemory_policy:\r\n", warning, "eviction", errc{}, "does not tell"},
           {"aof_enabled:0\r\n", warning, "persistence", errc{}, "a restart forgets"},
           {"aof_enabled:0\r\nrdb_last_bgsave_status:ok\r\n", warning, "persistence", errc{},
            "fences rise"},
           {"aof_last_write_status:err\r\n", warning, "persistence", errc{}, "append-only file"},
           {"rdb_last_bgsave_status:err\r\n", warning, "persistence", errc{}, "snapshot"},
       }) {
    expect_one(row);
  }
}

TEST(redis_server_check, eviction_can_be_accepted_and_is_still_told) {
  for (const char* const lines :
       {"maxmemory_policy:allkeys-random\r\n", "maxmemory_policy:volatile-lfu\r\n"}) {
    expect_one({lines, severity::warning, "eviction", errc{}, "two hold it"}, true);
  }
}

TEST(redis_server_check, takes_valkey_whatever_redis_it_is_like) {
  for (const char* const lines : {"valkey_version:8.0.1\r\nredis_version:7.2.4\r\n",
                                  "redis_version:7.2.4\r\nvalkey_version:7.2.5\r\n"}) {
    EXPECT_EQ(grave(judge_server(server_with(lines), false)), std::vector<finding>{}) << lines;
  }
}

TEST(redis_server_check, a_server_that_tells_nothing_is_warned_about_but_not_refused) {
  for (const finding& one : judge_server(read_info(""), false)) {
    EXPECT_EQ(one.weight, severity::warning) << one.text;
  }
}

TEST(redis_server_check, notes_what_replicas_and_full_memory_mean) {
  const auto says = [](const std::string& lines, const std::string& words) {
    const auto all = judge_server(server_with(lines), false);
    EXPECT_TRUE(grave(all).empty());
    return std::ranges::any_of(
        all, [&](const finding& one) { return one.text.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(says("connected_slaves:1\r\n", "asynchronous"));
  EXPECT_FALSE(says("", "asynchronous"));
  EXPECT_TRUE(says("maxmemory:1000\r\n", "until there is room"));
  EXPECT_TRUE(says("", "appendfsync"));
}

}  // namespace
}  // namespace crosslock::redis
