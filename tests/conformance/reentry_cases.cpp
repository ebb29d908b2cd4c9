// Taking again what one holds: recursive_mutex counts, mutex refuses.
#include "conformance/fixture.hpp"

#include <atomic>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(reentry);

TEST_P(reentry, it_counts_keeps_its_fence_and_costs_no_round_trip) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    recursive_mutex lock{locks, "name"};
    lock.lock();
    const fence first = lock.fence();
    const std::uint64_t by_observer = heard->round_trips();
    const std::uint64_t by_server = stage().requests();
    for (int i = 0; i < 100; ++i) {
      lock.lock();
      EXPECT_TRUE(lock.try_lock());
      EXPECT_TRUE(lock.try_lock_for(1s));
      EXPECT_EQ(lock.fence(), first);
    }
    EXPECT_EQ(lock.depth(), 301U);
    for (int i = 0; i < 300; ++i) lock.unlock();
    EXPECT_EQ(lock.depth(), 1U);
    EXPECT_EQ(heard->round_trips(), by_observer);
    EXPECT_EQ(stage().requests(), by_server);
    EXPECT_EQ(locks.look("name").holders.size(), 1U);
    lock.unlock();
    EXPECT_EQ(lock.depth(), 0U);
    EXPECT_TRUE(locks.look("name").holders.empty());
    EXPECT_EQ(heard->releases(), (std::vector{release_result::released}));
  });
}

TEST_P(reentry, others_get_in_only_after_the_last_unlock) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    recursive_mutex lock{locks, "name"};
    mutex other{others, "name"};
    lock.lock();
    lock.lock();
    lock.unlock();
    EXPECT_FALSE(other.try_lock());
    lock.unlock();
    EXPECT_TRUE(other.try_lock());
    other.unlock();
  });
}

TEST_P(reentry, an_unlock_by_a_thread_that_does_not_hold_it_is_refused) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    recursive_mutex lock{locks, "name"};
    lock.lock();
    const std::uint64_t before = stage().requests();
    thread_group threads{stage().clock()};
    threads.start([&] {
      EXPECT_EQ(lock.depth(), 0U);
      EXPECT_EQ(code_of([&] { (void)lock.fence(); }), errc::not_held);
      lock.unlock();
      EXPECT_FALSE(lock.try_lock());
    });
    threads.join();
    EXPECT_EQ(heard->releases(), (std::vector{release_result::not_owner}));
    EXPECT_EQ(stage().requests(), before);
    EXPECT_EQ(lock.depth(), 1U);
    EXPECT_FALSE(lock.lost().stop_requested());
    EXPECT_EQ(locks.look("name").holders.size(), 1U);
    lock.unlock();
    lock.unlock();  // once too often
    EXPECT_EQ(heard->releases().back(), release_result::not_owner);
  });
}

TEST_P(reentry, re_entry_is_checked_against_the_deadline) {
  play([this] {
    const client locks = stage().connect();
    recursive_mutex lock{locks, "name"};
    lock.lock();
    lock.lock();
    EXPECT_TRUE(locks.break_lock("name", locks.look("name").holders.at(0).owner));
    EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }));
    EXPECT_EQ(code_of([&] { lock.lock(); }), errc::lost);
    EXPECT_EQ(code_of([&] { (void)lock.try_lock(); }), errc::lost);
    EXPECT_EQ(lock.depth(), 2U);
    lock.unlock();
    lock.unlock();
    lock.lock();  // a new hold
    EXPECT_EQ(lock.depth(), 1U);
    lock.unlock();
  });
}

TEST_P(reentry, locking_a_plain_mutex_twice_on_one_thread_is_an_error_at_once) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    lock.lock();
    const std::uint64_t before = stage().requests();
    EXPECT_EQ(code_of([&] { lock.lock(); }), errc::would_deadlock);
    EXPECT_EQ(code_of([&] { (void)lock.try_lock(); }), errc::would_deadlock);
    EXPECT_EQ(code_of([&] { (void)lock.try_lock_for(1h); }), errc::would_deadlock);
    EXPECT_EQ(stage().requests(), before);
    EXPECT_FALSE(lock.lost().stop_requested());
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  });
}

}  // namespace
}  // namespace crosslock::conformance
