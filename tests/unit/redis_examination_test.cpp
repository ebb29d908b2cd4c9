// What the engine tells people about a real server.
#include "engines/redis/examination.hpp"

#include "redis_engine_rig.hpp"

#include <algorithm>

namespace crosslock::redis {
namespace {

using seam::finding;
using seam::severity;

std::vector<finding> examine(engine_rig& client) {
  return client.engine->examine(engine_rig::soon());
}

/// The findings of one topic, as `weight text` lines.
std::string about(const std::vector<finding>& all, std::string_view topic) {
  std::string lines;
  for (const finding& one : all) {
    if (one.topic != topic) continue;
    lines += one.weight == severity::note ? "note " : "warning ";
    lines += one.text + '\n';
  }
  return lines;
}

TEST(redis_examination, knows_which_ways_stay_on_this_machine) {
  for (const char* const host : {"localhost", "127.0.0.1", "127.1.2.3", "::1"}) {
    EXPECT_TRUE(is_local({.host = host})) << host;
  }
  for (const char* const host : {"10.0.0.1", "db.example", "localhost.example", "::2"}) {
    EXPECT_FALSE(is_local({.host = host})) << host;
  }
  EXPECT_TRUE(is_local({.unix_path = "/run/redis.sock"}));
}

TEST(redis_examination, tells_everything_that_matters_and_the_gravest_first) {
  servers::redis_server server;
  engine_rig client{socket_url(server)};
  const auto all = examine(client);
  EXPECT_TRUE(std::ranges::is_sorted(all, std::greater<>{}, &finding::weight));
  EXPECT_TRUE(mentions(about(all, "version"), "note Redis "));
  EXPECT_TRUE(mentions(about(all, "persistence"), "warning the append-only file is off"));
  EXPECT_TRUE(mentions(about(all, "persistence"), "note save is empty"));
  EXPECT_TRUE(mentions(about(all, "way"), "note not encrypted, and on this machine"));
  EXPECT_TRUE(mentions(about(all, "round trip"), " ms usually, "));
  EXPECT_TRUE(mentions(about(all, "clock"), "note the server's clock is 0."));
  EXPECT_EQ(about(all, "rights"), "note this user may tell and be told of grants\n");
}

TEST(redis_examination, tells_how_an_append_only_file_is_written) {
  servers::redis_server server{{.settings = {{"appendonly", "yes"}, {"appendfsync", "always"}}}};
  engine_rig client{socket_url(server)};
  EXPECT_TRUE(mentions(about(examine(client), "persistence"), "note appendfsync is always"));
}

TEST(redis_examination, names_the_rights_that_are_missing_and_needs_none_besides) {
  servers::redis_server server;
  const auto set_user = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"ACL", "SETUSER", "ann",   "reset", "on",      ">secret",
                                   "~*",  "+info",   "+time", "+eval", "+evalsha"};
    words.insert(words.end(), more.begin(), more.end());
    ASSERT_EQ(server.say(words).text, "OK");
  };
  const auto rights = [&] {
    engine_rig client{socket_url(server, "?user=ann&password=secret")};
    return about(examine(client), "rights");
  };
  set_user({"&crosslock:*", "+subscribe", "+publish", "+pubsub|numsub"});
  EXPECT_EQ(rights(), "note this user may tell and be told of grants\n");
  set_user({"&crosslock:*", "+subscribe", "+publish"});
  EXPECT_TRUE(mentions(rights(), "+pubsub|numsub are missing"));
  set_user({"&crosslock:*", "+subscribe", "+pubsub|numsub"});
  EXPECT_TRUE(mentions(rights(), "+publish are missing"));
  set_user({"resetchannels", "+subscribe", "+publish", "+pubsub|numsub"});
  EXPECT_TRUE(mentions(rights(), "&crosslock:* +subscribe are missing"));
}

}  // namespace
}  // namespace crosslock::redis
