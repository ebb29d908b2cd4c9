// Users, passwords, databases, sockets and certificates, with a real server.
#include "redis_engine_rig.hpp"

#include "engines/redis/protocol.hpp"
#include "proxy/resp.hpp"
#include "punctual.hpp"
#include "servers/tls_files.hpp"

#include <crosslock/crosslock.hpp>

#include <cstdlib>
#include <fstream>
#include <future>
#include <optional>
#include <thread>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;
using servers::redis_server;

/// The commands a user needs; the same list is in docs/engines/redis.md.
const std::vector<std::string> needed{
    "info",   "select",  "eval",       "evalsha", "subscribe", "publish",  "pubsub|numsub",
    "time",   "eval_ro", "evalsha_ro", "get",     "set",       "setrange", "del",
    "exists", "expire",  "pexpire",    "pttl",    "hget",      "hset",     "hdel",
    "hlen",   "hgetall", "hmget",      "zadd",    "zcard",     "zrange",   "zrevrange",
    "zrank",  "zrem",    "zscore",     "zpopmin"};

/// `ACL SETUSER ann ...` with those rights, or all but one.
std::vector<std::string> least_rights(const std::string& without = {}) {
  std::vector<std::string> words{"ACL",     "SETUSER",  "ann",          "reset",       "on",
                                 ">secret", "~stock/*", "~crosslock:*", "&crosslock:*"};
  for (const std::string& command : needed) {
    if (command != without) words.push_back('+' + command);
  }
  return words;
}

#define MUST(condition) \
  if (!(condition)) return #condition

/// Uses every verb of the seam, in every mode; returns what went wrong, or nothing.
std::string use_all_locks(engine_rig& one, engine_rig& other, redis_server& server) {
  using result = seam::ask_result;
  const auto soon = engine_rig::soon;
  seam::claim first = engine_rig::claim("stock/a");
  const seam::answer taken = one.ask(first);
  MUST(taken.result == result::granted);
  // With nobody behind it a short one goes the short way: a name is noted by the first of an hour.
  seam::renewal renewal{.held = taken.granted, .lease = 1s};
  one.engine->renew({&renewal, 1}, soon());
  MUST(renewal.outcome == seam::renewal::result::renewed);
  const seam::claim second = engine_rig::claim("stock/a", true);
  MUST(other.ask(second).result == result::in_line);
  MUST(one.events.await_wanted(first.owner, 2s));
  const seam::claim third = engine_rig::claim("stock/a", true);
  MUST(other.ask(third).result == result::in_line);
  MUST(other.ask(third).result == result::in_line);  // stays where it is
  MUST(one.engine->look(lock_name{"stock/a"}, soon()).line.size() == 2);
  MUST(one.engine->list("stock/", soon()).size() == 1);
  renewal = {.held = taken.granted, .lease = 30s, .want_fences = true};
  one.engine->renew({&renewal, 1}, soon());
  MUST(renewal.outcome == seam::renewal::result::renewed);
  other.engine->withdraw(third, soon());
  MUST(one.give_back(taken.granted));
  const auto handed = other.events.await_grant(second.owner, 2s);
  MUST(handed);
  const seam::claim next = engine_rig::claim("stock/a");
  MUST(other.engine->adopt(*handed, next, soon()));
  MUST(other.engine->break_lock(lock_name{"stock/a"}, next.owner, soon()));

  // Many inside at once, and one behind them.
  seam::claim reader = engine_rig::claim("stock/b");
  seam::claim writer = engine_rig::claim("stock/b", true);
  seam::claim permit = engine_rig::claim("stock/c", true);
  reader.mode = claim_mode::shared;
  permit.mode = claim_mode::permit;
  permit.of = 2;
  const seam::answer reads = one.ask(reader);
  MUST(reads.result == result::granted);
  MUST(other.ask(writer).result == result::in_line);
  reader.owner = engine_rig::claim("stock/b").owner;
  MUST(one.ask(reader).result == result::busy);  // nobody overtakes the writer
  MUST(one.give_back(reads.granted));
  MUST(other.events.await_grant(writer.owner, 2s));
  MUST(one.ask(permit).result == result::granted);

  // Behind somebody who is not one of us.
  (void)server.say({"SET", "stock/d", "theirs", "PX", "60000"});
  MUST(one.ask(engine_rig::claim("stock/d", true)).result == result::in_line);
  return {};
}

