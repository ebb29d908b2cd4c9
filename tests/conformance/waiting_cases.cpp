// Waits that end without a hold leave nothing behind, and nobody can overtake the clock.
#include "conformance/fixture.hpp"

#include <atomic>
#include <future>
#include <limits>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;
using wait_result = observer::wait_result;

CONFORMANCE_SUITE(waiting);

TEST_P(waiting, a_busy_try_leaves_nothing_behind) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client holder = stage().connect();
    const client locks = heard_by(heard);
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    const std::scoped_lock guard{held};
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(lock.try_acquire());
    EXPECT_FALSE(lock.try_lock_for(0s));
    EXPECT_TRUE(holder.look("name").line.empty());
    EXPECT_EQ(heard->waits(), (std::vector(3, wait_result::busy)));
  });
}

TEST_P(waiting, a_timed_wait_ends_in_time_and_leaves_nothing_behind) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client holder = stage().connect();
    const client locks = heard_by(heard);
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    const std::scoped_lock guard{held};
    const time_point before = stage().now();
    EXPECT_FALSE(lock.try_acquire_for(50ms));
    const duration took = stage().now() - before;
    EXPECT_GE(took, 50ms);
    EXPECT_LE(took, 50ms + stage().bounds().wake_up);
    EXPECT_TRUE(holder.look("name").line.empty());
    EXPECT_EQ(heard->waits(), (std::vector{wait_result::timed_out}));
  });
}

TEST_P(waiting, a_cancelled_wait_leaves_nothing_behind) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client holder = stage().connect();
    const client locks = heard_by(heard);
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    const std::scoped_lock guard{held};
    std::stop_source stop;
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_FALSE(lock.acquire(stop.get_token())); });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    stop.request_stop();
    threads.join();
    EXPECT_TRUE(holder.look("name").line.empty());
    EXPECT_EQ(heard->waits(), (std::vector{wait_result::cancelled}));
  });
}

TEST_P(waiting, a_wait_within_the_process_ends_by_time_and_by_stop) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    const std::uint64_t before = stage().requests();
    EXPECT_FALSE(lock.try_acquire_for(20ms));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(lock.acquire(stop.get_token()));
    EXPECT_EQ(stage().requests(), before);  // it stood in the local line only
    EXPECT_EQ(heard->waits(), (std::vector{wait_result::timed_out, wait_result::cancelled}));
    held.release();
    EXPECT_TRUE(lock.try_acquire());
  });
}

TEST_P(waiting, asynchronous_waits_end_by_time_and_by_stop_and_leave_nothing_behind) {
  play([this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    const std::scoped_lock guard{held};
    std::atomic<int> empty{0};
    const auto count = [&](const acquire_result& result) {
      if (!result.hold && !result.failure) ++empty;
    };
    std::stop_source stop;
    lock.acquire_async(count, {}, duration{50ms});
    lock.acquire_async(count, {.stop = stop.get_token()});
    lock.acquire_async(count, {}, duration::zero());
    EXPECT_TRUE(eventually([&] { return empty == 2; }));
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return empty == 3; }));
    EXPECT_TRUE(line_reaches(holder, "name", 0));
  });
}

TEST_P(waiting, who_waits_behind_a_cancelled_waiter_is_served) {
  play([this] {
    const client locks[] = {stage().connect(), stage().connect(), stage().connect()};
    mutex first{locks[0], "name"};
    mutex second{locks[1], "name"};
    mutex third{locks[2], "name"};
    auto held = first.acquire();
    std::stop_source stop;
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_FALSE(second.acquire(stop.get_token())); });
    EXPECT_TRUE(line_reaches(locks[0], "name", 1));
    threads.start([&] { EXPECT_TRUE(third.try_acquire_for(20s)); });
    EXPECT_TRUE(line_reaches(locks[0], "name", 2));
    stop.request_stop();
    EXPECT_TRUE(line_reaches(locks[0], "name", 1));
    EXPECT_EQ(held.release(), release_result::released);
  });
}

TEST_P(waiting, a_wait_of_no_time_or_less_is_a_try_in_every_form) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    for (const duration wait : {duration{0s}, duration{-1ns}, duration::min()}) {
      EXPECT_TRUE(lock.try_acquire_for(wait));
      EXPECT_TRUE(lock.try_acquire_for(wait, lease()));
      EXPECT_TRUE(lock.try_lock_for(wait));  // as the standard says
      EXPECT_FALSE(mutex(locks, "name").try_acquire_for(wait));
      lock.unlock();
      auto later = lock.async_acquire({}, wait).future();
      EXPECT_TRUE(eventually([&] { return later.wait_for(0s) == std::future_status::ready; }));
      EXPECT_TRUE(later.get());
    }
  });
}

TEST_P(waiting, the_longest_wait_does_not_overflow) {
  play([this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    auto guard = held.acquire();
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(lock.try_acquire_for(std::chrono::hours::max())); });
    threads.start([&] { EXPECT_TRUE(lock.try_acquire_for(duration::max())); });
    threads.start([&] {
      const std::chrono::duration<double> endless{std::numeric_limits<double>::infinity()};
      EXPECT_TRUE(lock.try_acquire_for(endless));
    });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    guard.release();
  });
}

TEST_P(waiting, an_acquire_that_gave_up_without_an_answer_is_withdrawn) {
  play({ability::server_faults}, [this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    stage().lose_next_answer(observer::verb::ask);
    const time_point before = stage().now();
    try {
      EXPECT_FALSE(lock.try_acquire_for(200ms));
    } catch (const error& why) {
      EXPECT_TRUE(why.outcome_unknown());
      EXPECT_TRUE(why.retryable());
    }
    EXPECT_LE(stage().now() - before, 300ms);
    // The server had granted it: long before that lease would end it is free again.
    mutex next{others, "name"};
    // A session's only connection has to be given up for that.
    const bool session = stage().traits().lease_is_session;
    EXPECT_TRUE(next.try_acquire_for(session ? locks.lease() / 2 : 1s));
  });
}

}  // namespace
}  // namespace crosslock::conformance
