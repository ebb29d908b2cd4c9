// What a lock object says about the hold that its lock() has taken.
#include "conformance/fixture.hpp"

#include <mutex>
#include <shared_mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(standing);

/// What every kind says before lock(), behind it, and after its end.
template <class Lock>
void expect_standing(Lock& lock) {
  EXPECT_FALSE(lock.valid());
  EXPECT_EQ(code_of([&] { lock.check(); }), errc::not_held);
  EXPECT_EQ(code_of([&] { (void)lock.expires_at(); }), errc::not_held);
  {
    const std::scoped_lock guard{lock};
    EXPECT_TRUE(lock.valid());
    EXPECT_NO_THROW(lock.check());
    EXPECT_GT(lock.expires_at(), time_point{});
  }
  EXPECT_FALSE(lock.valid());
  EXPECT_EQ(code_of([&] { lock.check(); }), errc::not_held);
}

TEST_P(standing, it_is_valid_from_the_lock_to_the_unlock) {
  play([this] {
    const client locks = stage().connect();
    mutex plain{locks, "mutex"};
    expect_standing(plain);
    recursive_mutex again{locks, "recursive"};
    expect_standing(again);
    if (!stage().traits().shared) return;
    shared_mutex shared{locks, "shared"};
    expect_standing(shared);
    {
      const std::shared_lock guard{shared};
      EXPECT_TRUE(shared.valid());
      EXPECT_GT(shared.expires_at(), stage().now());
    }
    EXPECT_FALSE(shared.valid());
  });
}

TEST_P(standing, the_deadline_moves_with_the_renewals) {
  play([this] {
    const client locks = short_lived();
    mutex lock{locks, "name"};
    const std::scoped_lock guard{lock};
    const time_point first = lock.expires_at();
    EXPECT_TRUE(eventually([&] { return lock.expires_at() > first; }));
    EXPECT_TRUE(lock.valid());
  });
}

TEST_P(standing, what_was_broken_is_lost) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex plain{locks, "mutex"};
    recursive_mutex again{locks, "recursive"};
    plain.lock();
    again.lock();
    for (const char* name : {"mutex", "recursive"}) {
      EXPECT_TRUE(others.break_lock(name, others.look(name).holders.at(0).owner));
    }
    EXPECT_TRUE(eventually([&] { return !plain.valid() && !again.valid(); }));
    EXPECT_EQ(code_of([&] { plain.check(); }), errc::lost);
    EXPECT_EQ(code_of([&] { again.check(); }), errc::lost);
    plain.unlock();
    again.unlock();
    EXPECT_EQ(code_of([&] { plain.check(); }), errc::not_held);
    EXPECT_EQ(code_of([&] { again.check(); }), errc::not_held);
  });
}

TEST_P(standing, another_thread_hears_of_the_mutexes_hold_but_not_of_a_recursive_one) {
  play([this] {
    const client locks = stage().connect();
    mutex plain{locks, "mutex"};
    recursive_mutex again{locks, "recursive"};
    const std::scoped_lock both{plain, again};
    thread_group threads{stage().clock()};
    threads.start([&] {
      EXPECT_TRUE(plain.valid());
      EXPECT_FALSE(again.valid());
      EXPECT_EQ(code_of([&] { again.check(); }), errc::not_held);
    });
  });
}

TEST_P(standing, a_closed_client_has_lost_it) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    lock.lock();
    locks.close();
    EXPECT_FALSE(lock.valid());
    EXPECT_EQ(code_of([&] { lock.check(); }), errc::lost);
    lock.unlock();
  });
}

}  // namespace
}  // namespace crosslock::conformance
