// A thread that would wait for itself is told so; one that may be let in by somebody else waits.
#include "conformance/fixture.hpp"

#include <mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class self_waiting : public conformance_case {
 protected:
  /// In the common line of a name, and where every acquire has a line of its own.
  template <class Body>
  void on_both_ways(const Body& body) {
    for (const bool strict : {false, true}) {
      options how;
      how.strict_fifo = strict;
      body(stage().connect(how));
    }
  }
};
CONFORMANCE_ON_EVERY_STAGE(self_waiting);

TEST_P(self_waiting, a_run_within_a_run_of_one_name_is_refused) {
  play([this] {
    on_both_ways([](const client& locks) {
      locks.run("name", [&] {
        EXPECT_EQ(code_of([&] { locks.run("name", [] {}); }), errc::would_deadlock);
        EXPECT_FALSE(locks.try_run("name", [] {}));
        EXPECT_NO_THROW(locks.run("another", [] {}));
      });
      EXPECT_TRUE(locks.try_run("name", [&] {
        EXPECT_EQ(code_of([&] { locks.run("name", [] {}); }), errc::would_deadlock);
      }));
      EXPECT_NO_THROW(locks.run("name", [] {}));
    });
  });
}

TEST_P(self_waiting, what_lock_has_taken_is_not_waited_for_without_end) {
  play([this] {
    on_both_ways([this](const client& locks) {
      mutex one{locks, "name"};
      mutex two{locks, "name"};
      recursive_mutex again{locks, "name"};
      multi_lock several{locks, {"another", "name"}};
      const auto refuse_all = [&] {
        EXPECT_EQ(code_of([&] { (void)one.acquire(); }), errc::would_deadlock);
        EXPECT_EQ(code_of([&] { (void)two.acquire({.lease = lease()}); }), errc::would_deadlock);
        EXPECT_EQ(code_of([&] { (void)several.acquire(); }), errc::would_deadlock);
        EXPECT_EQ(code_of([&] { locks.run("name", [] {}); }), errc::would_deadlock);
        if (!stage().traits().shared) return;
        shared_mutex shared{locks, "name"};
        EXPECT_EQ(code_of([&] { shared.lock_shared(); }), errc::would_deadlock);
        EXPECT_EQ(code_of([&] { (void)shared.acquire_shared(); }), errc::would_deadlock);
      };
      {
        const std::scoped_lock guard{one};
        refuse_all();
        EXPECT_EQ(code_of([&] { two.lock(); }), errc::would_deadlock);
        EXPECT_EQ(code_of([&] { again.lock(); }), errc::would_deadlock);
        EXPECT_EQ(code_of([&] { several.lock(); }), errc::would_deadlock);
      }
      {
        const std::scoped_lock guard{again};
        again.lock();  // its own thread may
        again.unlock();
        refuse_all();
      }
      {
        const std::scoped_lock guard{several};
        refuse_all();
      }
      EXPECT_TRUE(two.acquire().valid());
    });
  });
}

TEST_P(self_waiting, a_wait_that_can_end_just_waits) {
  play([this] {
    on_both_ways([](const client& locks) {
      mutex one{locks, "name"};
      mutex two{locks, "name"};
      const std::scoped_lock guard{one};
      EXPECT_FALSE(two.try_lock());
      EXPECT_FALSE(two.try_lock_for(10ms));
      EXPECT_FALSE(two.try_acquire_for(10ms));
      std::stop_source stop;
      stop.request_stop();
      EXPECT_FALSE(two.acquire(stop.get_token()));
    });
  });
}

TEST_P(self_waiting, a_hold_from_acquire_belongs_to_no_thread) {
  play([this] {
    const client locks = stage().connect();
    mutex one{locks, "name"};
    mutex two{locks, "name"};
    auto held = one.acquire();
    thread_group threads{stage().clock()};
    threads.start([&, elsewhere = std::make_shared<hold>(std::move(held))] {
      stage().sleep(20ms);
      elsewhere->release();
    });
    EXPECT_TRUE(two.acquire().valid());
    // Nor does one that the function has given away, once that is over.
    std::optional<hold> given;
    locks.run("name", [&](hold& mine) { given.emplace(std::move(mine)); });
    threads.start([&] {
      stage().sleep(20ms);
      given->release();
    });
    EXPECT_TRUE(two.acquire().valid());
  });
}

TEST_P(self_waiting, others_wait_for_it_as_ever) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex one{locks, "name"};
    mutex two{locks, "name"};
    mutex theirs{others, "name"};
    one.lock();
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(two.acquire().valid()); });
    threads.start([&] { EXPECT_TRUE(theirs.acquire().valid()); });
    EXPECT_TRUE(line_reaches(others, "name", 1));
    one.unlock();
  });
}

TEST_P(self_waiting, after_a_loss_the_thread_may_wait) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex one{locks, "name"};
    mutex two{locks, "name"};
    one.lock();
    EXPECT_TRUE(others.break_lock("name", others.look("name").holders.at(0).owner));
    EXPECT_TRUE(eventually([&] { return one.lost().stop_requested(); }));
    EXPECT_TRUE(two.acquire().valid());
    one.unlock();
  });
}

TEST_P(self_waiting, permits_are_never_ones_own) {
  play([this] {
    if (!stage().traits().permits) return;
    const client locks = stage().connect();
    semaphore permits{locks, "name", 2};
    auto first = permits.acquire(2);
    thread_group threads{stage().clock()};
    threads.start([&] {
      stage().sleep(20ms);
      first.release();
    });
    EXPECT_TRUE(permits.acquire(2).valid());
  });
}

}  // namespace
}  // namespace crosslock::conformance
