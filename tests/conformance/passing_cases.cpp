// Threads of one process hand a grant among themselves; bounded while others wait for it.
#include "conformance/fixture.hpp"

#include <atomic>
#include <mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class passing : public conformance_case {
 protected:
  /// Threads of one client that take the lock over and over, each time for `work`, until another
  /// client, which comes later, is in. How many grants they had while it waited.
  std::size_t grants_until_the_other_is_in(const options& how, duration work) {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard, how);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex wanted{others, "name"};
    std::atomic<bool> over{false};
    thread_group threads{stage().clock()};
    for (int t = 0; t < 4; ++t) {
      threads.start([&] {
        while (!over) {
          const hold mine = lock.acquire();
          stage().sleep(work);
        }
      });
    }
    EXPECT_TRUE(eventually([&] { return heard->grants().size() > 100; }));
    const std::size_t before = heard->grants().size();
    const bool in = wanted.try_acquire_for(20s).has_value();
    const std::size_t after = heard->grants().size();
    over = true;
    EXPECT_TRUE(in) << "the other client was starved";
    return after - before;
  }
};
CONFORMANCE_ON_EVERY_STAGE(passing);

TEST_P(passing, passes_cost_no_request_and_give_each_a_new_fence) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    mutex lock{locks, "name"};
    std::vector<fence> fences;  // guarded by the lock itself
    {
      thread_group threads{stage().clock()};
      for (int t = 0; t < 8; ++t) {
        threads.start([&] {
          for (int i = 0; i < 50; ++i) {
            const hold mine = lock.acquire();
            fences.push_back(mine.fence());
            stage().sleep(20us);
          }
        });
      }
    }
    ASSERT_EQ(fences.size(), 400U);
    for (std::size_t i = 1; i < fences.size(); ++i) EXPECT_GT(fences[i], fences[i - 1]);
    const std::size_t passed = heard->grants_by(acquire_cause::passed);
    EXPECT_GT(passed, 200U);
    // Each grant of the server's own: one ask, one release.
    EXPECT_EQ(heard->round_trips(observer::verb::ask), 400 - passed);
    EXPECT_EQ(heard->round_trips(observer::verb::release), 400 - passed);
  });
}

TEST_P(passing, passes_are_bounded_by_their_number_while_others_wait) {
  play([this] {
    options how;
    how.pass = {.passes = 8, .time = 20s};
    // Much longer than the news is on its way that somebody waits, on any stage.
    const std::size_t grants = grants_until_the_other_is_in(how, 20ms);
    EXPECT_LE(grants, 8 + 6);
    if (!GetParam()->cannot.contains(ability::long_times)) {
      EXPECT_GE(grants, 4U);
    }
  });
}

TEST_P(passing, passes_are_bounded_by_time_while_others_wait) {
  play({ability::long_times}, [this] {
    options how;
    how.pass = {.passes = 1'000'000, .time = 50ms};
    EXPECT_LE(grants_until_the_other_is_in(how, 5ms), 10 + 6);
  });
}

TEST_P(passing, passes_are_bounded_by_default) {
  play([this] {
    // Who is told goes on until the news has arrived, which where time is real may be long.
    constexpr duration work = 100us;
    const bool simulated = GetParam()->variant == "virtual_time";
    const auto until_told = simulated ? 20 : stage().bounds().wake_up / work;
    EXPECT_LE(grants_until_the_other_is_in({}, work), 32U + static_cast<std::size_t>(until_told));
  });
}

TEST_P(passing, fences_rise_beyond_the_block_that_came_with_the_grant) {
  play([this] {
    constexpr int times = seam::fence_block * 3 / 4;
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    mutex lock{locks, "name"};
    fence last;  // guarded by the lock itself
    bool rising = true;
    {
      thread_group threads{stage().clock()};
      for (int t = 0; t < 3; ++t) {
        threads.start([&] {
          for (int i = 0; i < times; ++i) {
            const hold mine = lock.acquire();
            rising = rising && mine.fence() > last;
            last = mine.fence();
            if (i % 64 == 0) stage().sleep(100us);
          }
        });
      }
    }
    EXPECT_TRUE(rising);
    EXPECT_EQ(heard->grants().size(), 3U * times);
  });
}

TEST_P(passing, with_strict_fifo_every_thread_stands_in_the_servers_line) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    options how;
    how.strict_fifo = true;
    const client locks = heard_by(heard, how);
    mutex lock{locks, "name"};
    auto first = lock.acquire();
    std::mutex guard;
    std::vector<int> order;
    thread_group threads{stage().clock()};
    for (int i = 0; i < 4; ++i) {
      threads.start([&, i] {
        const hold mine = lock.acquire();
        const std::lock_guard locked{guard};
        order.push_back(i);
      });
      EXPECT_TRUE(line_reaches(locks, "name", static_cast<std::size_t>(i) + 1));
    }
    first.release();
    threads.join();
    EXPECT_EQ(heard->grants_by(acquire_cause::passed), 0U);
    if (stage().traits().first_come) {
      EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
    }
  });
}

TEST_P(passing, a_fixed_lease_is_never_passed_on) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    mutex lock{locks, "name"};
    for (const bool fixed_first : {true, false}) {
      const duration same = locks.lease();
      auto first = fixed_first ? *lock.try_acquire_for(0s, same) : lock.acquire();
      std::atomic<bool> asking{false};
      thread_group threads{stage().clock()};
      threads.start([&] {
        asking = true;
        EXPECT_TRUE(fixed_first ? lock.try_acquire_for(20s) : lock.try_acquire_for(20s, same));
      });
      EXPECT_TRUE(eventually([&] { return asking.load(); }));
      stage().sleep(5ms);  // most likely it stands in the local line now; either way is right
      EXPECT_NE(first.release(), release_result::passed);
    }
    EXPECT_EQ(heard->grants_by(acquire_cause::passed), 0U);
  });
}

TEST_P(passing, a_lost_grant_is_not_passed_on) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    auto first = lock.acquire();
    std::atomic<bool> in{false};
    thread_group threads{stage().clock()};
    threads.start([&] {
      const hold second = lock.acquire();
      EXPECT_GT(second.fence(), first.fence());
      in = true;
    });
    EXPECT_TRUE(others.break_lock("name", first.owner()));
    EXPECT_TRUE(eventually([&] { return in.load(); }));
    EXPECT_EQ(first.release(), release_result::lost);
    threads.join();
    EXPECT_EQ(heard->grants_by(acquire_cause::passed), 0U);
  });
}

}  // namespace
}  // namespace crosslock::conformance
