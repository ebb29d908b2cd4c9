// How long a hold lasts: fixed, renewed, capped.
#include "conformance/fixture.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;
using renew_result = observer::renew_result;

CONFORMANCE_SUITE(lease);

TEST_P(lease, a_fixed_lease_simply_ends) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex next{others, "name"};
    const time_point before = stage().now();
    const auto held = acquire(of(stage()), lock, 1s, {.lease = conformance_case::lease()});
    ASSERT_TRUE(held);
    EXPECT_LT(held->held().expires_at(), before + conformance_case::lease());
    thread_group threads{stage().clock()};
    threads.start([&] {
      const auto second = acquire(of(stage()), next, 20s, {}, 1);
      EXPECT_TRUE(second);
      const duration took = stage().now() - before;
      // Within a session it is the holder that ends it, a little before.
      const bool session = stage().traits().lease_is_session;
      EXPECT_GE(took, conformance_case::lease() * (session ? 97 : 100) / 100);
      EXPECT_LE(took, conformance_case::lease() + stage().bounds().after_lease);
    });
    EXPECT_FALSE(held->work(20s));
    EXPECT_EQ(held->held().lost_reason(), loss_reason::lease_ended);
    EXPECT_FALSE(held->held().valid());
    EXPECT_EQ(held->release(), release_result::lost);
    threads.join();
    EXPECT_TRUE(heard->renewals().empty());
    judge();
  });
}

TEST_P(lease, by_default_it_is_thirty_seconds_renewed_every_ten) {
  play({ability::long_times}, [this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    mutex lock{locks, "name"};
    const time_point before = stage().now();
    const hold held = lock.acquire();
    if (const seam::traits& about = stage().traits(); about.lease_is_session) {
      EXPECT_EQ(locks.lease(), about.session);
      EXPECT_LE(held.expires_at(), stage().now() + about.session);
      stage().sleep(2 * about.session);
      EXPECT_TRUE(held.valid());
      return;
    }
    EXPECT_EQ(locks.lease(), 30s);
    EXPECT_LE(held.expires_at(), before + 30s);
    EXPECT_GE(held.expires_at(), before + 29s);
    const duration slack = std::max<duration>(100ms, stage().strictness().loss_slack);
    // Beyond the end of the lease that it was granted with.
    constexpr std::size_t thirds = 4;
    for (std::size_t third = 1; third <= thirds; ++third) {
      stage().sleep(before + third * 10s - slack - stage().now());
      EXPECT_EQ(heard->renewals().size(), third - 1);
      stage().sleep(2 * slack);
      EXPECT_EQ(heard->renewals().size(), third);
    }
    EXPECT_EQ(heard->renewals(), std::vector(thirds, renew_result::renewed));
    EXPECT_TRUE(held.valid());
  });
}

TEST_P(lease, renewing_ends_when_the_lock_is_found_gone) {
  play({ability::long_times, ability::server_faults}, [this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    stage().drop_wake_ups(true);  // the holder is not told that it was broken
    EXPECT_TRUE(others.break_lock("name", held.owner()));
    if (stage().traits().lease_is_session) {
      // A session is renewed as a whole. Each hold looks once whether it is still there, and is
      // told from then on.
      EXPECT_TRUE(eventually([&] { return !held.valid(); }, stage().traits().session));
      // The hold knows before anybody is called.
      EXPECT_TRUE(eventually([&] { return !heard->losses().empty(); }));
      EXPECT_EQ(heard->losses(), (std::vector{loss_reason::broken}));
      EXPECT_EQ(held.release(), release_result::lost);
      stage().drop_wake_ups(false);
      return;
    }
    stage().sleep(9s);
    EXPECT_TRUE(held.valid());
    stage().sleep(2s);
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.lost_reason(), loss_reason::gone);
    stage().sleep(21s);  // two more would be due
    EXPECT_EQ(heard->renewals(), (std::vector{renew_result::lost}));
    EXPECT_EQ(heard->losses(), (std::vector{loss_reason::gone}));
    EXPECT_EQ(held.release(), release_result::lost);
    stage().drop_wake_ups(false);
  });
}

TEST_P(lease, a_renewed_hold_outlives_several_leases) {
  play({ability::timely}, [this] {
    const auto heard = std::make_shared<listener>();
    const client locks = steady(heard);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex other{others, "name"};
    const auto held = acquire(of(stage()), lock, 1s);
    ASSERT_TRUE(held);
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(held->work(steady_lease()));
      EXPECT_FALSE(other.try_lock());
      held->held().check();
    }
    EXPECT_GE(heard->renewals().size(), 8U);
    EXPECT_EQ(held->release(), release_result::released);
    EXPECT_TRUE(heard->losses().empty());
    judge();
  });
}

TEST_P(lease, a_handed_over_hold_gets_its_whole_lease) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex next{others, "name"};
    for (const bool fixed : {false, true}) {
      const duration wanted = fixed ? duration{20s} : others.lease();
      auto first = lock.acquire();
      thread_group threads{stage().clock()};
      threads.start([&] {
        const auto second = fixed ? next.try_acquire_for(20s, wanted) : next.try_acquire_for(20s);
        ASSERT_TRUE(second);
        // An offer is short; the first renewal, off the caller's path, makes it a full one.
        const time_point enough = stage().now() + wanted - wanted / 20;
        EXPECT_TRUE(eventually([&] { return second->expires_at() >= enough; }));
        EXPECT_LE(second->expires_at(), stage().now() + wanted);
      });
      EXPECT_TRUE(line_reaches(locks, "name", 1));
      first.release();
      threads.join();
    }
  });
}

