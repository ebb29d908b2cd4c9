// The same forms on every kind of lock: until stopped, and (wait, lease).
#include "conformance/fixture.hpp"

#include <future>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(forms);

/// Granted when free; empty when stopped. `acquire` takes a stop_token.
template <class Acquire>
void expect_stoppable(const Acquire& acquire) {
  std::stop_source stop;
  {
    const auto held = acquire(stop.get_token());
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->valid());
  }
}

template <class Acquire>
void expect_stopped(const Acquire& acquire) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(acquire(stop.get_token()));
}

TEST_P(forms, every_kind_can_be_waited_for_until_stopped) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const auto each = [&](const auto& check) {
      mutex plain{locks, "name"};
      check([&](std::stop_token stop) { return plain.acquire(stop); });
      multi_lock several{locks, {"another", "name"}};
      check([&](std::stop_token stop) { return several.acquire(stop); });
      if (stage().traits().shared) {
        shared_mutex shared{locks, "name"};
        check([&](std::stop_token stop) { return shared.acquire(stop); });
        check([&](std::stop_token stop) { return shared.acquire_shared(stop); });
      }
    };
    each([](const auto& acquire) { expect_stoppable(acquire); });
    {
      const auto held = mutex{others, "name"}.acquire();
      each([](const auto& acquire) { expect_stopped(acquire); });
    }
    if (!stage().traits().permits) return;
    semaphore permits{locks, "permits", 3};
    const auto one = [&](std::stop_token stop) { return permits.acquire(stop); };
    const auto two = [&](std::stop_token stop) { return permits.acquire(2, stop); };
    expect_stoppable(one);
    expect_stoppable(two);
    const auto held = semaphore{others, "permits", 3}.acquire(3);
    expect_stopped(one);
    expect_stopped(two);
  });
}

TEST_P(forms, every_kind_takes_a_wait_and_a_fixed_lease) {
  play([this] {
    const client locks = stage().connect();
    const auto expect_fixed = [&](auto held) {
      ASSERT_TRUE(held);
      EXPECT_LE(held->expires_at(), stage().now() + lease());
    };
    expect_fixed(mutex{locks, "name"}.try_acquire_for(1s, lease()));
    expect_fixed(multi_lock{locks, {"name", "another"}}.try_acquire_for(1s, lease()));
    if (stage().traits().shared) {
      expect_fixed(shared_mutex{locks, "name"}.try_acquire_for(1s, lease()));
      expect_fixed(shared_mutex{locks, "name"}.try_acquire_shared_for(1s, lease()));
    }
    if (!stage().traits().permits) return;
    semaphore permits{locks, "permits", 3};
    expect_fixed(permits.try_acquire_for(1s, lease()));
    expect_fixed(permits.try_acquire_for(1s, 2, lease()));
  });
}

TEST_P(forms, a_semaphore_says_how_many_permits_are_free) {
  play([this] {
    if (!stage().traits().permits) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    semaphore permits{locks, "name", 5};
    semaphore theirs{others, "name", 5};
    EXPECT_EQ(permits.available(), 5);
    auto two = permits.acquire(2);
    EXPECT_EQ(theirs.available(), 3);
    auto one = theirs.acquire();
    EXPECT_EQ(permits.available(), 2);
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(theirs.acquire(4).valid()); });
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    EXPECT_EQ(permits.available(), 0);  // who waits comes first
    two.release();
    threads.join();
    one.release();
    EXPECT_EQ(permits.available(), 5);
  });
}

TEST_P(forms, a_future_that_is_dropped_leaves_the_line) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    multi_lock several{locks, {"another", "name"}};
    auto held = mutex{others, "name"}.acquire();
    {
      const auto dropped = lock.async_acquire().future();
      const auto all_dropped = several.async_acquire().future();
      EXPECT_TRUE(line_reaches(others, "name", 1));
      EXPECT_TRUE(eventually([&] { return others.look("another").holders.size() == 1; }));
    }
    EXPECT_TRUE(line_reaches(others, "name", 0));
    EXPECT_TRUE(eventually([&] { return others.look("another").holders.empty(); }));
    // Assigned to, or moved from, it stays in line with the one that lives.
    auto later = lock.async_acquire().future();
    EXPECT_TRUE(line_reaches(others, "name", 1));
    acquire_future<hold> kept;
    kept = std::move(later);
    later = {};
    stage().sleep(20ms);
    EXPECT_EQ(others.look("name").line.size(), 1u);
    held.release();
    EXPECT_TRUE(eventually([&] { return kept.wait_for(0s) == std::future_status::ready; }));
    EXPECT_TRUE(kept.get());
    // The user's own stop goes on to end it.
    held = mutex{others, "name"}.acquire();
    std::stop_source stop;
    auto stopped = lock.async_acquire({.stop = stop.get_token()}).future();
    EXPECT_TRUE(line_reaches(others, "name", 1));
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return stopped.wait_for(0s) == std::future_status::ready; }));
    EXPECT_FALSE(stopped.get());
  });
}

}  // namespace
}  // namespace crosslock::conformance
