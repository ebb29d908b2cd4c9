// Schedules, virtual time and the waits of the seam.
#include "world/world.hpp"
#include "unit/world_gate.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

namespace crosslock::world {
namespace {

using namespace std::chrono_literals;
using seam::park_word;

struct outcome {
  std::string order;
  std::uint64_t digest = 0;
  friend bool operator==(const outcome&, const outcome&) = default;
};

// Five threads write their letters, with a nap of a drawn length between any two.
outcome letters(std::uint64_t seed, const options& with = {}) {
  world w(seed, with);
  outcome result;
  w.run([&] {
    thread_list threads;
    for (const char letter : {'a', 'b', 'c', 'd', 'e'}) {
      threads.push_back(w.test().start("writer", [&, letter] {
        for (int i = 0; i < 4; ++i) {
          result.order += letter;
          w.sleep(w.rng().uniform(duration(0), duration(3us)));
        }
      }));
    }
    join_all(threads);
  });
  result.digest = w.digest();
  return result;
}

TEST(world, one_seed_gives_one_schedule) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(letters(seed), letters(seed));
}

TEST(world, one_seed_gives_one_schedule_with_all_disturbances) {
  options with;
  with.drift_max = 2us;
  with.spurious = 0.3;
  EXPECT_EQ(letters(7, with), letters(7, with));
  EXPECT_NE(letters(7, with).digest, letters(7).digest);
}

TEST(world, different_seeds_give_different_schedules) {
  std::set<std::string> orders;
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const outcome result = letters(seed);
    orders.insert(result.order);
    digests.insert(result.digest);
  }
  EXPECT_GT(orders.size(), 90U);
  EXPECT_GT(digests.size(), 90U);
}

TEST(world, time_jumps_over_sleeps) {
  world w(1);
  const auto real = std::chrono::steady_clock::now();
  w.run([&] {
    const time_point before = w.now();
    w.sleep(1h);
    EXPECT_EQ(w.now() - before, 1h);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - real, 1min);
}

TEST(world, events_run_in_the_order_of_their_times) {
  world w(1);
  std::string order;
  const time_point start = w.now();
  w.at(start + 2s, [&] { order += "c"; });
  w.at(start + 1s, [&] {
    order += "a";
    EXPECT_EQ(w.now(), start + 1s);
    w.after(0s, [&] { order += "b"; });
  });
  w.at(start + 2s, [&] { order += "d"; });
  w.run([&] {
    w.sleep(3s);
    order += "e";
  });
  EXPECT_EQ(order, "abcde");
}

TEST(world, an_event_wakes_a_parked_thread) {
  world w(1);
  w.run([&] {
    gate g;
    const time_point start = w.now();
    w.after(5ms, [&] { g.open(w.test()); });
    EXPECT_TRUE(g.pass(w.test(), for_ever));
    EXPECT_EQ(w.now() - start, 5ms);
  });
}

TEST(world, park_ends_at_its_timeout) {
  world w(1);
  w.run([&] {
    gate g;
    const time_point start = w.now();
    EXPECT_FALSE(g.pass(w.test(), start + 7ms));
    EXPECT_EQ(w.now() - start, 7ms);
  });
}

TEST(world, park_does_not_wait_for_a_word_that_has_changed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    world w(seed);
    w.run([&] {
      park_word word{1};
      const time_point start = w.now();
      w.test().park(word, 0, for_ever);
      w.test().park(word, 1, start);
      EXPECT_EQ(w.now(), start);
    });
  }
}

TEST(world, unpark_wakes_every_thread_at_the_word_and_no_other) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    world w(seed);
    w.run([&] {
      gate here;
      gate there;
      int passed = 0;
      thread_list threads;
      for (int i = 0; i < 10; ++i) {
        threads.push_back(
            w.test().start("here", [&] { passed += here.pass(w.test(), for_ever) ? 1 : 0; }));
      }
      threads.push_back(
          w.test().start("there", [&] { EXPECT_FALSE(there.pass(w.test(), w.now() + 1s)); }));
      w.sleep(1ms);
      here.open(w.test());
      join_all(threads);
      EXPECT_EQ(passed, 10);
    });
  }
}

TEST(world, a_timer_of_an_earlier_wait_wakes_nobody) {
  world w(1);
  w.run([&] {
    const time_point start = w.now();
    for (int i = 0; i < 1000; ++i) {
      gate g;
      w.after(1us, [&] { g.open(w.test()); });
      EXPECT_TRUE(g.pass(w.test(), start + 10ms));
    }
    park_word word{0};
    w.test().park(word, 0, start + 1h);
    EXPECT_EQ(w.now() - start, 1h);
  });
}

TEST(world, a_ring_before_the_wait_counts_once) {
  world w(1);
  w.run([&] {
    const auto alarm = w.test().make_alarm();
    const time_point start = w.now();
    alarm->ring();
    alarm->ring();
    alarm->wait_until(for_ever);
    EXPECT_EQ(w.now(), start);
    alarm->wait_until(start + 1s);
    EXPECT_EQ(w.now(), start + 1s);
    w.after(2s, [&] { alarm->ring(); });
    alarm->wait_until(for_ever);
    EXPECT_EQ(w.now(), start + 3s);
  });
}

TEST(world, join_waits_for_the_end_and_thread_locals) {
  static std::string log;
  struct witness {
    world* in = nullptr;
    gate* opens = nullptr;
    ~witness() {
      if (in == nullptr) return;
      in->sleep(1s);  // Even here the thread is still a part of the world.
      opens->open(in->test());
      log += "local ";
    }
  };
  log.clear();
  world w(1);
  w.run([&] {
    gate g;
    const time_point start = w.now();
    auto thread = w.test().start("ends", [&] {
      thread_local witness mine;
      mine.in = &w;
      mine.opens = &g;
      log += "body ";
    });
    EXPECT_FALSE(thread->is_current());
    thread->join();
    EXPECT_TRUE(g.pass(w.test(), w.now()));
    EXPECT_EQ(w.now() - start, 1s);
  });
  EXPECT_EQ(log, "body local ");
}

TEST(world, a_thread_knows_itself) {
  world w(1);
  w.run([&] {
    std::unique_ptr<seam::thread> thread;
    thread = w.test().start("self", [&] { EXPECT_TRUE(thread->is_current()); });
    w.after(1s, [&] { EXPECT_FALSE(thread->is_current()); });
    thread->join();
    w.sleep(2s);
  });
}

}  // namespace
}  // namespace crosslock::world