TEST_P(lease, a_release_at_the_end_of_max_hold_leaves_nothing_behind) {
  play([this] {
    options how;
    how.lease = steady_lease();
    how.max_hold = 20ms;
    const client locks = stage().connect(how);
    const client others = stage().connect();
    for (int round = 0; round < 20; ++round) {
      // The hold is all there is of this line: once released, nobody is left to hear of a loss.
      auto held = std::make_optional(mutex{locks, "name"}.acquire());
      stage().sleep(*how.max_hold - 1ms + round * 100us);
      held->release();
      held.reset();
      mutex next{others, "name"};
      const time_point asked = stage().now();
      EXPECT_TRUE(next.try_acquire_for(20s));
      EXPECT_LE(stage().now() - asked, steady_lease() / 2) << round;
    }
  });
}

TEST_P(lease, the_longest_hold_ends_at_max_hold) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    options how;
    how.max_hold = 3 * conformance_case::lease() / 2;
    const client locks = heard_by(heard, how);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex next{others, "name"};
    const time_point before = stage().now();
    const hold held = lock.acquire();
    const auto second = next.try_acquire_for(20s);
    ASSERT_TRUE(second);
    EXPECT_GE(stage().now() - before, *how.max_hold);
    EXPECT_LE(stage().now() - before, *how.max_hold + stage().bounds().after_lease);
    EXPECT_EQ(held.lost_reason(), loss_reason::max_hold);
    EXPECT_FALSE(held.valid());
    EXPECT_GT(second->fence(), held.fence());
  });
}

TEST_P(lease, a_lease_out_of_range_is_refused_before_anything_is_sent) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    const std::uint64_t before = stage().requests();
    const seam::traits& about = stage().traits();
    for (const duration bad : {duration::zero(), duration{-1}, about.lease_min - 1ns,
                               about.lease_max + 1ns, duration::max(), duration::min()}) {
      EXPECT_EQ(code_of([&] { (void)lock.try_acquire({.lease = bad}); }), errc::invalid_lease);
      EXPECT_EQ(code_of([&] { (void)lock.try_acquire_for(0s, bad); }), errc::invalid_lease);
    }
    const std::chrono::duration<double> nothing{std::numeric_limits<double>::quiet_NaN()};
    EXPECT_EQ(code_of([&] { (void)lock.try_acquire_for(0s, nothing); }), errc::invalid_lease);
    EXPECT_EQ(stage().requests(), before);
    for (const duration bad : {duration::zero(), duration{-1}, about.lease_max + 1ns}) {
      options how;
      how.lease = bad;
      EXPECT_EQ(code_of([&] { (void)stage().connect(how); }), errc::invalid_lease);
    }
  });
}

TEST_P(lease, the_deadline_counts_from_before_the_request_was_sent) {
  play({ability::server_faults}, [this] {
    const client locks = steady();
    const duration whole = steady_lease();
    mutex lock{locks, "name"};
    stage().delay_next_request(observer::verb::ask, whole / 2);
    const time_point asked = stage().now();
    const hold held = lock.acquire();
    EXPECT_TRUE(held.valid());
    if (stage().traits().lease_is_session) {
      // The session is older than the request, and was proven alive by others meanwhile.
      EXPECT_LT(held.expires_at(), stage().now() + whole);
      return;
    }
    EXPECT_GE(stage().now() - asked, whole / 2);
    EXPECT_LT(held.expires_at(), asked + whole);
    // The next renewal goes out at once, a third of the lease having passed, and arrives late.
    stage().sleep(whole / 10);
    stage().delay_next_request(observer::verb::renew, whole / 10);
    const time_point before = held.expires_at();
    EXPECT_TRUE(eventually([&] { return held.expires_at() != before; }));
    EXPECT_LT(held.expires_at(), stage().now() - whole / 10 + whole);
  });
}

TEST_P(lease, an_answer_later_than_the_lease_is_no_grant) {  // F27
  play({ability::server_faults}, [this] {
    options how;
    how.lease = steady_lease();
    how.timeout = 20s;
    const client locks = stage().connect(how);
    const client viewer = stage().connect();
    const duration whole = steady_lease();
    mutex lock{locks, "name"};
    for (const int percent : {90, 98, 99, 100, 101, 110, 120}) {
      stage().delay_next_request(observer::verb::ask, percent * whole / 100);
      auto held = lock.acquire();
      EXPECT_TRUE(held.valid()) << percent;
      EXPECT_GT(held.expires_at(), stage().now()) << percent;
      EXPECT_EQ(held.release(), release_result::released);
      EXPECT_TRUE(eventually([&] { return viewer.list().empty(); }, whole / 2)) << percent;
    }
  });
}

TEST_P(lease, an_outage_shorter_than_the_lease_is_survived) {
  play({ability::server_faults}, [this] {
    const auto heard = std::make_shared<listener>();
    const client locks = steady(heard);
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    for (int i = 0; i < 5; ++i) {
      stage().restart_server();
      stage().sleep(steady_lease() / 2);
      EXPECT_TRUE(held.valid());
    }
    EXPECT_TRUE(heard->losses().empty());
    EXPECT_EQ(held.release(), release_result::released);
  });
}

TEST_P(lease, a_renewal_whose_answer_was_lost_is_made_again) {
  play({ability::server_faults}, [this] {
    const auto heard = std::make_shared<listener>();
    const client locks = steady(heard);
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    for (int i = 0; i < 4; ++i) {
      stage().lose_next_answer(observer::verb::renew);
      stage().sleep(steady_lease());
      EXPECT_TRUE(held.valid());
    }
    EXPECT_TRUE(heard->losses().empty());
    EXPECT_EQ(held.release(), release_result::released);
  });
}

}  // namespace
}  // namespace crosslock::conformance
