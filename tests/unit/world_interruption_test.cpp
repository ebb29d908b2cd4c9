// Threads that are interrupted while they hold a mutex, and what must not be missed meanwhile.
#include "unit/world_gate.hpp"
#include "world/world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace crosslock::world {
namespace {

using namespace std::chrono_literals;
using seam::park_word;

options interrupted() {
  options with;
  with.interrupted = 1;
  with.interrupted_max = 1ms;
  return with;
}

TEST(world_interruption, a_thread_that_reads_the_clock_with_a_mutex_held_lets_others_run) {
  world w(1, interrupted());
  w.run([&] {
    std::mutex mutex;
    bool inside = false;
    int seen_inside = 0;
    thread_list threads;
    threads.push_back(w.test().start("holder", [&] {
      for (int i = 0; i < 20; ++i) {
        {
          const std::lock_guard guard{mutex};
          inside = true;
          w.test().now();
          inside = false;
        }
        w.sleep(10us);
      }
    }));
    threads.push_back(w.test().start("onlooker", [&] {
      for (int i = 0; i < 1000; ++i) {
        w.sleep(10us);
        if (inside) ++seen_inside;
      }
    }));
    join_all(threads);
    EXPECT_GT(seen_inside, 0);
  });
}

TEST(world_interruption, a_mutex_excludes_all_the_same) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world w(seed, interrupted());
    w.run([&] {
      std::mutex mutex;
      int inside = 0;
      thread_list threads;
      for (int i = 0; i < 4; ++i) {
        threads.push_back(w.test().start("worker", [&] {
          for (int round = 0; round < 10; ++round) {
            {
              const std::lock_guard guard{mutex};
              EXPECT_EQ(++inside, 1);
              w.test().now();
              --inside;
            }
            w.sleep(w.rng().uniform(duration(0), duration(1ms)));
          }
        }));
      }
      join_all(threads);
    });
  }
}

TEST(world_interruption, timed_events_find_no_mutex_held) {
  world w(3, interrupted());
  int told = 0;
  w.run([&] {
    std::mutex mutex;
    for (int i = 0; i < 50; ++i) {
      w.after(i * 100us, [&] {
        const std::lock_guard guard{mutex};
        ++told;
      });
    }
    for (int i = 0; i < 50; ++i) {
      {
        const std::lock_guard guard{mutex};
        w.test().now();
      }
      w.sleep(100us);
    }
  });
  EXPECT_EQ(told, 50);
}

TEST(world_interruption, one_seed_gives_one_schedule) {
  const auto digest = [] {
    world w(5, interrupted());
    w.run([&] {
      std::mutex mutex;
      thread_list threads;
      for (int i = 0; i < 4; ++i) {
        threads.push_back(w.test().start("worker", [&] {
          for (int round = 0; round < 10; ++round) {
            const std::lock_guard guard{mutex};
            w.test().now();
          }
        }));
      }
      join_all(threads);
    });
    return w.digest();
  };
  EXPECT_EQ(digest(), digest());
}

// The look takes a while, and what it looks for comes in the middle of it.
TEST(park_unless, sleeps_through_no_news) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed, interrupted());
    w.run([&] {
      process& clock = w.test();
      std::mutex mutex;
      park_word word{0};
      bool stopped = false;
      const time_point end = clock.now() + 1s;
      const auto waiter = clock.start("waiter", [&] {
        seam::park_unless(clock, word, [&]() -> std::optional<time_point> {
          const std::lock_guard guard{mutex};
          const bool over = stopped;
          if (over || clock.now() >= end) return std::nullopt;
          return end;
        });
      });
      w.sleep(w.rng().uniform(duration(0), duration(1ms)));
      stopped = true;
      word.fetch_add(1);
      clock.unpark(word);
      waiter->join();
      EXPECT_LT(clock.now(), end) << "seed " << seed;
    });
  }
}

}  // namespace
}  // namespace crosslock::world
