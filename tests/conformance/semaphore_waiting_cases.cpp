// Those who wait for permits, give up, lose them, write them down, or die with them.
#include "conformance/fixture.hpp"

#include <atomic>
#include <mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class permit_waits : public conformance_case {
 protected:
  bool unsupported() { return !stage().traits().permits; }
};
CONFORMANCE_ON_EVERY_STAGE(permit_waits);

TEST_P(permit_waits, as_many_get_in_as_there_is_room_for) {
  play([this] {
    if (unsupported()) return;
    const client holder = stage().connect();
    semaphore held{holder, "name", 5};
    auto all = held.acquire(5);
    std::atomic<int> inside{0};
    std::atomic<bool> go{false};
    thread_group threads{stage().clock()};
    for (std::size_t i = 0; i < 4; ++i) {  // 2 and 2 fit, the third waits, and the fourth behind it
      threads.start([&] {
        const client locks = stage().connect();
        semaphore lock{locks, "name", 5};
        const hold mine = lock.acquire(2);
        ++inside;
        EXPECT_TRUE(eventually([&] { return go.load(); }));
      });
      EXPECT_TRUE(line_reaches(holder, "name", i + 1));
    }
    all.release();
    EXPECT_TRUE(eventually([&] { return inside == 2; }));
    EXPECT_TRUE(line_reaches(holder, "name", 2));
    EXPECT_EQ(inside, 2);
    go = true;
    threads.join();
    EXPECT_EQ(inside, 4);
  });
}

TEST_P(permit_waits, threads_of_one_client_use_all_there_are) {
  play([this] {
    if (unsupported()) return;
    constexpr int n = 4;
    const client locks = stage().connect();
    semaphore lock{locks, "name", n};
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    {
      thread_group threads{stage().clock()};
      for (int t = 0; t < 12; ++t) {
        threads.start([&] {
          for (int i = 0; i < 10; ++i) {
            const hold mine = lock.acquire();
            const int now_in = ++inside;
            for (int seen = most; seen < now_in && !most.compare_exchange_weak(seen, now_in);) {
            }
            EXPECT_LE(now_in, n);
            // Long enough for the others to come, however long an acquire takes here.
            eventually([&] { return most.load() == n; }, 100ms);
            stage().sleep(1ms);
            --inside;
          }
        });
      }
    }
    EXPECT_EQ(most, n);
  });
}

TEST_P(permit_waits, a_thousand_waiters_of_one_client_are_few_for_the_server) {
  play([this] {
    if (unsupported()) return;
    constexpr int waiters = 1000;
    constexpr std::size_t few = 16;
    const client holder = stage().connect();
    const client locks = stage().connect();
    semaphore held{holder, "name", 3};
    semaphore lock{locks, "name", 3};
    auto all = held.acquire(3);
    std::atomic<int> served{0};
    for (int i = 0; i < waiters; ++i) {
      lock.acquire_async(
          [&](const acquire_result& got) {
            EXPECT_TRUE(got.hold);
            ++served;
          },
          1 + i % 3);
    }
    EXPECT_TRUE(eventually([&] { return !holder.look("name").line.empty(); }));
    std::size_t longest = 0;
    for (int i = 0; i < 10; ++i) {
      longest = std::max(longest, holder.look("name").line.size());
      stage().sleep(5ms);
    }
    EXPECT_LE(longest, few);
    EXPECT_EQ(served, 0);
    all.release();
    EXPECT_TRUE(eventually([&] { return served == waiters; }, 60s));
  });
}

TEST_P(permit_waits, those_that_end_leave_nothing_and_the_next_is_served) {
  play([this] {
    if (unsupported()) return;
    const client holder = stage().connect();
    const client locks = stage().connect();
    const client others = stage().connect();
    semaphore held{holder, "name", 3};
    semaphore lock{locks, "name", 3};
    semaphore theirs{others, "name", 3};
    const hold two = held.acquire(2);
    EXPECT_FALSE(lock.try_acquire(2));
    EXPECT_FALSE(lock.try_acquire_for(30ms, 2));
    EXPECT_TRUE(holder.look("name").line.empty());
    std::stop_source stop;
    std::atomic<int> empty{0};
    thread_group threads{stage().clock()};
    threads.start([&] {
      EXPECT_FALSE(lock.try_acquire_for(10min, 3, {.lease = {}, .stop = stop.get_token()}));
    });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    lock.acquire_async([&](const acquire_result& got) { empty += got.hold ? 0 : 1; }, 3,
                       {.lease = {}, .stop = stop.get_token()});
    lock.acquire_async([&](const acquire_result& got) { empty += got.hold ? 0 : 1; }, 3, {},
                       duration{20ms});
    EXPECT_TRUE(eventually([&] { return empty == 1; }));
    // One is left: it waits only because a request for three stands before it.
    threads.start([&] { EXPECT_TRUE(theirs.try_acquire_for(20s)); });
    if (stage().traits().first_come) {
      EXPECT_TRUE(eventually([&] { return holder.look("name").line.size() >= 2; }));
    }
    stop.request_stop();
    threads.join();
    EXPECT_TRUE(eventually([&] { return empty == 2; }));
    EXPECT_TRUE(line_reaches(holder, "name", 0));
    EXPECT_TRUE(lock.try_acquire());
  });
}

