// Processes that are paused and killed, and what disturbs their schedules.
#include "unit/world_gate.hpp"
#include "world/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace crosslock::world {
namespace {

using namespace std::chrono_literals;
using seam::park_word;

TEST(world, a_paused_process_stands_still_and_then_goes_on) {
  world w(1);
  process& a = w.make_process("a");
  w.run([&] {
    const time_point start = w.now();
    std::vector<duration> ticks;
    auto thread = a.start("ticks", [&] {
      for (int i = 0; i < 3; ++i) {
        a.sleep(1s);
        ticks.push_back(a.now() - start);
      }
    });
    w.sleep(1500ms);
    a.pause();
    EXPECT_TRUE(a.paused());
    w.sleep(10s);
    EXPECT_EQ(ticks.size(), 1U);
    a.resume();
    thread->join();
    EXPECT_EQ(ticks, (std::vector<duration>{1s, 11500ms, 12500ms}));
  });
}

TEST(world, a_process_that_pauses_itself_stops_there) {
  world w(1);
  process& a = w.make_process("a");
  w.run(a, [&] {
    const time_point start = w.now();
    w.after(5s, [&] { a.resume(); });
    a.pause();
    EXPECT_EQ(w.now() - start, 5s);
  });
}

TEST(world, a_killed_process_runs_out_and_its_hooks_run_once) {
  world w(1);
  process& a = w.make_process("a");
  std::string log;
  a.on_kill([&] { log += "hook "; });
  w.run([&] {
    auto thread = a.start("lives", [&] {
      while (a.alive()) a.sleep(1s);
      log += "out ";
    });
    w.sleep(10s);
    a.pause();
    w.sleep(10s);
    a.kill();
    a.kill();
    EXPECT_FALSE(a.alive());
    EXPECT_FALSE(a.paused());
    thread->join();
    a.on_kill([&] { log += "late "; });
  });
  EXPECT_EQ(log, "hook out late ");
}

TEST(world, wake_delay_and_drift_make_threads_run_later) {
  options with;
  with.drift_max = 3us;
  world w(1, with);
  w.test().wake_delay(100us);
  w.run([&] {
    duration longest{};
    for (int i = 0; i < 200; ++i) {
      const time_point start = w.now();
      w.sleep(1ms);
      const duration late = w.now() - start - duration(1ms);
      EXPECT_GE(late, duration::zero());
      EXPECT_LE(late, duration(103us));
      longest = std::max(longest, late);
    }
    EXPECT_GT(longest, duration(50us));
  });
}

TEST(world, spurious_returns_happen_when_wanted) {
  options with;
  with.spurious = 0.5;
  world w(1, with);
  w.run([&] {
    int early = 0;
    for (int i = 0; i < 100; ++i) {
      park_word word{0};
      const time_point until = w.now() + 1s;
      w.test().park(word, 0, until);
      early += w.now() < until ? 1 : 0;
    }
    EXPECT_GT(early, 20);
    EXPECT_LT(early, 80);
  });
}

TEST(world, random_bytes_come_from_the_seed) {
  const auto bytes = [](std::uint64_t seed) {
    std::array<std::uint8_t, 32> result{};
    world w(seed);
    w.run([&] { w.test().fill_random(result); });
    return result;
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
}

}  // namespace
}  // namespace crosslock::world
