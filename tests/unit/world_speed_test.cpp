// Many threads and many worlds; times are printed, never judged.
#include "unit/world_gate.hpp"
#include "world/world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace crosslock::world {
namespace {

using namespace std::chrono_literals;
using seam::park_word;

TEST(world, a_thousand_threads) {
  const auto run = [](std::uint64_t seed) {
    world w(seed);
    int done = 0;
    w.run([&] {
      gate g;
      thread_list threads;
      for (int i = 0; i < 1000; ++i) {
        threads.push_back(w.test().start("one", [&] {
          g.pass(w.test(), for_ever);
          w.sleep(w.rng().uniform(duration(0), duration(1s)));
          ++done;
        }));
      }
      w.sleep(1s);
      g.open(w.test());
      join_all(threads);
    });
    EXPECT_EQ(done, 1000);
    return w.digest();
  };
  EXPECT_EQ(run(3), run(3));
}

double micros_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

TEST(world, switches_are_cheap) {
  constexpr int rounds = 20'000;
  world w(1);
  const auto start = std::chrono::steady_clock::now();
  w.run([&] {
    // Strict alternation, so that each wait is a switch of OS threads.
    park_word turn{0};
    const auto play = [&](std::uint32_t mine) {
      for (int i = 0; i < rounds; ++i) {
        while (turn != mine) w.test().park(turn, 1 - mine, for_ever);
        turn = 1 - mine;
        w.test().unpark(turn);
      }
    };
    auto other = w.test().start("pong", [&] { play(1); });
    play(0);
    other->join();
  });
  std::printf("             %.2f us per switch\n", micros_since(start) / (2 * rounds));
}

TEST(world, a_wait_that_only_an_event_ends_needs_no_switch) {
  constexpr int rounds = 50'000;
  world w(1);
  const auto start = std::chrono::steady_clock::now();
  w.run([&] {
    for (int i = 0; i < rounds; ++i) {
      gate g;
      w.after(1us, [&] { g.open(w.test()); });
      g.pass(w.test(), w.now() + 1s);
    }
  });
  std::printf("             %.2f us per wait and event\n", micros_since(start) / rounds);
}

TEST(world, thousands_of_tiny_worlds) {
  constexpr std::uint64_t worlds = 2'000;
  std::uint64_t steps = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    world w(seed);
    w.run([&] {
      thread_list threads;
      for (int i = 0; i < 3; ++i) {
        threads.push_back(w.test().start("tiny", [&] {
          for (int k = 0; k < 5; ++k) w.sleep(w.rng().uniform(duration(0), duration(9us)));
        }));
      }
      join_all(threads);
    });
    steps += w.steps();
  }
  const double micros = micros_since(start);
  std::printf("             %.1f us per world of 4 threads, %.2f us per step\n",
              micros / static_cast<double>(worlds), micros / static_cast<double>(steps));
}

}  // namespace
}  // namespace crosslock::world
