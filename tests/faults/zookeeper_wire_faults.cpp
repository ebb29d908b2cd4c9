// Connections that are lost and made anew, and what becomes of their session.
#include "faults/zookeeper_case.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace crosslock::faults {
namespace {

/// What the observer of a client hears of its session.
class session_diary final : public observer {
 public:
  std::atomic<int> suspensions = 0;
  std::atomic<int> resumptions = 0;
  std::atomic<int> losses = 0;
  std::atomic<errc> why{};

  void suspended(const error& reason) noexcept override {
    why = reason.which();
    ++suspensions;
  }
  void resumed() noexcept override { ++resumptions; }
  void lost(const lost_event& event) noexcept override {
    EXPECT_EQ(event.reason, loss_reason::gone);
    ++losses;
  }
};

TEST_F(zookeeper_faults, F17_a_lost_connection_is_told_as_suspended_and_only_its_session_as_lost) {
  const auto diary = std::make_shared<session_diary>();
  options how;
  how.observer = diary;
  const client locks = connect(steady, how);
  mutex lock{locks, "name"};
  const hold held = lock.acquire();
  const std::int64_t first = testbed().session_of(0).id;
  for (int times = 1; times <= 2; ++times) {
    const int before = diary->resumptions;
    own_wire().cut();
    EXPECT_TRUE(eventually([&] { return diary->suspensions == times; }));
    EXPECT_EQ(diary->why, errc::unreachable);
    EXPECT_TRUE(held.valid());
    own_wire().heal();
    EXPECT_TRUE(eventually([&] { return diary->resumptions == before + 1; }));
    EXPECT_EQ(testbed().session_of(0).id, first);
    EXPECT_TRUE(held.valid());
  }
  EXPECT_EQ(diary->losses, 0);
  const int before = diary->resumptions;
  own_wire().cut();
  servers::zookeeper_talk{server().address(), testbed().session_of(0)}.close();
  own_wire().heal();
  EXPECT_TRUE(eventually([&] { return diary->losses == 1; }));
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(eventually([&] { return diary->resumptions == before + 1; }));
  EXPECT_EQ(diary->suspensions, 3);
  EXPECT_NE(testbed().session_of(0).id, first);
  EXPECT_GT(lock.acquire().fence(), held.fence());
}

/// The servers' maxSessionTimeout changes.
class zookeeper_sessions : public zookeeper_alone {
 protected:
  zookeeper_sessions() : zookeeper_alone{{}} {}

