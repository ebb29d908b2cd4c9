// What users do wrong, and what happens then: exceptions in critical sections, threads that go
// without unlocking, holds that are forgotten, unlocking twice, using what is gone.
#include "conformance/fixture.hpp"
#include "conformance/release_truth.hpp"

#include <atomic>
#include <stdexcept>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(misuse);

TEST_P(misuse, an_exception_in_the_critical_section_releases) {  // F25
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex other{others, "name"};
    const auto is_free = [&] {
      const auto held = other.try_acquire();
      return held.has_value();
    };
    EXPECT_THROW(locks.run("name", [] { throw std::runtime_error{"x"}; }), std::runtime_error);
    EXPECT_TRUE(is_free());
    EXPECT_THROW(
        {
          const std::scoped_lock guard{lock};
          throw std::runtime_error{"x"};
        },
        std::runtime_error);
    EXPECT_TRUE(is_free());
    EXPECT_THROW(
        {
          const hold held = lock.acquire();
          throw std::runtime_error{"x"};
        },
        std::runtime_error);
    EXPECT_TRUE(is_free());
  });
}

TEST_P(misuse, a_release_that_fails_in_a_destructor_is_silent_and_goes_on_later) {  // F25
  play({ability::server_faults}, [this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex other{others, "name"};
    for (int i = 0; i < 3; ++i) {
      thread_group threads{stage().clock()};
      owner_id owner;
      threads.start([&] {
        EXPECT_THROW(
            {
              const std::scoped_lock guard{lock};
              owner = others.look("name").holders.at(0).owner;
              // The server goes down for a while when the section ends.
              stage().delay_next_request(observer::verb::release, 1h);
              throw std::runtime_error{"x"};
            },
            std::runtime_error);
      });
      threads.join();
      expect_unknown_or_true(heard->releases().back(), stage(), others, "name", owner);
      EXPECT_TRUE(other.try_acquire_for(10s));  // long before the lease of 30 s
    }
  });
}

TEST_P(misuse, a_thread_that_ends_without_unlocking_still_holds) {  // F26
  play({ability::timely}, [this] {
    const client locks = steady();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex other{others, "name"};
    {
      thread_group threads{stage().clock()};
      threads.start([&] { lock.lock(); });
    }
    stage().sleep(2 * steady_lease());
    EXPECT_FALSE(other.try_lock());
    EXPECT_FALSE(lock.try_lock());  // of another thread: busy, no deadlock
    EXPECT_FALSE(lock.lost().stop_requested());
    lock.unlock();  // the object owns it, not the thread
    EXPECT_TRUE(other.try_lock());
    other.unlock();
  });
}

TEST_P(misuse, a_hold_may_be_released_by_another_thread) {  // F26
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    std::optional<hold> held;
    thread_group threads{stage().clock()};
    threads.start([&] { held = lock.acquire(); });
    threads.join();
    EXPECT_TRUE(held->valid());
    EXPECT_EQ(held->release(), release_result::released);
    EXPECT_TRUE(locks.look("name").holders.empty());
  });
}

TEST_P(misuse, a_leaked_hold_ends_at_max_hold_and_is_not_renewed_any_more) {  // F26
  play({ability::timely}, [this] {
    const auto heard = std::make_shared<listener>();
    options how;
    how.lease = steady_lease();
    how.max_hold = 3 * steady_lease() / 2;
    const client locks = heard_by(heard, how);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex other{others, "name"};
    auto leaked = std::make_unique<hold>(lock.acquire());
    const auto successor = other.try_acquire_for(20s);
    ASSERT_TRUE(successor);
    EXPECT_TRUE(eventually([&] { return heard->losses().size() == 1; }));
    EXPECT_EQ(heard->losses(), (std::vector{loss_reason::max_hold}));
    const std::size_t renewals = heard->renewals().size();
    stage().sleep(2 * steady_lease());
    EXPECT_LE(heard->renewals().size(), renewals + 1);  // one may have been on its way
    EXPECT_TRUE(successor->valid());
    leaked.reset();  // so that the leak sanitizer is content; changes nothing
    EXPECT_TRUE(successor->valid());
  });
}

TEST_P(misuse, unlocking_too_often_too_early_and_too_late_are_told_apart) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex other{others, "name"};
    lock.unlock();  // never locked
    lock.lock();
    lock.unlock();
    lock.unlock();  // twice
    other.lock();
    lock.unlock();  // somebody else's
    EXPECT_EQ(others.look("name").holders.size(), 1U);
    other.unlock();
    lock.lock();
    EXPECT_TRUE(others.break_lock("name", others.look("name").holders.at(0).owner));
    EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }));
    lock.unlock();  // after its loss
    using enum release_result;
    EXPECT_EQ(heard->releases(), (std::vector{not_held, released, not_held, not_held, lost}));
    EXPECT_EQ(code_of([&] { (void)lock.fence(); }), errc::not_held);
    EXPECT_EQ(code_of([&] { (void)lock.lost(); }), errc::not_held);
  });
}

TEST_P(misuse, a_hold_that_was_moved_from_is_nobodys) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    hold first = lock.acquire();
    const fence token = first.fence();
    hold second = std::move(first);
    EXPECT_EQ(first.fence(), fence{});  // NOLINT: that is the question
    EXPECT_FALSE(first.valid());
    EXPECT_EQ(first.release(), release_result::not_held);
    EXPECT_EQ(code_of([&] { first.check(); }), errc::not_held);
    EXPECT_EQ(second.fence(), token);
    mutex another{locks, "another"};
    second = another.acquire();  // gives back what it had
    EXPECT_TRUE(locks.look("name").holders.empty());
    EXPECT_EQ(locks.look("another").holders.size(), 1U);
  });
}

TEST_P(misuse, a_hold_that_a_callback_does_not_take_is_released) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    std::atomic<int> called{0};
    lock.acquire_async([&](acquire_result result) {
      const std::optional<hold> mine = std::move(result.hold);
      EXPECT_TRUE(mine);
      ++called;
    });
    EXPECT_TRUE(eventually([&] { return called == 1; }));
    EXPECT_TRUE(eventually([&] { return locks.look("name").holders.empty(); }));
    lock.acquire_async([&](const acquire_result&) { ++called; });  // a hold nobody takes
    EXPECT_TRUE(eventually([&] { return called == 2; }));
    EXPECT_TRUE(eventually([&] { return locks.look("name").holders.empty(); }));
  });
}

TEST_P(misuse, two_objects_of_one_name_on_one_thread_end_by_time) {
  play([this] {
    const client locks = stage().connect();
    mutex one{locks, "name"};
    mutex two{locks, "name"};
    one.lock();
    EXPECT_FALSE(two.try_lock_for(50ms));  // lock() would wait for itself: documented
    one.unlock();
  });
}

}  // namespace
}  // namespace crosslock::conformance
