// The fault proxy, with a real redis-server behind it.
#include "proxy/fault_proxy.hpp"

#include "engine/clock.hpp"
#include "servers/redis_server.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>

namespace crosslock::proxy {
namespace {

using namespace std::chrono_literals;
using servers::redis_server;
using servers::redis_talk;
using words = std::vector<std::string>;

time_point now() { return seam::real_clock().now(); }

class fault_proxy_test : public testing::Test {
 protected:
  redis_talk connect() { return redis_talk{{.path = {}, .port = door_.port()}}; }
  std::string text_of(const words& request) { return server_.say(request).text; }
  bool eventually_is(const words& request, const std::string& text) {
    const time_point end = now() + 10s;
    while (text_of(request) != text) {
      if (now() > end) return false;
    }
    return true;
  }

  redis_server server_;
  fault_proxy proxy_;
  door& door_ = proxy_.open(server_.address());
};

TEST_F(fault_proxy_test, what_nobody_hinders_passes_and_is_counted) {
  const auto requests = door_.add({.going = way::to_server, .times = rule::always});
  const auto answers = door_.add({.going = way::to_client, .times = rule::always});
  redis_talk talk = connect();
  EXPECT_EQ(talk.say({"SET", "a", std::string(1 << 20, 'x')}).text, "OK");
  EXPECT_EQ(talk.say({"STRLEN", "a"}).text, std::to_string(1 << 20));
  EXPECT_EQ(talk.say({"GET", "a"}).text.size(), std::size_t{1} << 20);
  EXPECT_TRUE(talk.say({"NONSENSE"}).is_error());
  EXPECT_EQ(door_.applied(requests), 4U);
  EXPECT_EQ(door_.applied(answers), 4U);
  EXPECT_EQ(door_.connections().size(), 1U);
}

TEST_F(fault_proxy_test, a_delayed_request_is_late_and_so_is_what_comes_behind_it) {
  door_.add({.matches = is_request("INCR"), .what = fate::delay(200ms)});
  redis_talk talk = connect();
  redis_talk other = connect();
  const time_point before = now();
  auto first = std::async(std::launch::async, [&] { return talk.say({"INCR", "n"}).text; });
  EXPECT_EQ(other.say({"PING"}).text, "PONG");
  EXPECT_LT(now() - before, 150ms);  // another connection is not concerned
  EXPECT_EQ(first.get(), "1");
  EXPECT_GE(now() - before, 200ms);
  const time_point second = now();
  EXPECT_EQ(talk.say({"INCR", "n"}).text, "2");  // the rule was for one
  EXPECT_LT(now() - second, 150ms);
}

TEST_F(fault_proxy_test, a_held_answer_waits_for_its_release_while_the_server_has_done_it) {
  const auto held = door_.add(
      {.going = way::to_client, .matches = is_answer_to("INCR"), .skip = 1, .what = fate::hold()});
  redis_talk talk = connect();
  EXPECT_EQ(talk.say({"INCR", "n"}).text, "1");
  auto second = std::async(std::launch::async, [&] { return talk.say({"INCR", "n"}).text; });
  ASSERT_TRUE(door_.await(held));
  EXPECT_EQ(text_of({"GET", "n"}), "2");
  EXPECT_EQ(second.wait_for(100ms), std::future_status::timeout);
  door_.release();
  EXPECT_EQ(second.get(), "2");
}

TEST_F(fault_proxy_test, a_held_request_is_carried_out_although_its_sender_has_hung_up) {
  const auto held = door_.add({.matches = is_request("SET"), .what = fate::hold()});
  std::optional<redis_talk> talk{connect()};
  descriptor client = connect_to({.path = {}, .port = door_.port()});
  const std::string request = resp_request({"SET", "late", "yes"});
  ASSERT_GT(::send(client.number(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  ASSERT_TRUE(door_.await(held));
  client.close();
  EXPECT_TRUE(server_.say({"GET", "late"}).null);
  door_.release();
  EXPECT_TRUE(eventually_is({"GET", "late"}, "yes"));
}

TEST_F(fault_proxy_test, a_reset_answer_leaves_the_request_carried_out) {
  door_.add({.going = way::to_client, .matches = is_answer_to("INCR"), .what = fate::reset()});
  redis_talk talk = connect();
  EXPECT_THROW(talk.say({"INCR", "n"}), std::runtime_error);
  EXPECT_EQ(text_of({"GET", "n"}), "1");
  EXPECT_EQ(connect().say({"INCR", "n"}).text, "2");
}

TEST_F(fault_proxy_test, a_muted_connection_stays_open_and_is_silent_from_there_on) {
  const auto muted =
      door_.add({.going = way::to_client, .matches = is_answer_to("INCR"), .what = fate::mute()});
  redis_talk talk = connect();
  auto lost = std::async(std::launch::async, [&] {
    try {
      talk.say({"INCR", "n"});
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  });
  ASSERT_TRUE(door_.await(muted));
  EXPECT_EQ(lost.wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(door_.connections().size(), 1U);
  door_.reset();
  EXPECT_TRUE(lost.get());
}

TEST_F(fault_proxy_test, a_request_cut_in_the_middle_is_not_carried_out) {
  door_.add({.matches = is_request("SET"), .what = fate::cut_after(12)});
  redis_talk talk = connect();
  EXPECT_THROW(talk.say({"SET", "a", "b"}), std::runtime_error);
  EXPECT_TRUE(server_.say({"GET", "a"}).null);
}

TEST_F(fault_proxy_test, a_trickle_arrives_byte_for_byte) {
  door_.add(
      {.going = way::to_client, .matches = is_answer_to("PING"), .what = fate::trickle(10ms)});
  redis_talk talk = connect();
  const time_point before = now();
  EXPECT_EQ(talk.say({"PING"}).text, "PONG");  // seven bytes, six pauses
  EXPECT_GE(now() - before, 60ms);
}

TEST_F(fault_proxy_test, a_replayed_request_is_carried_out_twice_and_answered_once) {
  door_.add({.matches = is_request("INCR"), .what = fate::replay()});
  redis_talk talk = connect();
  EXPECT_EQ(talk.say({"INCR", "n"}).text, "1");
  EXPECT_EQ(talk.say({"INCR", "n"}).text, "3");
  EXPECT_EQ(talk.say({"PING"}).text, "PONG");
}

TEST_F(fault_proxy_test, pushes_are_told_from_answers_and_can_vanish_alone) {
  const auto acks =
      door_.add({.going = way::to_client, .matches = is_answer_to("SUBSCRIBE"), .times = 9});
  const auto dropped =
      door_.add({.going = way::to_client, .matches = is_push(), .skip = 1, .what = fate::drop()});
  redis_talk ear = connect();
  redis_talk mouth = connect();
  EXPECT_EQ(ear.say({"SUBSCRIBE", "a", "b"}).items.at(1).text, "a");
  EXPECT_EQ(ear.next().items.at(1).text, "b");
  for (const char* const each : {"1", "2", "3"}) {
    EXPECT_EQ(mouth.say({"PUBLISH", "a", each}).text, "1");
  }
  EXPECT_EQ(ear.next().items.at(2).text, "1");
  EXPECT_EQ(ear.next().items.at(2).text, "3");
  EXPECT_EQ(door_.applied(dropped), 1U);
  EXPECT_EQ(door_.applied(acks), 2U);
  const auto seen = door_.connections();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].subscription);
  EXPECT_FALSE(seen[1].subscription);
  door_.reset([](const connection_seen& each) { return each.subscription; });
  EXPECT_THROW(ear.next(), std::runtime_error);
  EXPECT_EQ(mouth.say({"PING"}).text, "PONG");
}

TEST_F(fault_proxy_test, a_cut_wire_passes_nothing_until_it_is_healed) {
  redis_talk talk = connect();
  EXPECT_EQ(talk.say({"PING"}).text, "PONG");
  door_.cut();
  auto asked = std::async(std::launch::async, [&] { return talk.say({"INCR", "n"}).text; });
  redis_talk newcomer = connect();  // the system of this machine says yes, nobody else does
  auto knocked = std::async(std::launch::async, [&] { return newcomer.say({"PING"}).text; });
  EXPECT_EQ(asked.wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(knocked.wait_for(0ms), std::future_status::timeout);
  EXPECT_TRUE(server_.say({"GET", "n"}).null);
  EXPECT_EQ(door_.connections().size(), 1U);
  door_.heal();
  EXPECT_EQ(asked.get(), "1");
  EXPECT_EQ(knocked.get(), "PONG");
}

TEST_F(fault_proxy_test, newcomers_are_refused_for_a_while_and_the_others_go_on) {
  redis_talk talk = connect();
  EXPECT_EQ(talk.say({"PING"}).text, "PONG");
  for (int round = 0; round < 3; ++round) {
    door_.refuse_new(true);
    EXPECT_THROW(connect(), std::runtime_error);
    EXPECT_EQ(talk.say({"PING"}).text, "PONG");
    door_.refuse_new(false);
    EXPECT_EQ(connect().say({"PING"}).text, "PONG");
  }
}

TEST_F(fault_proxy_test, the_end_of_the_server_is_the_end_of_its_connections) {
  redis_talk talk = connect();
  EXPECT_EQ(talk.say({"PING"}).text, "PONG");
  server_.kill();
  EXPECT_THROW(talk.next(), std::runtime_error);
  EXPECT_THROW(connect().say({"PING"}), std::runtime_error);
  server_.start();
  EXPECT_EQ(connect().say({"PING"}).text, "PONG");
}

TEST_F(fault_proxy_test, a_door_can_lead_elsewhere) {
  redis_server second;
  second.say({"SET", "name", "second"});
  server_.say({"SET", "name", "first"});
  EXPECT_EQ(connect().say({"GET", "name"}).text, "first");
  door_.lead_to(second.address());
  EXPECT_EQ(connect().say({"GET", "name"}).text, "second");
}

TEST_F(fault_proxy_test, other_protocols_pass_in_pieces) {
  fault_proxy raw{raw_framing};
  door& bare = raw.open(server_.address());
  const auto pieces = bare.add({.going = way::to_client, .times = rule::always});
  redis_talk talk{{.path = {}, .port = bare.port()}};
  EXPECT_EQ(talk.say({"PING"}).text, "PONG");
  EXPECT_EQ(bare.applied(pieces), 1U);
}

TEST(redis_server_test, it_keeps_what_it_shall_and_nothing_else) {
  redis_server kept{{.settings = {{"appendonly", "yes"}, {"appendfsync", "always"}}}};
  redis_server forgetful;
  for (redis_server* const each : {&kept, &forgetful}) {
    EXPECT_EQ(each->say({"SET", "a", "b"}).text, "OK");
    each->kill();
    EXPECT_FALSE(each->runs());
    each->start();
  }
  EXPECT_EQ(kept.say({"GET", "a"}).text, "b");
  EXPECT_TRUE(forgetful.say({"GET", "a"}).null);
  kept.start_empty();
  EXPECT_TRUE(kept.say({"GET", "a"}).null);
}

TEST(redis_server_test, a_stopped_one_answers_when_it_goes_on) {
  redis_server server{{.tcp = true}};
  redis_talk talk{{.path = {}, .port = server.port()}};
  EXPECT_EQ(talk.say({"PING"}).text, "PONG");
  server.stop();
  auto asked = std::async(std::launch::async, [&] { return talk.say({"PING"}).text; });
  EXPECT_EQ(asked.wait_for(50ms), std::future_status::timeout);
  server.go_on();
  EXPECT_EQ(asked.get(), "PONG");
}

TEST(redis_server_test, a_replica_follows) {
  redis_server primary{{.tcp = true}};
  redis_server replica{
      {.tcp = true, .settings = {{"replicaof", "127.0.0.1 " + std::to_string(primary.port())}}}};
  primary.say({"SET", "a", "b"});
  const time_point end = now() + 10s;
  while (replica.say({"GET", "a"}).text != "b" && now() < end) {
  }
  EXPECT_EQ(replica.say({"GET", "a"}).text, "b");
}

TEST(redis_server_test, it_leaves_nothing) {
  std::filesystem::path folder;
  pid_t pid = 0;
  {
    redis_server server;
    folder = server.folder();
    pid = server.pid();
    EXPECT_TRUE(std::filesystem::exists(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(pid)));
}

}  // namespace
}  // namespace crosslock::proxy
