// What a real server says instead of an answer: each has its own error, and none is a grant.
#include "redis_engine_rig.hpp"

#include "engines/redis/protocol.hpp"
#include "proxy/resp.hpp"
#include "punctual.hpp"

#include <crosslock/crosslock.hpp>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;
using servers::redis_server;

/// Waits for a state of the server that another thread brings about.
template <class Condition>
bool comes_true(Condition&& condition) {
  const time_point end = seam::real_clock().now() + 10s;
  while (!condition()) {
    if (seam::real_clock().now() > end) return false;
    (void)::poll(nullptr, 0, 1);
  }
  return true;
}

class redis_refusals : public testing::Test {
 protected:
  void say(const std::vector<std::string>& words) {
    const auto answer = server.say(words);
    ASSERT_FALSE(answer.is_error()) << words.front() << ": " << answer.text;
  }

  /// Asking for `a` fails like that, at once, and leaves nothing behind.
  void expect_refused(errc code, std::string_view words) {
    const seam::claim request = engine_rig::claim("a");
    expect_error(code, words, [&] { client.ask(request); });
    const std::string stored = server.say({"GET", "a"}).text;
    EXPECT_FALSE(mentions(stored, request.owner.to_string())) << stored;
  }
  /// A new client gets nowhere either.
  void expect_no_entry(errc code, std::string_view words) {
    expect_error(code, words, [&] { engine_rig another{socket_url(server), 2s}; });
  }
  /// It was not the client's fault, and is over.
  void expect_works() {
    std::optional<seam::grant> got;
    // A refusal may have cost the connection, and another one is not tried at once.
    EXPECT_TRUE(comes_true([&] {
      try {
        const seam::answer answer = client.ask(engine_rig::claim("a"));
        if (answer.result == seam::ask_result::granted) got = answer.granted;
      } catch (const error& why) {
        EXPECT_EQ(why.which(), errc::unreachable) << why.what();
      }
      return got.has_value();
    }));
    ASSERT_TRUE(got);
    EXPECT_TRUE(client.give_back(*got));
  }

  redis_server server{{.settings = {{"enable-debug-command", "yes"}}}};
  engine_rig client{socket_url(server)};
};

TEST_F(redis_refusals, a_replica_takes_no_locks) {
  say({"REPLICAOF", "127.0.0.1", "1"});
  expect_refused(errc::unreachable, "READONLY");
  expect_no_entry(errc::unreachable, "this is a replica");
  expect_error(errc::unreachable, "127.0.0.1 port 1",
               [&] { engine_rig another{socket_url(server)}; });
  say({"REPLICAOF", "NO", "ONE"});
  expect_works();
}

TEST_F(redis_refusals, a_full_server_takes_no_locks_but_takes_them_back) {
  const seam::grant held = client.take("held before");
  say({"CONFIG", "SET", "maxmemory", "1"});
  expect_refused(errc::unreachable, "OOM");
  seam::renewal renewal{.held = held, .lease = 30s};
  client.engine->renew({&renewal, 1}, engine_rig::soon());
  EXPECT_EQ(renewal.outcome, seam::renewal::result::renewed);
  EXPECT_TRUE(client.give_back(held));
  say({"CONFIG", "SET", "maxmemory", "0"});
  expect_works();
}

