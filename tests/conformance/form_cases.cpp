// The same forms on every kind of lock: until stopped, and (wait, lease).
#include "conformance/fixture.hpp"

#include <atomic>
#include <future>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(forms);

constexpr auto ready_now = std::future_status::ready;

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
    if (stage().traits().cells) {
      election office{locks, "office"};
      const auto campaign = [&](std::stop_token stop) { return office.campaign("a", stop); };
      expect_stoppable(campaign);
      const auto leads = election{others, "office"}.campaign("b");
      expect_stopped(campaign);
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
    if (stage().traits().cells) {
      election office{locks, "office"};
      expect_fixed(office.campaign_for("a", 1s, lease()));
      expect_fixed(office.campaign_until("a", std::chrono::steady_clock::now() + 1s,
                                         {.lease = lease(), .stop = {}}));
    }
    if (!stage().traits().permits) return;
    semaphore permits{locks, "permits", 3};
    expect_fixed(permits.try_acquire_for(1s, lease()));
    expect_fixed(permits.try_acquire_for(1s, 2, lease()));
  });
}

TEST_P(forms, a_campaign_is_begun_by_callback_future_or_coroutine) {
  play([this] {
    if (!stage().traits().cells) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    election office{locks, "office"};
    election theirs{others, "office"};
    const auto is_ready = [](const auto& later) { return later.wait_for(0s) == ready_now; };
    auto later = office.async_campaign("first").future();
    EXPECT_TRUE(eventually([&] { return is_ready(later); }));
    auto term = later.get();
    ASSERT_TRUE(term);
    EXPECT_EQ(theirs.leader()->value, "first");
    EXPECT_GT(term->expires_at(), stage().now());
    EXPECT_GE(term->extend(lease()), stage().now());
    // Busy, out of time; a wait below zero is none at all.
    auto vain = theirs.async_campaign("second", {}, -5s).future();
    EXPECT_TRUE(eventually([&] { return is_ready(vain); }));
    EXPECT_FALSE(vain.get());
    EXPECT_FALSE(theirs.campaign_for("second", -5s));
    std::function<void()> posted;
    std::atomic<bool> is_posted{false};
    bool led = false;
    theirs.async_campaign("third")
        .resume_on([&](std::function<void()> work) {
          posted = std::move(work);
          is_posted = true;
        })
        .start([&](acquire_outcome<leadership> outcome) {
          led = outcome.hold && outcome.hold->valid();
        });
    EXPECT_TRUE(eventually([&] {
      const auto found = locks.list("crosslock:{election}");
      return found.size() == 1 && found[0].line.size() == 1;
    }));
    EXPECT_FALSE(is_posted);
    term->resign();
    EXPECT_TRUE(eventually([&] { return is_posted.load(); }));
    EXPECT_EQ(office.leader()->value, "third");  // stored before anybody is told
    EXPECT_FALSE(led);
    std::exchange(posted, nullptr)();
    EXPECT_TRUE(led);
    EXPECT_TRUE(eventually([&] { return !office.leader(); }));
  });
}

TEST_P(forms, a_multi_hold_is_extended_and_told_that_it_is_wanted) {
  play([this] {
    const client locks = stage().connect();
    multi_lock several{locks, {"a", "b"}};
    auto held = several.try_acquire({.lease = lease()});
    ASSERT_TRUE(held);
    const time_point before = stage().now();
    EXPECT_GE(held->extend(20 * lease()), held->expires_at());
    if (!stage().traits().lease_is_session) {
      EXPECT_GT(held->expires_at(), before + 10 * lease());
    }
    const std::stop_token wanted = held->wanted();
    EXPECT_EQ(wanted, held->wanted());
    EXPECT_FALSE(wanted.stop_requested());
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(mutex(locks, "b").acquire().valid()); });
    EXPECT_TRUE(eventually([&] { return wanted.stop_requested(); }));
    EXPECT_TRUE(held->valid());
    held->release();
    EXPECT_FALSE(held->wanted().stop_possible());
    EXPECT_EQ(code_of([&] { held->extend(); }), errc::not_held);
    threads.join();
    // Somebody waits already.
    auto first = mutex(locks, "a").acquire();
    multi_hold both = [&] {
      auto waits = several.async_acquire().future();
      EXPECT_TRUE(eventually([&] { return !locks.look("a").holders.empty(); }));
      first.release();
      EXPECT_TRUE(eventually([&] { return waits.wait_for(0s) == ready_now; }));
      return *waits.get();
    }();
    threads.start([&] { EXPECT_TRUE(mutex(locks, "a").acquire().valid()); });
    EXPECT_TRUE(eventually([&] { return both.wanted().stop_requested(); }));
    both.release();
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
