// What is pushed, who may be believed, and who has no right to know; with a real server.
#include "redis_engine_rig.hpp"

#include "engines/redis/connection.hpp"
#include "engines/redis/protocol.hpp"
#include "engines/redis/server_login.hpp"
#include "punctual.hpp"

#include <crosslock/crosslock.hpp>

#include <new>
#include <set>
#include <thread>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;
using servers::redis_server;

TEST(redis_push, a_kind_that_a_newer_version_may_have_is_passed_over) {
  EXPECT_EQ(read_push("hint of something new").what, push::kind::unknown);
  EXPECT_EQ(read_push("hint").what, push::kind::unknown);
  EXPECT_EQ(read_push("").what, push::kind::unknown);
  EXPECT_THROW(read_push("granted"), error);
  EXPECT_THROW(read_push("look nobody a"), error);
}

TEST(redis_push, an_unknown_kind_does_not_end_the_subscription) {
  redis_server server;
  engine_rig one{socket_url(server)};
  const std::string channel = server.say({"PUBSUB", "CHANNELS", "crosslock:to:*"}).items.at(0).text;
  EXPECT_EQ(server.say({"PUBLISH", channel, "hint of something new"}).text, "1");
  const std::int64_t made = server.info("stats", "total_connections_received");
  engine_rig other{socket_url(server)};
  const seam::grant held = other.take("a");
  const seam::claim waits = engine_rig::claim("a", true);
  EXPECT_EQ(one.ask(waits).result, ask_result::in_line);
  EXPECT_TRUE(other.give_back(held));
  EXPECT_TRUE(one.events.await_grant(waits.owner, 2s));
  // The other one's, for its commands: they listen together.
  EXPECT_EQ(server.info("stats", "total_connections_received"), made + 1);
}

/// A request for which there is no memory.
class too_long final : public command {
 public:
  void write(std::string& out) const override {
    out += "*1\r\n$4\r\nPI";
    throw std::bad_alloc{};
  }
};

TEST(redis_connection, a_request_that_cannot_be_written_leaves_every_answer_to_its_own_caller) {
  redis_server server;
  address where;
  where.unix_path = server.address().path;
  connection to{
      where, 5s, seam::real_clock(),
      [&](stream& fresh, parser& from, time_point by) { introduce(fresh, from, where, by); },
      [] {}};
  const auto soon = engine_rig::soon;
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW((void)to.call(too_long{}, soon()), std::bad_alloc);
    EXPECT_THROW((void)to.call_all(
                     2, [](std::string& out) { too_long{}.write(out); }, soon()),
                 std::bad_alloc);
    EXPECT_THROW(to.send(too_long{}, soon(), [](const reply*, const error*) { ADD_FAILURE(); }),
                 std::bad_alloc);
    const std::string word = "word " + std::to_string(round);
    const auto answers = to.call(plain_command{"ECHO", word}, soon());
    EXPECT_EQ(cursor{answers[0]}.text(), word);
  }
}

TEST(redis_connection, a_closed_client_sends_nothing_more) {
  redis_server server;
  address where;
  where.unix_path = server.address().path;
  connection to{
      where, 5s, seam::real_clock(),
      [&](stream& fresh, parser& from, time_point by) { introduce(fresh, from, where, by); },
      [] {}};
  to.open(engine_rig::soon());
  to.close();
  expect_error(errc::closed, "closed", [&] {
    (void)to.call(plain_command{"SET", "a", "b"}, engine_rig::soon());
  });
  EXPECT_EQ(server.say({"EXISTS", "a"}).text, "0");
}

/// How many of that command the server has carried out.
std::int64_t calls(redis_server& server, const std::string& command) {
  const std::string text = server.say({"INFO", "commandstats"}).text;
  const std::string field = "cmdstat_" + command + ":calls=";
  const std::size_t at = text.find(field);
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + field.size()));
}

TEST(redis_handover, what_was_handed_over_is_renewed_like_any_other_hold) {
  redis_server server;
  engine_rig other{socket_url(server)};
  options how;
  how.lease = 300ms;
  client locks = connect(socket_url(server), how);
  mutex lock{locks, "a"};
  const seam::grant first = other.take("a");
  std::thread releases{[&] {
    while (locks.look("a").line.empty()) std::this_thread::yield();
    EXPECT_TRUE(other.give_back(first));
  }};
  const auto held = lock.acquire();
  releases.join();
  // By then the offer is a whole lease.
  while (held.expires_at() - seam::real_clock().now() < 250ms) std::this_thread::yield();
  const std::int64_t before = calls(server, "time");
  const std::int64_t renewed = calls(server, "evalsha");
  while (calls(server, "evalsha") < renewed + 8) std::this_thread::yield();
  // Only the long way asks for the time, and it is taken once an hour at most.
  EXPECT_LE(calls(server, "time") - before, 1);
}