std::string use_all_cells(engine_rig& one) {
  const auto soon = engine_rig::soon;
  const seam::claim any = engine_rig::claim("stock/cell");
  const seam::cell_swap write{.name = any.name, .expected = 0, .value = "v", .writer = any.owner};
  MUST(one.engine->swap_cell(write, soon()).outcome == seam::swap_answer::result::swapped);
  MUST(one.engine->open_cell(*any.name, fence{7}, soon()));
  MUST(one.engine->read_cell(*any.name, soon()).value == "v");
  return {};
}

/// What goes wrong for that user, or nothing.
std::string use_everything(redis_server& server) {
  try {
    const std::string url = socket_url(server, "?db=1&user=ann&password=secret");
    engine_rig one{url};
    engine_rig other{url};
    if (mentions(one.warnings(), "ACL")) return one.warnings();
    (void)server.say({"SELECT", "1"});
    (void)server.say({"FLUSHDB"});
    (void)server.say({"SCRIPT", "FLUSH"});
    const std::string locks = use_all_locks(one, other, server);
    return locks.empty() ? use_all_cells(one) : locks;
  } catch (const error& why) {
    return why.what();
  }
}

TEST(redis_rights, the_documented_ones_suffice_and_each_of_them_is_needed) {
  redis_server server;
  ASSERT_EQ(server.say(least_rights()).text, "OK");
  EXPECT_EQ(use_everything(server), "");
  for (const std::string& command : needed) {
    SCOPED_TRACE(command);
    ASSERT_EQ(server.say(least_rights(command)).text, "OK");
    EXPECT_NE(use_everything(server), "");
  }
}

TEST(redis_rights, who_may_only_read_can_look_and_list_and_nothing_else) {
  redis_server server;
  engine_rig one{socket_url(server)};
  const seam::grant held = one.take("stock/a");
  ASSERT_EQ(one.ask(engine_rig::claim("stock/a", true)).result, seam::ask_result::in_line);
  ASSERT_EQ(server
                .say({"ACL", "SETUSER", "eve", "reset", "on", ">secret", "%R~stock/*",
                      "%R~crosslock:*", "+info", "+eval_ro", "+evalsha_ro", "+time", "+get",
                      "+pttl", "+hgetall", "+zrange", "+pubsub|numsub"})
                .text,
            "OK");
  engine_rig viewer{socket_url(server, "?user=eve&password=secret")};
  const lock_info seen = viewer.engine->look(*held.name, engine_rig::soon());
  ASSERT_EQ(seen.holders.size(), 1U);
  EXPECT_EQ(seen.holders[0].owner, held.owner);
  EXPECT_EQ(seen.line.size(), 1U);
  EXPECT_EQ(viewer.engine->list("stock/", engine_rig::soon()).size(), 1U);
  EXPECT_TRUE(viewer.engine->look(lock_name{"stock/free"}, engine_rig::soon()).holders.empty());
  expect_error(errc::denied, "NOPERM", [&] { viewer.ask(engine_rig::claim("stock/b")); });
  expect_error(errc::denied, "NOPERM",
               [&] { viewer.engine->break_lock(*held.name, held.owner, engine_rig::soon()); });
}