TEST_P(permit_waits, a_loss_is_of_one_hold_only) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    semaphore lock{locks, "name", 4};
    auto first = lock.acquire(2);
    auto second = lock.acquire(1);
    EXPECT_NE(first.fence(), second.fence());
    EXPECT_TRUE(others.break_lock("name", first.owner()));
    EXPECT_TRUE(eventually([&] { return first.lost().stop_requested(); }));
    EXPECT_TRUE(second.valid());
    const auto third = lock.try_acquire(3);
    ASSERT_TRUE(third);
    EXPECT_GT(third->fence(), first.fence());
    EXPECT_EQ(first.release(), release_result::lost);
    EXPECT_FALSE(lock.try_acquire());
    EXPECT_TRUE(third->valid());
    EXPECT_TRUE(second.valid());
  });
}

TEST_P(permit_waits, a_fixed_lease_ends_and_gives_its_permits_back) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    semaphore lock{locks, "name", 3};
    semaphore theirs{others, "name", 3};
    const hold renewed = lock.acquire(1);
    const hold fixed = lock.acquire(2, {.lease = lease(), .stop = {}});
    const time_point got = stage().now();
    EXPECT_FALSE(theirs.try_acquire(2));
    EXPECT_TRUE(theirs.try_acquire_for(20s, 2));
    EXPECT_FALSE(fixed.valid());
    EXPECT_EQ(fixed.lost_reason(), loss_reason::lease_ended);
    EXPECT_LE(stage().now() - got, lease() + stage().bounds().after_lease);
    EXPECT_TRUE(renewed.valid());
  });
}

TEST_P(permit_waits, a_renewed_hold_outlives_its_lease) {
  play({ability::timely}, [this] {
    if (unsupported()) return;
    const client locks = steady();
    const client others = stage().connect();
    semaphore lock{locks, "name", 3};
    semaphore theirs{others, "name", 3};
    const hold first = lock.acquire(2);
    const hold second = lock.acquire(1);
    stage().sleep(4 * steady_lease());
    EXPECT_TRUE(first.valid());
    EXPECT_TRUE(second.valid());
    EXPECT_FALSE(theirs.try_acquire());
  });
}

TEST_P(permit_waits, a_receipt_keeps_them_until_it_is_taken_up_and_given_back) {
  play([this] {
    if (unsupported() || !stage().traits().outlives_process) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    semaphore lock{locks, "name", 3};
    semaphore theirs{others, "name", 3};
    auto held = lock.acquire(2);
    auto stays = lock.acquire(1);
    const fence token = held.fence();
    const receipt given = held.detach();
    EXPECT_FALSE(theirs.try_acquire());
    auto adopted = others.adopt(receipt::parse(given.to_string()));
    EXPECT_EQ(adopted.fence(), token);
    EXPECT_EQ(adopted.mode(), claim_mode::permit);
    EXPECT_FALSE(theirs.try_acquire());
    EXPECT_EQ(code_of([&] { (void)locks.adopt(given); }), errc::lost);
    EXPECT_EQ(stays.release(), release_result::released);
    EXPECT_FALSE(theirs.try_acquire(2));
    EXPECT_TRUE(theirs.try_acquire(1));
    EXPECT_EQ(adopted.release(), release_result::released);
    EXPECT_TRUE(theirs.try_acquire(3));
  });
}

TEST_P(permit_waits, with_every_wake_up_dropped_the_periodic_look_grants) {
  play({ability::server_faults}, [this] {
    if (unsupported()) return;
    const client holder = stage().connect();
    const client locks = stage().connect();
    semaphore held{holder, "name", 3};
    semaphore lock{locks, "name", 3};
    stage().drop_wake_ups(true);
    auto all = held.acquire(3);
    std::atomic<time_point> in{time_point{}};
    thread_group threads{stage().clock()};
    threads.start([&] {
      const hold mine = lock.acquire(2);
      in = stage().now();
    });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    const time_point released = stage().now();
    all.release();
    threads.join();
    EXPECT_LE(in.load() - released, stage().bounds().look);
    stage().drop_wake_ups(false);
  });
}

TEST_P(permit_waits, an_acquire_whose_answer_was_lost_takes_them_once) {
  play({ability::server_faults}, [this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    semaphore lock{locks, "name", 3};
    semaphore theirs{others, "name", 3};
    stage().lose_next_answer(observer::verb::ask);
    const auto held = lock.try_acquire_for(60s, 2);
    ASSERT_TRUE(held);
    EXPECT_FALSE(theirs.try_acquire(2));
    EXPECT_TRUE(theirs.try_acquire(1));
  });
}

}  // namespace
}  // namespace crosslock::conformance