TEST(redis_handover, the_receipt_of_a_fixed_lease_has_no_more_than_was_left_of_it) {
  redis_server server;
  engine_rig other{socket_url(server)};
  client locks = connect(socket_url(server));
  mutex lock{locks, "a"};
  const seam::grant first = other.take("a");
  std::thread releases{[&] {
    while (locks.look("a").line.empty()) std::this_thread::yield();
    EXPECT_TRUE(other.give_back(first));
  }};
  acquire_how how;
  how.lease = 20s;
  auto held = lock.acquire(how);
  releases.join();
  while (held.expires_at() - seam::real_clock().now() < 15s) std::this_thread::yield();
  ASSERT_EQ(server.say({"PEXPIRE", "a", "9000"}).text, "1");
  (void)held.detach();
  EXPECT_LE(std::stoll(server.say({"PTTL", "a"}).text), 9000);
}

/// All rights but one.
std::string user_without(redis_server& server, const std::string& command) {
  EXPECT_EQ(server
                .say({"ACL", "SETUSER", "ann", "reset", "on", ">secret", "~*", "&*", "+@all",
                      "-" + command})
                .text,
            "OK");
  return socket_url(server, "?user=ann&password=secret");
}

TEST(redis_rights, without_info_a_client_polls_and_says_so) {
  redis_server server;
  const std::string url = user_without(server, "info");
  engine_rig one{url};
  EXPECT_TRUE(mentions(one.warnings(), "+info")) << one.warnings();
  EXPECT_FALSE(one.engine->about().pushes);
  EXPECT_TRUE(server.say({"PUBSUB", "CHANNELS"}).items.empty());
  engine_rig other{socket_url(server)};
  const seam::grant held = other.take("a");
  const seam::claim waits = engine_rig::claim("a", true);
  const seam::answer in_line = one.ask(waits);
  EXPECT_EQ(in_line.result, ask_result::in_line);
  EXPECT_LE(in_line.look_after, 100ms);
  // Its turn comes although nobody can tell it: the next look finds it.
  EXPECT_TRUE(other.give_back(held));
  EXPECT_EQ(other.ask(engine_rig::claim("a")).result, ask_result::busy);
  EXPECT_EQ(one.ask(waits).result, ask_result::granted);
}

TEST(redis_rights, without_numsub_waiters_are_told_to_look_and_keep_their_order) {
  redis_server server;
  engine_rig holder{user_without(server, "pubsub")};
  EXPECT_TRUE(mentions(holder.warnings(), "numsub")) << holder.warnings();
  options how;
  how.lease = 30s;
  client locks = connect(socket_url(server), how);
  mutex lock{locks, "a"};
  expect_punctual(
      0ms,
      [&] {
        const seam::grant held = holder.take("a");
        std::thread releases{[&] {
          while (locks.look("a").line.empty()) std::this_thread::yield();
          EXPECT_TRUE(holder.give_back(held));
          // Whoever comes now comes behind the one who waits.
          EXPECT_EQ(holder.ask(engine_rig::claim("a")).result, ask_result::busy);
        }};
        lock.lock();
        releases.join();
        lock.unlock();
      },
      150ms);
}

TEST(redis_strangers, a_key_of_another_type_is_a_holder_like_any_other) {
  redis_server server;
  const std::vector<std::vector<std::string>> keys{{"ZADD", "a", "1", "token"},
                                                   {"HSET", "a", "thread", "1"},
                                                   {"RPUSH", "a", "x"},
                                                   {"SADD", "a", "x"}};
  for (const auto& key : keys) {
    SCOPED_TRACE(key[0]);
    engine_rig one{socket_url(server)};
    (void)server.say(key);
    const seam::claim waits = engine_rig::claim("a", true);
    EXPECT_EQ(one.ask(engine_rig::claim("a")).result, ask_result::busy);
    EXPECT_EQ(one.ask(waits).result, ask_result::in_line);
    EXPECT_EQ(one.ask(waits).result, ask_result::in_line);
    EXPECT_EQ(one.engine->look(lock_name{"a"}, engine_rig::soon()).holders.at(0).foreign, true);
    // Said once for a name, and not in the server's words.
    const std::string said = one.warnings();
    const std::size_t first = said.find("'a' is taken by another library");
    ASSERT_NE(first, std::string::npos) << said;
    EXPECT_EQ(said.find("'a' is taken", first + 1), std::string::npos) << said;
    EXPECT_FALSE(mentions(said, "WRONGTYPE")) << said;
    EXPECT_EQ(mentions(said, "Symfony"), key[0] == "ZADD") << said;
    EXPECT_EQ(mentions(said, "Redisson"), key[0] == "HSET") << said;
    // Never overwritten; and when it goes, the one in line goes in.
    EXPECT_NE(server.say({"TYPE", "a"}).text, "string");
    (void)server.say({"DEL", "a"});
    const seam::answer in = one.ask(waits);
    EXPECT_EQ(in.result, ask_result::granted);
    EXPECT_TRUE(one.give_back(in.granted));
  }
}