  void restart_with_sessions_of(const std::string& milliseconds) {
    server().kill();
    server().set("maxSessionTimeout", milliseconds);
    server().start();
  }
};

class resumption_count final : public observer {
 public:
  std::atomic<int> count = 0;
  void resumed() noexcept override { ++count; }
};

/// Another server of an ensemble, or the same one with other limits.
TEST_F(zookeeper_sessions, F17_a_session_that_comes_back_shorter_shortens_every_hold_at_once) {
  const auto diary = std::make_shared<resumption_count>();
  options how;
  how.observer = diary;
  const client locks = connect(20s, how);
  mutex lock{locks, "name"};
  mutex other{locks, "other"};
  const hold held = lock.acquire();
  const hold also_held = other.acquire();
  const int before = diary->count;
  constexpr duration shorter = 3s;
  restart_with_sessions_of("3000");
  EXPECT_TRUE(eventually([&] { return diary->count == before + 1; }));
  EXPECT_LE(held.expires_at(), boot_clock::now() + shorter);
  EXPECT_LE(also_held.expires_at(), boot_clock::now() + shorter);
}

/// Somebody else must not be in before the holder was told: it is cut off right after it has
/// learnt that its session is shorter.
TEST_F(zookeeper_sessions, F17_a_session_that_comes_back_shorter_lets_no_two_hold) {
  constexpr duration shorter = 3s;
  const auto holder = start("holder", 20s);
  const auto next = start("next", 20s);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  next->send("acquire name 60000");
  const client viewer = connect();
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  holder->send("work name 60000");
  note(fault::server_down);
  restart_with_sessions_of(std::to_string(shorter / 1ms));
  note(fault::server_up);
  ASSERT_TRUE(wire(*holder).await(
      wire(*holder).add({.going = way::to_client, .matches = is_verb(verb::renew)})));
  wire(*holder).cut();
  const time_point cut = now();
  EXPECT_EQ(holder->answer(), "lost");
  const time_point told = ask_notice(*holder, "name").when;
  const time_point followed = in_at(*next);
  EXPECT_LT(told, followed);
  EXPECT_LE(told - cut, shorter);
  EXPECT_LE(followed - cut, shorter + after_session);
  wire(*holder).heal();
}

TEST_F(zookeeper_sessions, F17_a_session_that_is_shorter_than_asked_is_reported) {
  std::mutex guard;
  std::vector<std::string> said;
  options how;
  how.log = [&](log_level level, std::string_view text) {
    const std::lock_guard lock{guard};
    if (level == log_level::warning) said.emplace_back(text);
  };
  const auto reports = [&](const std::string& what) {
    const std::lock_guard lock{guard};
    return std::ranges::count_if(
        said, [&](const std::string& each) { return each.find(what) != std::string::npos; });
  };
  const client locks = connect(20s, how);
  EXPECT_EQ(reports("gives sessions of"), 0);
  restart_with_sessions_of("3000");
  EXPECT_TRUE(eventually([&] { return reports("gives sessions of 3000 ms, and not of 20000"); }));
  own_wire().reset();
  EXPECT_TRUE(eventually([&] { return reports("suspended") >= 2; }));
  sleep_for_real(300ms);
  EXPECT_EQ(reports("gives sessions of"), 1) << "once is enough";
}

/// The session goes on to ask for what it was given last.
TEST_F(zookeeper_sessions, F17_a_session_that_came_back_too_short_for_use_is_followed_by_another) {
  const client locks = connect(steady, impatient(500ms));
  mutex lock{locks, "name"};
  (void)lock.acquire();
  const auto code = [&] { return code_of([&] { (void)lock.try_acquire(); }); };
  restart_with_sessions_of("700");
  EXPECT_TRUE(eventually([&] { return code() == errc::invalid_url; }));
  restart_with_sessions_of("60000");
  EXPECT_TRUE(eventually([&] { return code() == errc{}; }));
}

/// To close a session the client library waits for its server.
TEST_F(zookeeper_sessions, F7_giving_up_a_session_beside_a_stopped_server_keeps_nobody_waiting) {
  constexpr duration timeout = 300ms;
  const client locks = connect(steady, impatient(timeout));
  mutex lock{locks, "name"};
  const auto code = [&] { return code_of([&] { (void)lock.try_acquire(); }); };
  restart_with_sessions_of("700");  // too short for use: it is given up, and another one tried
  ASSERT_TRUE(eventually([&] { return code() == errc::invalid_url; }));
  server().stop();
  duration longest{};
  for (const time_point until = now() + 3s; now() < until; sleep_for_real(1ms)) {
    const time_point asked = now();
    EXPECT_NE(code(), errc{});
    longest = std::max<duration>(longest, now() - asked);
  }
  server().go_on();
  EXPECT_LE(longest, timeout + stall);
}

/// With strategy=single the name itself is the node: what a lagging server shows of it may be the
/// holder before.
TEST_F(zookeeper_faults, F4_with_one_node_for_all_a_lost_answer_is_looked_for_behind_a_sync) {
  options how;
  how.lease = steady;
  const client locks = testbed().connect(how, "&strategy=single");
  mutex lock{locks, "name"};
  const auto syncs = own_wire().add(
      {.matches = [](const proxy::sighting& seen) { return seen.words[0] == "sync"; }});
  own_wire().add({.going = way::to_client, .matches = is_verb(verb::ask), .what = fate::reset()});
  const hold held = lock.acquire();
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(own_wire().await(syncs));
}

}  // namespace
}  // namespace crosslock::faults
