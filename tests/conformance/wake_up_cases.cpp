// A waiter is granted by the wake-up itself, or else by its periodic look; in the line's order.
#include "conformance/fixture.hpp"

#include <atomic>
#include <mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE_UNWAITING(wake_up);

/// By whom a waiter is granted when wake-ups come through.
bool woken(const seam::traits& about, acquire_cause cause) {
  if (!about.pushes) return cause == acquire_cause::refreshed;
  return cause == acquire_cause::pushed || cause == acquire_cause::looked;
}

/// Seen in line is not yet told to wait: an ask of several requests is granted by its own answer
/// if the lock becomes free before the last of them. What the same client asks behind it has its
/// answer behind it, too.
void let_its_ask_be_answered(const client& waiting) {
  mutex beside{waiting, "beside"};
  EXPECT_EQ(beside.acquire().release(), release_result::released);
}

TEST_P(wake_up, a_release_grants_the_waiter_by_its_wake_up) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client holder = stage().connect();
    const client locks = heard_by(heard);
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    auto first = held.acquire();
    std::atomic<time_point> in{time_point{}};
    thread_group threads{stage().clock()};
    threads.start([&] {
      const hold second = lock.acquire();
      in = stage().now();
      EXPECT_GT(second.fence(), first.fence());
    });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    let_its_ask_be_answered(locks);
    const time_point released = stage().now();
    EXPECT_EQ(first.release(), release_result::released);
    threads.join();
    ASSERT_EQ(heard->grants().size(), 2U);
    EXPECT_TRUE(woken(stage().traits(), heard->grants()[1].cause))
        << to_string(heard->grants()[1].cause);
    EXPECT_LE(in.load() - released, stage().bounds().wake_up);
  });
}

TEST_P(wake_up, a_release_grants_an_asynchronous_waiter_by_its_wake_up) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client holder = stage().connect();
    const client locks = heard_by(heard);
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    auto first = held.acquire();
    std::atomic<int> called{0};
    lock.acquire_async([&](const acquire_result& result) {
      EXPECT_TRUE(result.hold && result.hold->valid());
      ++called;
    });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    let_its_ask_be_answered(locks);
    EXPECT_EQ(called, 0);
    first.release();
    EXPECT_TRUE(eventually([&] { return called == 1; }, stage().bounds().wake_up));
    ASSERT_EQ(heard->grants().size(), 2U);
    EXPECT_TRUE(woken(stage().traits(), heard->grants()[1].cause));
  });
}

TEST_P(wake_up, with_every_wake_up_dropped_the_periodic_look_grants) {
  play({ability::server_faults}, [this] {
    const auto heard = std::make_shared<listener>();
    const client holder = stage().connect();
    const client locks = heard_by(heard);
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    stage().drop_wake_ups(true);
    for (int round = 0; round < 5; ++round) {
      auto first = held.acquire();
      thread_group threads{stage().clock()};
      std::atomic<time_point> in{time_point{}};
      threads.start([&] {
        const hold second = lock.acquire();
        in = stage().now();
      });
      EXPECT_TRUE(line_reaches(holder, "name", 1));
      let_its_ask_be_answered(locks);
      stage().sleep(round * 170ms);
      const time_point released = stage().now();
      first.release();
      threads.join();
      EXPECT_LE(in.load() - released, stage().bounds().look);
    }
    EXPECT_EQ(heard->grants_by(acquire_cause::refreshed), 5U);
    stage().drop_wake_ups(false);
  });
}

TEST_P(wake_up, an_asynchronous_waiter_looks_too) {
  play({ability::server_faults}, [this] {
    const auto heard = std::make_shared<listener>();
    const client holder = stage().connect();
    const client locks = heard_by(heard);
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    stage().drop_wake_ups(true);
    auto first = held.acquire();
    std::atomic<int> called{0};
    lock.acquire_async([&](const acquire_result& result) {
      EXPECT_TRUE(result.hold);
      ++called;
    });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    let_its_ask_be_answered(locks);
    first.release();
    EXPECT_TRUE(eventually([&] { return called == 1; }, stage().bounds().look));
    EXPECT_EQ(heard->grants_by(acquire_cause::refreshed), 1U);
  });
}

TEST_P(wake_up, waiters_outlive_a_restart_of_the_server) {
  play({ability::server_faults}, [this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    auto first = held.acquire();
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(lock.try_acquire_for(20s)); });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    stage().restart_server();
    stage().sleep(2s);
    EXPECT_TRUE(first.valid());
    EXPECT_EQ(first.release(), release_result::released);
  });
}

TEST_P(wake_up, first_come_is_first_served_where_it_is_promised) {
  play([this] {
    constexpr std::size_t waiters = 8;
    const client holder = stage().connect();
    mutex held{holder, "name"};
    auto first = held.acquire();
    std::mutex guard;
    std::vector<std::size_t> order;
    thread_group threads{stage().clock()};
    for (std::size_t i = 0; i < waiters; ++i) {
      threads.start([&, i] {
        const client locks = stage().connect();
        mutex lock{locks, "name"};
        const hold mine = lock.acquire();
        const std::lock_guard locked{guard};
        order.push_back(i);
      });
      EXPECT_TRUE(line_reaches(holder, "name", i + 1));
    }
    first.release();
    threads.join();
    ASSERT_EQ(order.size(), waiters);
    if (!stage().traits().first_come) return;
    for (std::size_t i = 0; i < waiters; ++i) EXPECT_EQ(order[i], i);
  });
}

TEST_P(wake_up, a_newcomer_does_not_overtake_the_line) {
  play([this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    const client newcomer = stage().connect();
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    mutex late{newcomer, "name"};
    auto first = held.acquire();
    std::atomic<bool> go{false};
    thread_group threads{stage().clock()};
    threads.start([&] {
      const hold mine = lock.acquire();
      EXPECT_TRUE(eventually([&] { return go.load(); }));
    });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    first.release();
    if (stage().traits().first_come) {
      EXPECT_FALSE(late.try_lock());
    }
    go = true;
  });
}

}  // namespace
}  // namespace crosslock::conformance