TEST(redis_rights, without_its_channel_a_client_says_so_and_polls) {
  redis_server server;
  ASSERT_EQ(server.say(least_rights()).text, "OK");
  ASSERT_EQ(server.say({"ACL", "SETUSER", "ann", "resetchannels"}).text, "OK");
  std::string said;
  options quiet;
  quiet.log = [&](log_level, std::string_view text) { said += text; };
  const std::string url = socket_url(server, "?user=ann&password=secret");
  auto one = connect(url, quiet);
  EXPECT_TRUE(mentions(said, "&crosslock:*")) << said;
  auto other = connect(url);
  mutex a{one, "stock/a"};
  mutex b{other, "stock/a"};
  // Found out by the next look, which is at most 100 ms away.
  expect_punctual(
      0ms,
      [&] {
        auto held = a.acquire();
        std::promise<void> got;
        b.acquire_async([&](acquire_result result) {
          EXPECT_FALSE(result.failure);
          got.set_value();
        });
        while (other.look("stock/a").line.empty()) std::this_thread::yield();
        held.release();
        got.get_future().get();
      },
      150ms);
}

TEST(redis_rights, a_key_outside_of_the_users_rights_is_denied) {
  redis_server server;
  ASSERT_EQ(server.say(least_rights()).text, "OK");
  engine_rig client{socket_url(server, "?user=ann&password=secret")};
  EXPECT_TRUE(client.give_back(client.take("stock/a")));
  expect_error(errc::denied, "NOPERM", [&] { client.ask(engine_rig::claim("other/a")); });
  EXPECT_EQ(server.say({"EXISTS", "other/a"}).text, "0");
  EXPECT_TRUE(client.give_back(client.take("stock/a")));
}

TEST(redis_rights, a_refused_renewal_says_why_when_it_is_alone_and_hurts_no_other) {
  using result = seam::renewal::result;
  redis_server server;
  ASSERT_EQ(server.say(least_rights()).text, "OK");
  engine_rig client{socket_url(server, "?user=ann&password=secret")};
  const seam::grant mine = client.take("stock/a");
  seam::grant other = mine;
  other.name = std::make_shared<const lock_name>("other/a");
  seam::renewal alone{.held = other, .lease = 30s};
  expect_error(errc::denied, "NOPERM", [&] {
    client.engine->renew({&alone, 1}, engine_rig::soon());
  });
  EXPECT_EQ(alone.outcome, result::unknown);
  std::vector<seam::renewal> both(2, alone);
  both[1].held = mine;
  client.engine->renew(both, engine_rig::soon());
  EXPECT_EQ(both[0].outcome, result::unknown);
  EXPECT_EQ(both[1].outcome, result::renewed);
  EXPECT_TRUE(client.give_back(mine));
}

// Its text is 20 kB: with each of them it would be 4 MB, in the time of a third of a lease.
TEST(redis_rights, a_forgotten_script_is_sent_once_for_all_renewals_that_travel_together) {
  redis_server server;
  engine_rig client{socket_url(server)};
  std::vector<seam::renewal> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back({.held = client.take("a" + std::to_string(i)), .lease = 30s});
  }
  client.engine->renew(all, engine_rig::soon());
  (void)server.say({"SCRIPT", "FLUSH"});
  const std::int64_t before = server.info("stats", "total_net_input_bytes");
  client.engine->renew(all, engine_rig::soon());
  EXPECT_LT(server.info("stats", "total_net_input_bytes") - before, 200'000);
  for (const seam::renewal& each : all) {
    EXPECT_EQ(each.outcome, seam::renewal::result::renewed);
  }
}

