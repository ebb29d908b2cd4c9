// What a world says when it cannot go on, and how it ends.
#include "unit/world_gate.hpp"
#include "world/world.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

namespace crosslock::world {
namespace {

using namespace std::chrono_literals;
using seam::park_word;

TEST(world, deadlock_is_told_with_all_threads) {
  world w(42);
  process& a = w.make_process("a");
  try {
    w.run([&] {
      static park_word word{0};
      auto thread = a.start("waiter", [&] { a.park(word, 0, for_ever); });
      thread->join();
    });
    FAIL() << "no deadlock seen";
  } catch (const stuck& told) {
    const std::string text = told.what();
    EXPECT_NE(text.find("deadlock (seed 42"), std::string::npos) << text;
    EXPECT_NE(text.find("test/main: joins thread 2 a/waiter, for ever"), std::string::npos) << text;
    EXPECT_NE(text.find("a/waiter: parks on word 0x"), std::string::npos) << text;
  }
}

TEST(world, a_paused_process_that_nobody_resumes_is_a_deadlock) {
  world w(1);
  process& a = w.make_process("a");
  try {
    w.run([&] {
      auto thread = a.start("frozen", [&] { a.sleep(1s); });
      a.pause();
      thread->join();
    });
    FAIL() << "no deadlock seen";
  } catch (const stuck& told) {
    EXPECT_NE(std::string(told.what()).find("[process paused]"), std::string::npos) << told.what();
  }
}

TEST(world, livelock_reaches_the_step_limit) {
  options with;
  with.step_limit = 1000;
  world sleeps(1, with);
  EXPECT_THROW(sleeps.run([&] {
    for (;;) sleeps.sleep(1ns);
  }),
               stuck);
  world never_waits(1, with);
  EXPECT_THROW(never_waits.run([&] {
    park_word word{1};
    for (;;) never_waits.test().park(word, 0, for_ever);
  }),
               stuck);
  world events(1, with);
  std::function<void()> again = [&] { events.after(0s, again); };
  events.at(events.now(), again);
  EXPECT_THROW(events.run([&] { events.sleep(1s); }), stuck);
}

TEST(world, endless_waiting_reaches_the_time_limit) {
  world w(1);
  EXPECT_THROW(w.run([&] {
    for (;;) w.sleep(1h);
  }),
               stuck);
}

TEST(world, exceptions_of_threads_and_events_leave_run) {
  world w(1);
  EXPECT_THROW(w.run([&] { throw std::logic_error("main"); }), std::logic_error);
  EXPECT_THROW(w.run([&] {
    auto thread = w.test().start("thrower", [] { throw std::out_of_range("thread"); });
    thread->join();
  }),
               std::out_of_range);
  w.after(1s, [] { throw std::domain_error("event"); });
  EXPECT_THROW(w.run([&] { w.sleep(2s); }), std::domain_error);
}

TEST(world, detached_threads_are_given_time_and_then_left) {
  bool finished = false;
  bool woke = false;
  {
    world w(1);
    w.run([&] {
      w.test()
          .start("short",
                 [&] {
                   w.sleep(1s);
                   finished = true;
                 })
          ->detach();
      w.test()
          .start("long",
                 [&] {
                   w.sleep(1h);
                   woke = true;
                 })
          ->detach();
    });
  }
  EXPECT_TRUE(finished);
  EXPECT_FALSE(woke);
}

TEST(world, trace_keeps_the_last_lines) {
  options with;
  with.trace_lines = 2;
  world w(1, with);
  w.run([&] {
    for (int i = 0; i < 5; ++i) w.trace("line ", i);
  });
  EXPECT_EQ(w.trace_text(),
            "[1000.000000 s] test/main: line 3\n[1000.000000 s] test/main: line 4\n");
}

TEST(world_death, use_from_outside_is_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  world w(1);
  EXPECT_GT(w.now(), time_point{});
  park_word word{0};
  EXPECT_DEATH(w.test().park(word, 0, for_ever), "park by a thread that is not part of this world");
  EXPECT_DEATH(w.test().unpark(word), "unpark by a thread");
  EXPECT_DEATH(w.test().start("x", [] {}), "start by a thread");
  EXPECT_DEATH(w.sleep(1s), "a wait by a thread");
}

TEST(world_death, blocking_in_an_event_is_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        world w(1);
        w.after(1s, [&] { w.sleep(1s); });
        w.run([&] { w.sleep(2s); });
      },
      "must not block");
}

TEST(world_death, a_thread_that_blocks_outside_the_seam_is_told) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        options with;
        with.stall_limit_s = 1;
        world w(1, with);
        w.run([] { ::sleep(60); });
      },
      "block outside the seam.*\n.*test/main: running");
}

}  // namespace
}  // namespace crosslock::world