TEST(redis_strangers, what_is_put_in_the_place_of_our_own_key_ends_the_hold) {
  redis_server server;
  engine_rig one{socket_url(server)};
  const seam::grant held = one.take("a");
  (void)server.say({"DEL", "a"});
  (void)server.say({"ZADD", "a", "1", "token"});
  seam::renewal renewal{.held = held, .lease = 30s};
  one.engine->renew({&renewal, 1}, engine_rig::soon());
  EXPECT_EQ(renewal.outcome, seam::renewal::result::lost);
  EXPECT_FALSE(one.give_back(held));
  EXPECT_EQ(server.say({"TYPE", "a"}).text, "zset");
}

/// Names that the list shows.
std::set<std::string> listed(engine_rig& by, std::string_view prefix = {}) {
  std::set<std::string> names;
  for (const lock_info& each : by.engine->list(prefix, engine_rig::soon())) names.insert(each.name);
  return names;
}

TEST(redis_names, a_list_reads_the_names_in_use_and_scans_nothing) {
  redis_server server;
  engine_rig one{socket_url(server)};
  for (int i = 0; i < 2000; ++i) (void)server.say({"SET", "other" + std::to_string(i), "x"});
  std::vector<seam::grant> held;
  std::set<std::string> names;
  for (int i = 0; i < 1100; ++i) {
    held.push_back(one.take("n" + std::to_string(i)));
    names.insert("n" + std::to_string(i));
  }
  EXPECT_EQ(listed(one), names);
  EXPECT_EQ(listed(one, "n109"),
            (std::set<std::string>{"n109", "n1090", "n1091", "n1092", "n1093", "n1094", "n1095",
                                   "n1096", "n1097", "n1098", "n1099"}));
  EXPECT_EQ(calls(server, "scan"), 0);
  EXPECT_EQ(calls(server, "keys"), 0);
  for (const seam::grant& each : held) EXPECT_TRUE(one.give_back(each));
  EXPECT_TRUE(listed(one).empty());
  EXPECT_GT(std::stoll(server.say({"TTL", "crosslock:{names}"}).text), 86'400);
}

TEST(redis_names, a_name_where_ours_only_wait_for_a_foreign_holder_is_listed) {
  redis_server server;
  engine_rig one{socket_url(server)};
  (void)server.say({"SET", "a", "theirs", "PX", "60000"});
  EXPECT_EQ(one.ask(engine_rig::claim("a", true)).result, ask_result::in_line);
  EXPECT_EQ(listed(one), std::set<std::string>{"a"});
}

TEST(redis_names, names_that_nobody_has_used_for_a_day_are_forgotten_and_used_ones_are_not) {
  redis_server server;
  engine_rig one{socket_url(server)};
  const seam::grant old = one.take("old");
  const std::string held_long_ago = side_key("fence", "old");
  (void)server.say({"ZADD", "crosslock:{names}", "1", held_long_ago});
  for (int i = 0; i < 100; ++i) {
    (void)server.say(
        {"ZADD", "crosslock:{names}", "2", side_key("fence", "g" + std::to_string(i))});
  }
  // New names clear up: one in 16 of them, dozens at once.
  std::vector<seam::grant> held;
  for (int i = 0; i < 400; ++i) held.push_back(one.take("new" + std::to_string(i)));
  EXPECT_EQ(server.say({"ZCOUNT", "crosslock:{names}", "0", "3"}).text, "0");
  EXPECT_EQ(server.say({"ZCARD", "crosslock:{names}"}).text, "401");
  EXPECT_TRUE(listed(one).contains("old"));
}

TEST(redis_names, a_renewal_notes_its_name_once_an_hour_whatever_the_machines_age) {
  const auto due = [](duration lease, duration up) {
    return name_is_due(fence{1}, lease, time_point{up});
  };
  for (const duration up : {duration{1min}, duration{25min}, duration{40min}, duration{90min}}) {
    EXPECT_TRUE(due(3h, up)) << "half of its lease is more than an hour, " << up / 1min;
  }
  EXPECT_FALSE(due(30s, 25min));
  EXPECT_TRUE(due(30s, 60min + 1s));
  EXPECT_FALSE(due(30s, 60min + 16s));
}

TEST(redis_names, a_name_is_noted_again_by_the_first_hold_of_an_hour_and_by_long_ones) {
  redis_server server;
  engine_rig one{socket_url(server)};
  EXPECT_TRUE(one.give_back(one.take("a")));
  ASSERT_EQ(server.say({"DEL", "crosslock:{names}"}).text, "1");
  EXPECT_TRUE(one.give_back(one.take("a")));
  EXPECT_EQ(server.say({"EXISTS", "crosslock:{names}"}).text, "0");  // still the same hour
  // Its last use was long ago.
  ASSERT_EQ(server.say({"SETRANGE", side_key("fence", "a"), "0", "1600000000"}).text.empty(),
            false);
  const seam::grant held = one.take("a");
  EXPECT_EQ(server.say({"ZCARD", "crosslock:{names}"}).text, "1");
  ASSERT_EQ(server.say({"DEL", "crosslock:{names}"}).text, "1");
  seam::renewal renewal{.held = held, .lease = 3h};
  one.engine->renew({&renewal, 1}, engine_rig::soon());
  EXPECT_EQ(renewal.outcome, seam::renewal::result::renewed);
  EXPECT_EQ(server.say({"ZCARD", "crosslock:{names}"}).text, "1");
}

TEST(redis_names, the_first_handover_of_an_hour_notes_the_name) {
  redis_server server;
  engine_rig one{socket_url(server)};
  engine_rig other{socket_url(server)};
  const seam::grant held = one.take("a");
  const seam::claim waits = engine_rig::claim("a", true);
  ASSERT_EQ(other.ask(waits).result, ask_result::in_line);
  (void)server.say({"DEL", "crosslock:{names}"});
  (void)server.say({"SETRANGE", side_key("fence", "a"), "0", "1600000000"});
  EXPECT_TRUE(one.give_back(held));
  EXPECT_TRUE(other.events.await_grant(waits.owner, 2s));
  EXPECT_EQ(server.say({"ZCARD", "crosslock:{names}"}).text, "1");
}

TEST(redis_names, an_entry_that_this_user_must_not_look_at_fails_nobody) {
  redis_server server;
  EXPECT_EQ(server
                .say({"ACL", "SETUSER", "ann", "reset", "on", ">secret", "~stock/*",
                      "~crosslock:{names}", "~crosslock:{???}:*:stock/*", "&*", "+@all"})
                .text,
            "OK");
  (void)server.say({"ZADD", "crosslock:{names}", "1", side_key("fence", "bakery/1")});
  engine_rig one{socket_url(server, "?user=ann&password=secret")};
  for (int i = 0; i < 100; ++i) {
    const std::string name = "stock/" + std::to_string(i);
    EXPECT_TRUE(one.give_back(one.take(name)));
  }
}

TEST(redis_names, a_lock_that_is_called_like_an_index_has_its_own_lease) {
  redis_server server;
  engine_rig one{socket_url(server)};
  const seam::grant held = one.take("crosslock:names");
  for (int i = 0; i < 50; ++i) (void)one.take("n" + std::to_string(i));
  EXPECT_LE(std::stoll(server.say({"PTTL", "crosslock:names"}).text), 30'000);
  EXPECT_EQ(listed(one).size(), 51U);
  EXPECT_TRUE(one.give_back(held));
}

TEST(redis_names, what_others_keep_in_the_place_of_the_index_is_left_alone) {
  redis_server server;
  engine_rig one{socket_url(server)};
  (void)server.say({"SET", "crosslock:{names}", "theirs", "PX", "30000"});
  for (int i = 0; i < 50; ++i) (void)one.take("n" + std::to_string(i));
  EXPECT_LE(std::stoll(server.say({"PTTL", "crosslock:{names}"}).text), 30'000);
  EXPECT_EQ(server.say({"GET", "crosslock:{names}"}).text, "theirs");
}

TEST(redis_rights, the_place_of_whoever_polls_ends_at_a_number_that_older_versions_can_read) {
  redis_server server;
  engine_rig one{user_without(server, "info")};
  engine_rig other{socket_url(server)};
  const seam::grant held = other.take("a");
  EXPECT_EQ(one.ask(engine_rig::claim("a", true)).result, ask_result::in_line);
  const auto ends = server.say({"HVALS", side_key("wait", "a")}).items;
  ASSERT_EQ(ends.size(), 1U);
  std::size_t read = 0;
  EXPECT_GT(std::stod(ends[0].text, &read), 0);
  EXPECT_EQ(read, ends[0].text.size()) << ends[0].text;
}

}  // namespace
}  // namespace crosslock::redis