// A planned failover leaves the connection open: whoever stays on it renews nothing any more.
TEST(redis_rights, renewals_that_travel_together_leave_a_server_that_became_a_replica) {
  redis_server server;
  engine_rig client{socket_url(server)};
  std::vector<seam::renewal> both;
  for (const char* name : {"a", "b"}) both.push_back({.held = client.take(name), .lease = 30s});
  const auto connections = [&] { return server.info("stats", "total_connections_received"); };
  const std::int64_t before = connections();
  (void)server.say({"REPLICAOF", "127.0.0.1", "1"});
  client.engine->renew(both, engine_rig::soon());
  for (const seam::renewal& each : both) {
    EXPECT_EQ(each.outcome, seam::renewal::result::unknown);
  }
  (void)server.say({"REPLICAOF", "NO", "ONE"});
  client.engine->renew(both, engine_rig::soon());
  for (const seam::renewal& each : both) {
    EXPECT_EQ(each.outcome, seam::renewal::result::renewed);
  }
  EXPECT_GT(connections(), before);
}

TEST(redis_rights, a_channel_that_is_taken_away_is_told_and_found_again) {
  redis_server server;
  ASSERT_EQ(server.say(least_rights()).text, "OK");
  engine_rig client{socket_url(server, "?user=ann&password=secret")};
  const auto listeners = [&] {
    return server.say({"PUBSUB", "CHANNELS", "crosslock:to:*"}).items.size();
  };
  const auto soon = [](auto&& question) {
    const time_point end = seam::real_clock().now() + 20s;
    while (!question() && seam::real_clock().now() < end) std::this_thread::yield();
    return question();
  };
  EXPECT_EQ(listeners(), 1U);
  ASSERT_EQ(server.say({"ACL", "SETUSER", "ann", "-subscribe"}).text, "OK");
  (void)server.say({"CLIENT", "KILL", "TYPE", "pubsub"});
  EXPECT_TRUE(soon([&] { return mentions(client.warnings(), "+subscribe"); }));
  ASSERT_EQ(server.say({"ACL", "SETUSER", "ann", "+subscribe"}).text, "OK");
  EXPECT_TRUE(soon([&] { return listeners() == 1; }));
}

TEST(redis_rights, wrong_and_missing_passwords_are_denied_and_not_shown) {
  redis_server server;
  server.authenticate_with({"AUTH", "master"});
  ASSERT_EQ(server.say({"CONFIG", "SET", "requirepass", "master"}).text, "OK");
  const auto refused = [&](const std::string& more, std::string_view words) {
    SCOPED_TRACE(more);
    expect_error(errc::denied, words, [&] { engine_rig client{socket_url(server, more)}; });
    const error why = error_of([&] { engine_rig client{socket_url(server, more)}; });
    EXPECT_FALSE(mentions(why.what(), "qzwx")) << why.what();
    EXPECT_FALSE(why.retryable());
  };
  refused("", "NOAUTH");
  refused("?password=qzwx", "WRONGPASS");
  refused("?user=ann&password=qzwx", "WRONGPASS");
  engine_rig right{socket_url(server, "?password=master")};
  EXPECT_TRUE(right.give_back(right.take("a")));
}

TEST(redis_rights, a_password_where_none_is_expected_is_denied) {
  redis_server server;
  expect_error(errc::denied, "expects no password",
               [&] { engine_rig client{socket_url(server, "?password=x")}; });
}

TEST(redis_rights,
     a_password_that_is_changed_while_we_are_connected_is_noticed_at_the_next_connect) {
  redis_server server;
  server.authenticate_with({"AUTH", "new"});
  engine_rig client{socket_url(server)};
  ASSERT_EQ(server.say({"CONFIG", "SET", "requirepass", "new"}).text, "OK");
  EXPECT_TRUE(client.give_back(client.take("a")));  // as Redis has it: who is in stays in
  (void)server.say({"CLIENT", "KILL", "TYPE", "normal"});
  const error why = error_of([&] {
    for (int i = 0; i < 1000; ++i) {
      try {
        client.ask(engine_rig::claim("a"));
      } catch (const error& failure) {
        if (failure.which() != errc::unreachable) throw;
      }
    }
  });
  EXPECT_EQ(why.which(), errc::denied) << why.what();
  EXPECT_TRUE(mentions(why.what(), "NOAUTH")) << why.what();
}

