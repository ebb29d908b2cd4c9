// hold::extend: more time by the server's word, on leases that are fixed and on those renewed.
#include "conformance/fixture.hpp"

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class extending : public conformance_case {
 protected:
  /// How far behind `now` the deadline of a lease lies at least.
  static duration most_of(duration lease) { return lease - lease / 10; }
};
CONFORMANCE_ON_EVERY_STAGE(extending);

TEST_P(extending, a_fixed_lease_ends_later) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex theirs{others, "name"};
    auto held = lock.try_acquire({.lease = lease()});
    ASSERT_TRUE(held);
    const fence token = held->fence();
    const time_point first = held->expires_at();
    for (int i = 0; i < 4; ++i) {
      stage().sleep(lease() / 2);
      const time_point before = stage().now();
      const time_point end = held->extend(lease());
      EXPECT_EQ(end, held->expires_at());
      EXPECT_GE(end, before + most_of(lease()));
    }
    EXPECT_GT(stage().now(), first);  // it would have ended long ago
    EXPECT_NO_THROW(held->check());
    EXPECT_EQ(held->fence(), token);
    EXPECT_FALSE(theirs.try_lock());
    // It is still fixed: nobody renews it.
    EXPECT_TRUE(eventually([&] { return held->lost().stop_requested(); }));
    EXPECT_EQ(held->lost_reason(), loss_reason::lease_ended);
    EXPECT_EQ(code_of([&] { held->extend(lease()); }), errc::lost);
    EXPECT_TRUE(eventually([&] { return theirs.try_lock(); }));
    theirs.unlock();
  });
}

TEST_P(extending, it_never_shortens) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    auto held = lock.try_acquire({.lease = 10 * lease()});
    ASSERT_TRUE(held);
    const time_point first = held->expires_at();
    EXPECT_GE(held->extend(10ms), first);
    stage().sleep(lease());
    EXPECT_TRUE(held->valid());
  });
}

TEST_P(extending, what_was_asked_for_once_is_not_given_again) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    auto held = lock.try_acquire({.lease = lease()});
    ASSERT_TRUE(held);
    held->extend(10 * lease());
    const auto left = [&] { return locks.look("name").holders.at(0).lease_left; };
    const duration first = left();
    stage().sleep(lease() / 2);
    held->extend(lease());
    // By a session's word every hold has all of it.
    if (!stage().traits().lease_is_session) {
      EXPECT_LT(left(), first - lease() / 4);
    }
  });
}

TEST_P(extending, one_that_is_renewed_goes_on_being_renewed) {
  play([this] {
    const client locks = short_lived();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex theirs{others, "name"};
    auto held = lock.acquire();
    const time_point before = stage().now();
    const bool session = stage().traits().lease_is_session;
    const time_point end = held.extend(session ? lease() : 2 * lease());
    if (!session) {
      EXPECT_GE(end, before + most_of(2 * lease()));
    }
    stage().sleep(4 * lease());
    EXPECT_NO_THROW(held.check());
    EXPECT_GT(held.expires_at(), end);
    EXPECT_GT(held.extend(), stage().now());  // by the client's own
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_TRUE(theirs.try_lock());
    theirs.unlock();
  });
}

TEST_P(extending, readers_and_permits_are_extended_too) {
  play([this] {
    const client locks = stage().connect();
    if (stage().traits().shared) {
      shared_mutex lock{locks, "shared"};
      auto held = lock.try_acquire_shared({.lease = lease()});
      ASSERT_TRUE(held);
      EXPECT_GE(held->extend(4 * lease()), stage().now() + lease());
    }
    if (stage().traits().permits) {
      semaphore lock{locks, "permits", 3};
      auto held = lock.try_acquire(2, {.lease = lease()});
      ASSERT_TRUE(held);
      EXPECT_GE(held->extend(4 * lease()), stage().now() + lease());
    }
  });
}

TEST_P(extending, what_is_not_held_cannot_be_extended) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    EXPECT_EQ(code_of([&] { held.extend(0s); }), errc::invalid_lease);
    EXPECT_EQ(code_of([&] { held.extend(1000h); }), errc::invalid_lease);
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(others.break_lock("name", held.owner()));
    EXPECT_TRUE(eventually([&] { return code_of([&] { held.extend(); }) == errc::lost; }));
    held.release();
    EXPECT_EQ(code_of([&] { held.extend(); }), errc::not_held);
    auto moved = lock.acquire();
    const hold elsewhere = std::move(moved);
    EXPECT_EQ(code_of([&] { moved.extend(); }), errc::not_held);  // NOLINT
  });
}

TEST_P(extending, an_extension_without_an_answer_changes_nothing_and_leaves_nothing) {
  play({ability::server_faults}, [this] {
    if (stage().traits().lease_is_session) return;  // its heartbeat asks, and nobody else
    options how;
    how.timeout = lease() / 4;
    const client locks = stage().connect(how);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex theirs{others, "name"};
    auto held = lock.try_acquire({.lease = lease()});
    ASSERT_TRUE(held);
    const time_point first = held->expires_at();
    stage().lose_next_answer(observer::verb::renew);
    EXPECT_NE(code_of([&] { held->extend(1h); }), errc{});
    EXPECT_EQ(held->expires_at(), first);
    // The server may have given the hour: it is given back when the hold ends here.
    EXPECT_TRUE(eventually([&] { return held->lost().stop_requested(); }));
    EXPECT_TRUE(eventually([&] { return theirs.try_lock(); }));
    theirs.unlock();
  });
}

}  // namespace
}  // namespace crosslock::conformance
