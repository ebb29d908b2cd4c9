// A latch counts exactly once for each call, whoever dies and whatever is lost.
#include "conformance/fixture.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class latch : public conformance_case {
 protected:
  void play_with_cells(std::initializer_list<ability> needs, const std::function<void()>& body) {
    play(needs, [&] {
      if (stage().traits().cells) return body();
      const client locks = stage().connect();
      EXPECT_EQ(code_of([&] { count_down_latch(locks, "latch", 2); }), errc::unsupported);
    });
  }
  void play_with_cells(const std::function<void()>& body) { play_with_cells({}, body); }
};
CONFORMANCE_ON_EVERY_STAGE(latch);

TEST_P(latch, it_opens_at_zero_and_stays_open) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    count_down_latch mine{locks, "latch", 3};
    count_down_latch theirs{others, "latch", 3};
    EXPECT_EQ(mine.count(), 3);
    EXPECT_FALSE(mine.try_wait());
    EXPECT_FALSE(mine.wait_for(0ms));
    mine.count_down();
    EXPECT_EQ(theirs.count(), 2);
    theirs.count_down(5);  // as far as zero
    EXPECT_EQ(mine.count(), 0);
    EXPECT_TRUE(mine.try_wait());
    mine.wait();
    EXPECT_TRUE(theirs.wait_for(0ms));
    mine.count_down();
    EXPECT_EQ(mine.count(), 0);
    EXPECT_EQ(mine.name().str(), "latch");
  });
}

TEST_P(latch, many_wait_and_many_count) {
  play_with_cells([this] {
    constexpr int counters = 32;
    constexpr int waiters = 8;
    std::atomic<int> counted{0};
    std::atomic<int> opened{0};
    const client locks = stage().connect();
    count_down_latch shared{locks, "latch", counters + 1};
    thread_group threads{stage().clock()};
    for (int i = 0; i < waiters; ++i) {
      threads.start([&] {
        const client own = stage().connect();
        count_down_latch{own, "latch", counters + 1}.wait();
        EXPECT_EQ(counted, counters + 1);
        ++opened;
      });
    }
    for (int i = 0; i < counters; ++i) {
      threads.start([&, i] {
        ++counted;
        if (i % 2 == 0) return shared.count_down();
        const client own = stage().connect();
        count_down_latch{own, "latch", counters + 1}.count_down();
      });
    }
    EXPECT_TRUE(eventually([&] { return shared.count() == 1; }));
    EXPECT_EQ(opened, 0);
    ++counted;
    shared.count_down();
    threads.join();
    EXPECT_EQ(opened, waiters);
  });
}

TEST_P(latch, the_last_count_wakes_who_waits) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    count_down_latch mine{locks, "latch", 1};
    count_down_latch theirs{others, "latch", 1};
    std::atomic<time_point> open{time_point::max()};
    const time_point began = stage().now();
    thread_group threads{stage().clock()};
    threads.start([&] {
      mine.wait();
      open = stage().now();
    });
    stage().sleep(300ms);
    EXPECT_EQ(open.load(), time_point::max());
    const time_point counted = stage().now();
    theirs.count_down();
    threads.join();
    EXPECT_GE(open.load() - began, 300ms);
    const auto bounds = stage().bounds();
    EXPECT_LE(open.load() - counted, stage().traits().watches_cells ? bounds.wake_up : bounds.look);
  });
}

TEST_P(latch, with_every_wake_up_dropped_the_look_finds_it_open) {
  play_with_cells({ability::server_faults}, [this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    stage().drop_wake_ups(true);
    count_down_latch mine{locks, "latch", 1};
    std::atomic<bool> open{false};
    thread_group threads{stage().clock()};
    threads.start([&] {
      mine.wait();
      open = true;
    });
    stage().sleep(100ms);
    EXPECT_FALSE(open);
    const time_point counted = stage().now();
    count_down_latch{others, "latch", 1}.count_down();
    threads.join();
    EXPECT_LE(stage().now() - counted, stage().bounds().look);
    stage().drop_wake_ups(false);
  });
}

TEST_P(latch, time_a_stop_and_closing_end_a_wait) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    count_down_latch mine{locks, "latch", 1};
    count_down_latch theirs{others, "latch", 1};
    const time_point began = stage().now();
    EXPECT_FALSE(mine.wait_for(200ms));
    EXPECT_GE(stage().now() - began, 200ms);
    std::stop_source stop;
    std::atomic<int> ended{0};
    thread_group threads{stage().clock()};
    threads.start([&] {
      EXPECT_FALSE(mine.wait(stop.get_token()));
      ++ended;
    });
    threads.start([&] {
      EXPECT_EQ(code_of([&] { theirs.wait(); }), errc::closed);
      ++ended;
    });
    stage().sleep(50ms);
    EXPECT_EQ(ended, 0);
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return ended == 1; }));
    others.close();
    threads.join();
    EXPECT_EQ(code_of([&] { theirs.count_down(); }), errc::closed);
    EXPECT_EQ(mine.count(), 1);
  });
}