TEST_F(redis_refusals, a_server_that_cannot_save_takes_no_locks) {
  // A folder in the place of the snapshot: it cannot be written, not even by root.
  std::filesystem::create_directory(server.folder() / "dump.rdb");
  say({"CONFIG", "SET", "save", "3600 1"});
  say({"BGSAVE"});
  ASSERT_TRUE(comes_true([&] {
    return mentions(server.say({"INFO", "persistence"}).text, "rdb_last_bgsave_status:err");
  }));
  expect_refused(errc::unreachable, "MISCONF");
  // A new client is told, but may look.
  EXPECT_TRUE(mentions(engine_rig{socket_url(server)}.warnings(), "the last snapshot failed"));
  say({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"});
  expect_works();
}

TEST_F(redis_refusals, a_server_without_enough_replicas_takes_no_locks) {
  say({"CONFIG", "SET", "min-replicas-to-write", "1"});
  expect_refused(errc::unreachable, "NOREPLICAS");
  say({"CONFIG", "SET", "min-replicas-to-write", "0"});
  expect_works();
}

TEST_F(redis_refusals, a_server_that_is_busy_with_a_script_takes_no_locks) {
  say({"CONFIG", "SET", "busy-reply-threshold", "1"});
  servers::redis_talk other{server.address()};
  std::thread runs{[&] { (void)other.say({"EVAL", "while true do end", "0"}); }};
  EXPECT_TRUE(comes_true([&] { return mentions(server.say({"PING"}).text, "BUSY"); }));
  // The server says nothing about itself until the script is over.
  const seam::claim request = engine_rig::claim("a");
  expect_error(errc::unreachable, "BUSY", [&] { client.ask(request); });
  expect_no_entry(errc::unreachable, "BUSY");
  say({"SCRIPT", "KILL"});
  runs.join();
  EXPECT_FALSE(mentions(server.say({"GET", "a"}).text, request.owner.to_string()));
  expect_works();
}

TEST_F(redis_refusals, a_server_that_reads_its_data_takes_no_locks) {
  say({"DEBUG", "POPULATE", "3000", "filler", "100"});
  say({"CONFIG", "SET", "key-load-delay", "500"});
  say({"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"});
  servers::redis_talk other{server.address()};
  std::thread reloads{[&] { (void)other.say({"DEBUG", "RELOAD"}); }};
  EXPECT_TRUE(comes_true([&] {
    return mentions(server.say({"INFO", "persistence"}).text, "loading:1\r\n");
  }));
  expect_error(errc::unreachable, "LOADING", [&] { client.ask(engine_rig::claim("a")); });
  expect_no_entry(errc::unreachable, "loading");
  say({"CONFIG", "SET", "key-load-delay", "0"});
  reloads.join();
  expect_works();
}

TEST_F(redis_refusals, another_type_at_a_side_key_is_a_conflict) {
  say({"RPUSH", side_key("fence", "a"), "x"});
  expect_refused(errc::conflict, "WRONGTYPE");
  say({"DEL", side_key("fence", "a")});
  const seam::grant held = client.take("a");
  say({"SET", side_key("line", "a"), "x"});
  expect_error(errc::conflict, "WRONGTYPE", [&] { client.ask(engine_rig::claim("a", true)); });
  say({"DEL", side_key("line", "a")});
  EXPECT_TRUE(client.give_back(held));
  expect_works();
}

TEST_F(redis_refusals, a_foreign_value_at_the_key_is_a_holder_whatever_it_says) {
  const std::string looks_like_ours(32, 'a');
  for (const std::string value : {"", "x", "crosslock:shared:", ":", looks_like_ours.c_str()}) {
    say({"SET", "a", value});
    EXPECT_EQ(client.ask(engine_rig::claim("a")).result, seam::ask_result::busy) << value;
    EXPECT_EQ(server.say({"GET", "a"}).text, value);
    const lock_info seen = client.engine->look(*engine_rig::claim("a").name, client.soon());
    ASSERT_EQ(seen.holders.size(), 1U) << value;
    EXPECT_TRUE(seen.holders[0].foreign);
    EXPECT_EQ(seen.holders[0].owner.nobody(), value != looks_like_ours);
    EXPECT_EQ(seen.holders[0].fence, fence{});
    EXPECT_EQ(seen.holders[0].lease_left, duration::max());
    EXPECT_NE(seen.holders[0].who.find("'" + value + "'"), std::string::npos);
  }
  say({"SET", "a", "x", "PX", "60000"});
  const lock_info seen = client.engine->look(*engine_rig::claim("a").name, client.soon());
  EXPECT_LE(seen.holders.at(0).lease_left, 60s);
  EXPECT_GT(seen.holders.at(0).lease_left, 50s);
  say({"DEL", "a"});
  expect_works();
}

TEST_F(redis_refusals, a_server_with_too_many_clients_turns_a_new_one_away) {
  // Three are there: ours has two connections, and the test one.
  say({"CONFIG", "SET", "maxclients", "3"});
  expect_no_entry(errc::unreachable, "max number of clients");
  say({"CONFIG", "SET", "maxclients", "100"});
  expect_works();
}

TEST_F(redis_refusals, an_eviction_policy_that_may_drop_locks_has_to_be_accepted) {
  say({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  expect_no_entry(errc::unsupported, "volatile-lru");
  engine_rig accepted{socket_url(server, "?eviction=allowed")};
  EXPECT_TRUE(mentions(accepted.warnings(), "eviction=allowed")) << accepted.warnings();
  EXPECT_TRUE(accepted.give_back(accepted.take("a")));
}

TEST_F(redis_refusals, what_settings_mean_is_said_once) {
  const std::string said = client.warnings();
  EXPECT_TRUE(mentions(said, "append-only file is off")) << said;
  server.kill();
  server.start();
  expect_works();
  EXPECT_EQ(client.warnings(), said) << "a reconnect repeats nothing";
}

/// Python's web server on a port of its own.
class web_server {
 public:
  web_server() {
    int out[2];
    EXPECT_EQ(::pipe(out), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(out[1], STDERR_FILENO);
      ::execlp("python3", "python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "0",
               nullptr);
      ::_exit(127);
    }
    ::close(out[1]);
    // "Serving HTTP on 127.0.0.1 port 41873 (http://..."
    std::string said;
    char letter = 0;
    while (!said.ends_with(") ...") && ::read(out[0], &letter, 1) == 1) said += letter;
    reading_ = out[0];
    const auto place = said.find(" port ");
    EXPECT_NE(place, std::string::npos) << said;
    port_ = said.substr(place + 6, said.find(' ', place + 6) - place - 6);
  }
  ~web_server() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(reading_);
  }
  const std::string& port() const { return port_; }

 private:
  pid_t pid_ = -1;
  int reading_ = -1;
  std::string port_;
};

TEST(redis_strangers, a_web_server_is_no_redis) {
  const web_server web;
  expect_error(errc::protocol, "not one of Redis",
               [&] { engine_rig client{"redis://127.0.0.1:" + web.port()}; });
}

TEST(redis_strangers, a_port_that_says_nothing_is_given_up_in_time) {
  const proxy::descriptor silent = proxy::make_listener();
  const std::string url = "redis://127.0.0.1:" + std::to_string(proxy::port_of(silent));
  expect_punctual(200ms, [&] {
    expect_error(errc::timed_out, "says nothing", [&] { engine_rig client{url, 200ms}; });
  });
}

}  // namespace
}  // namespace crosslock::redis
