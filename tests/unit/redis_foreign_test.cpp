// Ours beside libraries that share the key with us, and take it again without a pause.
#include "redis_engine_rig.hpp"

#include "engines/redis/foreign_turns.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;
using servers::redis_server;

TEST(redis_foreign, the_more_often_one_is_passed_over_the_more_often_it_looks) {
  EXPECT_EQ(foreign_look(0, 0s), 10ms);
  EXPECT_EQ(foreign_look(7, 0s), 10ms);
  EXPECT_EQ(foreign_look(8, 0s), 5ms);
  EXPECT_EQ(foreign_look(16, 0s), 2500us);
  EXPECT_EQ(foreign_look(24, 0s), 1250us);
  EXPECT_EQ(foreign_look(31, 0s), 1250us);
  EXPECT_EQ(foreign_look(32, 0s), 0s);
  // Whoever holds it for long is not watched at the same pace.
  EXPECT_EQ(foreign_look(32, 16us), 1us);
  EXPECT_EQ(foreign_look(32, 80ms), 5ms);
  EXPECT_EQ(foreign_look(32, 1h), 10ms);
  EXPECT_EQ(foreign_look(8, 16us), 5ms);
}

TEST(redis_foreign, turns_are_counted_for_each_name_and_forgotten_when_nobody_is_met) {
  foreign_turns turns;
  time_point now{1h};
  for (int i = 0; i <= 32; ++i) turns.meet("a", std::to_string(i), now += 1ms);
  EXPECT_EQ(turns.meet("a", "x", now), 0s);
  EXPECT_EQ(turns.meet("b", "x", now), 10ms);
  EXPECT_EQ(turns.meet("a", "x", now + 1600us), 100us);
  EXPECT_EQ(turns.meet("a", "y", now + 3s), 10ms);
}

TEST(redis_foreign, the_first_in_line_looks_as_often_as_those_who_pass_it_over) {
  redis_server server;
  engine_rig one{socket_url(server)};
  const seam::claim first = engine_rig::claim("a", true);
  const seam::claim second = engine_rig::claim("a", true);
  for (int i = 0; i < 40; ++i) {
    (void)server.say({"SET", "a", "theirs" + std::to_string(i), "PX", "60000"});
    const seam::answer got = one.ask(first);
    ASSERT_EQ(got.result, ask_result::in_line);
    if (i < 8) {
      EXPECT_EQ(got.look_after, 10ms) << i;
    } else if (i >= 32) {
      EXPECT_EQ(got.look_after, 0s) << i;
    }
  }
  // Whoever stands behind it does not look for every gap.
  EXPECT_GE(one.ask(second).look_after, 100ms);
}

/// Another library: it tries again at once, and takes it again at once.
void take_without_a_pause(redis_server& server, int number, std::atomic<bool>& over,
                          std::atomic<std::int64_t>& turns) {
  servers::redis_talk talk{server.address()};
  for (std::int64_t i = 0; !over; ++i) {
    const std::string token = std::to_string(number) + '-' + std::to_string(i);
    if (talk.say({"SET", "a", token, "NX", "PX", "60000"}).text != "OK") continue;
    ++turns;
    (void)talk.say({"DEL", "a"});
  }
}

TEST(redis_foreign, ours_get_their_turns_among_libraries_that_never_pause) {
  redis_server server;
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> theirs{0};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&, i] { take_without_a_pause(server, i, over, theirs); });
  }
  const client locks = connect(socket_url(server));
  mutex lock{locks, "a"};
  constexpr int turns = 100;
  for (int i = 0; i < 10; ++i) lock.acquire().release();  // it has to be passed over first
  const std::int64_t before = theirs;
  for (int i = 0; i < turns; ++i) lock.acquire().release();
  const std::int64_t meanwhile = theirs - before;
  over = true;
  for (auto& each : others) each.join();
  EXPECT_LT(meanwhile, 40 * turns);
}

}  // namespace
}  // namespace crosslock::redis