TEST_P(latch, another_count_is_a_conflict_that_names_both) {
  play_with_cells([this] {
    const client locks = stage().connect();
    count_down_latch two{locks, "latch", 2};
    count_down_latch three{locks, "latch", 3};
    two.count_down();
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { three.count_down(); }, [&] { (void)three.count(); }, [&] { three.wait(); }}) {
      try {
        call();
        ADD_FAILURE() << "both counts were taken";
      } catch (const error& why) {
        EXPECT_EQ(why.which(), errc::conflict);
        const std::string text = why.what();
        EXPECT_NE(text.find("of 2"), text.npos) << text;
        EXPECT_NE(text.find("of 3"), text.npos) << text;
      }
    }
    for (const std::int32_t bad : {0, -1, count_down_latch::count_max + 1}) {
      EXPECT_EQ(code_of([&] { count_down_latch(locks, "other", bad); }), errc::conflict);
    }
    EXPECT_EQ(code_of([&] { two.count_down(0); }), errc::conflict);
    EXPECT_EQ(two.count(), 1);
  });
}

TEST_P(latch, after_a_reset_it_begins_anew_and_nobody_is_left_waiting) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    count_down_latch mine{locks, "latch", 2};
    count_down_latch other{others, "latch", 5};
    mine.count_down();
    EXPECT_FALSE(mine.reset());
    thread_group threads{stage().clock()};
    threads.start([&] { mine.wait(); });
    stage().sleep(50ms);
    mine.count_down();
    EXPECT_TRUE(mine.reset());
    threads.join();  // also if it slept through the moment in which the latch was open
    EXPECT_FALSE(mine.reset());
    EXPECT_EQ(mine.count(), 2);
    EXPECT_EQ(other.count(), 5);
    other.count_down(4);
    EXPECT_EQ(code_of([&] { mine.count_down(); }), errc::conflict);
    other.count_down(1);
    EXPECT_TRUE(other.try_wait());
  });
}

TEST_P(latch, a_count_whose_answer_was_lost_is_neither_lost_nor_counted_twice) {
  play_with_cells({ability::server_faults}, [this] {
    options how;
    how.timeout = 500ms;
    how.retry.base = 1s;  // time for others
    how.retry.cap = 1s;
    const client locks = stage().connect(how);
    const client others = stage().connect();
    count_down_latch mine{locks, "latch", 10};
    count_down_latch theirs{others, "latch", 10};
    mine.count_down();
    stage().lose_next_answer(observer::verb::swap_cell);
    mine.count_down();
    EXPECT_EQ(theirs.count(), 8);
    // The same while others count in between, which hides what the server remembers.
    stage().lose_next_answer(observer::verb::swap_cell);
    thread_group threads{stage().clock()};
    threads.start([&] { mine.count_down(); });
    EXPECT_TRUE(eventually([&] { return theirs.count() == 7; }));
    theirs.count_down();
    threads.join();
    EXPECT_EQ(theirs.count(), 6);
    // Lost on the way there.
    stage().delay_next_request(observer::verb::swap_cell, 3s);
    mine.count_down();
    stage().sleep(4s);
    EXPECT_EQ(theirs.count(), 5);
  });
}

TEST_P(latch, a_death_does_not_change_the_count) {
  play_with_cells({ability::processes}, [this] {
    const client locks = stage().connect();
    count_down_latch mine{locks, "latch", 3};
    const auto dies = stage().start_process("dies", lease());
    const auto waits = stage().start_process("waits", lease());
    EXPECT_EQ(dies->say("down latch 3 1"), "counted");
    waits->send("await latch 3 600000");
    dies->send("await latch 3 600000");
    stage().sleep(100ms);
    dies->kill();
    EXPECT_EQ(dies->answer(), "dead");
    stage().sleep(2 * lease());
    EXPECT_EQ(mine.count(), 2);
    EXPECT_FALSE(waits->has_answered());
    mine.count_down(2);
    EXPECT_EQ(waits->answer(), "open");
  });
}

TEST_P(latch, who_waits_outlives_restarts_of_the_server) {
  play_with_cells({ability::server_faults}, [this] {
    const client locks = stage().connect();
    count_down_latch mine{locks, "latch", 3};
    std::atomic<bool> open{false};
    thread_group threads{stage().clock()};
    threads.start([&] {
      mine.wait();
      open = true;
    });
    for (int i = 0; i < 3; ++i) {
      stage().sleep(200ms);
      EXPECT_FALSE(open);
      stage().restart_server();
      const client after = stage().connect();
      count_down_latch{after, "latch", 3}.count_down();
    }
    threads.join();
    EXPECT_TRUE(open);
  });
}

TEST_P(latch, it_survives_a_restart_of_the_server) {
  play_with_cells({ability::server_faults}, [this] {
    const client before = stage().connect();
    count_down_latch{before, "latch", 2}.count_down();
    stage().restart_server();
    const client after = stage().connect();
    count_down_latch mine{after, "latch", 2};
    EXPECT_EQ(mine.count(), 1);
    mine.count_down();
    EXPECT_TRUE(mine.try_wait());
  });
}

}  // namespace
}  // namespace crosslock::conformance
