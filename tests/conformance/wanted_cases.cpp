// hold::wanted: a holder learns that somebody waits, here or elsewhere.
#include "conformance/fixture.hpp"

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class wanting : public conformance_case {
 protected:
  /// Whether a holder hears of waiters of other clients.
  bool told_of_others(claim_mode mode) {
    const seam::traits& engine = stage().traits();
    return engine.tells_wanted || (engine.tells_when_asked && mode == claim_mode::exclusive);
  }
  bool requested(const std::stop_token& token) {
    return eventually([&] { return token.stop_requested(); });
  }
};
CONFORMANCE_ON_EVERY_STAGE(wanting);

TEST_P(wanting, a_waiter_of_another_client_is_told_once_it_waits) {
  play([this] {
    if (!told_of_others(claim_mode::exclusive)) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex theirs{others, "name"};
    auto held = lock.acquire();
    const std::stop_token wanted = held.wanted();
    EXPECT_EQ(wanted, held.wanted());
    EXPECT_FALSE(wanted.stop_requested());
    EXPECT_FALSE(theirs.try_acquire());
    if (stage().traits().tells_wanted) {
      stage().sleep(20ms);
      EXPECT_FALSE(wanted.stop_requested());  // who does not wait is not told
    }
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(theirs.acquire().valid()); });
    EXPECT_TRUE(requested(wanted));
    EXPECT_TRUE(held.valid());  // it may leave, and need not
    EXPECT_FALSE(held.lost().stop_requested());
    held.release();
  });
}

TEST_P(wanting, one_that_waits_already_is_told_at_once_or_soon) {
  play([this] {
    if (!told_of_others(claim_mode::exclusive)) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex theirs{others, "name"};
    auto held = lock.acquire();
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(theirs.acquire().valid()); });
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    EXPECT_TRUE(requested(held.wanted()));
    held.release();
  });
}

TEST_P(wanting, a_thread_of_the_same_client_is_told_too) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    const std::stop_token wanted = held.wanted();
    std::atomic<bool> called{false};
    const std::stop_callback listening{wanted, [&called] { called = true; }};
    std::optional<hold> second;
    thread_group threads{stage().clock()};
    threads.start([&] { second = lock.acquire(); });
    EXPECT_TRUE(requested(wanted));
    EXPECT_TRUE(eventually([&] { return called.load(); }));
    held.release();
    threads.join();
    EXPECT_FALSE(second->wanted().stop_requested());  // nobody waits for that one
  });
}

TEST_P(wanting, readers_and_holders_of_permits_hear_of_it) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const bool far = told_of_others(claim_mode::shared);
    if (stage().traits().shared) {
      shared_mutex lock{locks, "shared"};
      shared_mutex theirs{far ? others : locks, "shared"};
      auto one = lock.acquire_shared();
      auto two = lock.acquire_shared();
      const auto first = one.wanted();
      const auto second = two.wanted();
      EXPECT_FALSE(first.stop_requested() || second.stop_requested());
      thread_group threads{stage().clock()};
      threads.start([&] { EXPECT_TRUE(theirs.acquire().valid()); });
      EXPECT_TRUE(requested(first));
      EXPECT_TRUE(requested(second));
      one.release();
      two.release();
    }
    if (stage().traits().permits) {
      semaphore lock{locks, "permits", 2};
      semaphore theirs{far ? others : locks, "permits", 2};
      auto held = lock.acquire(2);
      const auto wanted = held.wanted();
      thread_group threads{stage().clock()};
      threads.start([&] { EXPECT_TRUE(theirs.acquire().valid()); });
      EXPECT_TRUE(requested(wanted));
      held.release();
    }
  });
}

TEST_P(wanting, it_goes_on_over_an_upgrade_which_does_not_want_itself) {
  play([this] {
    if (!stage().traits().shared) return;
    const client locks = stage().connect();
    shared_mutex lock{locks, "name"};
    auto held = lock.acquire_shared();
    const auto wanted = held.wanted();
    lock.upgrade(held);
    EXPECT_FALSE(wanted.stop_requested());
    EXPECT_EQ(wanted, held.wanted());
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(lock.acquire_shared().valid()); });
    EXPECT_TRUE(requested(wanted));
    held.release();
  });
}

TEST_P(wanting, what_has_ended_is_wanted_by_nobody) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    const auto wanted = held.wanted();
    held.release();
    EXPECT_FALSE(held.wanted().stop_requested());
    auto moved = lock.acquire();
    const hold elsewhere = std::move(moved);
    EXPECT_FALSE(moved.wanted().stop_possible());  // NOLINT(bugprone-use-after-move)
    EXPECT_FALSE(wanted.stop_requested());
  });
}

}  // namespace
}  // namespace crosslock::conformance