TEST(redis_rights, the_password_file_is_used_for_a_socket_and_for_a_port) {
  redis_server server{{.tcp = true}};
  const std::string path = server.folder() / "password";
  std::ofstream{path} << "master\nnot this\n";
  ::setenv("CROSSLOCK_PASSWORD_FILE", path.c_str(), 1);
  ASSERT_EQ(server.say({"CONFIG", "SET", "requirepass", "master"}).text, "OK");
  for (const std::string& url :
       {socket_url(server), "redis://127.0.0.1:" + std::to_string(server.port())}) {
    auto locks = connect(url);
    mutex a{locks, "a"};
    EXPECT_TRUE(a.try_acquire()) << url;
  }
  ::unsetenv("CROSSLOCK_PASSWORD_FILE");
}

TEST(redis_rights, databases_are_apart) {
  redis_server server{{.tcp = true}};
  const std::string port = "redis://127.0.0.1:" + std::to_string(server.port());
  engine_rig none{port};
  engine_rig three{port + "/3"};
  engine_rig same{socket_url(server, "?db=3")};
  const seam::grant held = three.take("a");
  EXPECT_EQ(same.ask(engine_rig::claim("a")).result, seam::ask_result::busy);
  EXPECT_TRUE(none.give_back(none.take("a")));
  EXPECT_EQ(server.say({"EXISTS", "a"}).text, "0");
  (void)server.say({"SELECT", "3"});
  EXPECT_EQ(server.say({"EXISTS", "a"}).text, "1");
  EXPECT_TRUE(three.give_back(held));
  expect_error(errc::invalid_url, "DB index", [&] { engine_rig wrong{port + "/99"}; });
}

/// News is not confined to a database, so it must not reach a namesake's holder in another one.
TEST(redis_rights, a_waiter_in_one_database_does_not_hear_of_another) {
  redis_server server;
  engine_rig zero{socket_url(server)};
  engine_rig one{socket_url(server, "?db=1")};
  const seam::grant in_zero = zero.take("a");
  const seam::grant in_one = one.take("a");
  const seam::claim waits = engine_rig::claim("a", true);
  EXPECT_EQ(one.ask(waits).result, seam::ask_result::in_line);
  EXPECT_TRUE(one.events.await_wanted(in_one.owner, 2s));
  EXPECT_TRUE(zero.give_back(in_zero));
  EXPECT_FALSE(zero.events.await_wanted(in_zero.owner, 1ms));
  EXPECT_TRUE(one.give_back(in_one));
  EXPECT_TRUE(one.events.await_grant(waits.owner, 2s));
}

TEST(redis_rights, tls_with_a_certificate_of_our_own) {
  const servers::tls_files files;
  redis_server server;
  std::uint16_t port = 0;
  do {
    port = proxy::port_of(proxy::make_listener());
  } while (server
               .say({"CONFIG", "SET", "tls-cert-file", files.certificate("server"), "tls-key-file",
                     files.key("server"), "tls-ca-cert-file", files.certificate("ca"),
                     "tls-auth-clients", "yes", "tls-port", std::to_string(port)})
               .text != "OK");
  const std::string url =
      "rediss://localhost:" + std::to_string(port) + "?ca=" + files.certificate("ca");
  expect_error(errc::denied, "cert and key", [&] { engine_rig without{url}; });
  const std::string whole =
      url + "&cert=" + files.certificate("client") + "&key=" + files.key("client");
  engine_rig one{whole};
  engine_rig other{whole};
  const seam::grant held = one.take("a");
  const seam::claim waits = engine_rig::claim("a", true);
  EXPECT_EQ(other.ask(waits).result, seam::ask_result::in_line);
  EXPECT_TRUE(one.events.await_wanted(held.owner, 2s));
  EXPECT_TRUE(one.give_back(held));
  EXPECT_TRUE(other.events.await_grant(waits.owner, 2s));
}

}  // namespace
}  // namespace crosslock::redis
