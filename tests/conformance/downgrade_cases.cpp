// From exclusive to shared, without a gap.
#include "conformance/fixture.hpp"

#include <atomic>
#include <shared_mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class downgrading : public conformance_case {
 protected:
  bool unsupported() { return !stage().traits().shared; }
};
CONFORMANCE_ON_EVERY_STAGE(downgrading);

TEST_P(downgrading, it_keeps_the_fence_and_lets_waiting_readers_in_at_once) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto held = lock.acquire();
    const fence token = held.fence();
    std::atomic<int> in{0};
    std::atomic<bool> go{false};
    thread_group threads{stage().clock()};
    for (shared_mutex* each : {&lock, &theirs}) {
      threads.start([&, each] {
        const hold mine = each->acquire_shared();
        EXPECT_GT(mine.fence(), token);
        ++in;
        EXPECT_TRUE(eventually([&] { return go.load(); }));
      });
    }
    EXPECT_TRUE(line_reaches(others, "name", 1));  // theirs; ours waits here or there
    EXPECT_EQ(in, 0);
    const time_point called = stage().now();
    lock.downgrade(held);
    EXPECT_TRUE(eventually([&] { return in == 2; }));
    EXPECT_LE(stage().now() - called, stage().bounds().wake_up);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.mode(), claim_mode::shared);
    EXPECT_EQ(held.fence(), token);
    EXPECT_FALSE(theirs.try_acquire());
    go = true;
    threads.join();
    EXPECT_FALSE(theirs.try_acquire());  // it still reads
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_GT(theirs.acquire().fence(), token);
  });
}

TEST_P(downgrading, a_waiting_writer_never_gets_in_between) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    for (int round = 0; round < 20; ++round) {
      const bool of_own_client = round % 2 == 1;
      auto held = lock.acquire();
      const fence token = held.fence();
      std::atomic<bool> in{false};
      thread_group threads{stage().clock()};
      threads.start([&] {
        const hold writer = (of_own_client ? lock : theirs).acquire();
        in = true;
        EXPECT_GT(writer.fence(), token);
      });
      if (!of_own_client) {
        EXPECT_TRUE(line_reaches(others, "name", 1));
      }
      lock.downgrade(held);
      // Readers that come after the writer stand behind it as before.
      if (!of_own_client) {
        EXPECT_FALSE(theirs.try_acquire_shared());
        EXPECT_FALSE(lock.try_acquire_shared());
      }
      stage().sleep(2ms);
      EXPECT_FALSE(in);
      EXPECT_TRUE(held.valid());
      held.release();
      threads.join();
    }
  });
}

TEST_P(downgrading, readers_before_a_waiting_writer_get_in_and_those_behind_it_do_not) {
  play([this] {
    if (unsupported()) return;
    const client locks[] = {stage().connect(), stage().connect(), stage().connect(),
                            stage().connect()};
    shared_mutex lock{locks[0], "name"};
    shared_mutex before{locks[1], "name"};
    shared_mutex writer{locks[2], "name"};
    shared_mutex behind{locks[3], "name"};
    auto held = lock.acquire();
    std::atomic<bool> in_before{false};
    fence of_writer;
    fence of_behind;
    thread_group threads{stage().clock()};
    threads.start([&] {
      const hold mine = before.acquire_shared();
      in_before = true;
    });
    EXPECT_TRUE(line_reaches(locks[0], "name", 1));
    threads.start([&] { of_writer = writer.acquire().fence(); });
    EXPECT_TRUE(line_reaches(locks[0], "name", 2));
    threads.start([&] { of_behind = behind.acquire_shared().fence(); });
    EXPECT_TRUE(line_reaches(locks[0], "name", 3));
    lock.downgrade(held);
    EXPECT_TRUE(eventually([&] { return in_before.load(); }));
    EXPECT_TRUE(line_reaches(locks[0], "name", 2));
    held.release();
    threads.join();
    if (stage().traits().first_come) {
      EXPECT_GT(of_behind, of_writer);
    }
  });
}

TEST_P(downgrading, the_hold_of_a_plain_mutex_may_be_downgraded_too) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    mutex plain{locks, "name"};
    shared_mutex lock{locks, "name"};
    auto held = plain.acquire();
    lock.downgrade(held);
    EXPECT_EQ(held.mode(), claim_mode::shared);
    EXPECT_TRUE(lock.try_acquire_shared());
    EXPECT_FALSE(plain.try_lock());
    EXPECT_EQ(code_of([&] { lock.downgrade(held); }), errc::conflict);  // it is shared already
    EXPECT_TRUE(held.valid());
  });
}

TEST_P(downgrading, a_passed_hold_keeps_the_fence_of_the_pass) {
  play([this] {
    if (unsupported()) return;
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    for (int tries = 0; heard->grants_by(acquire_cause::passed) == 0; ++tries) {
      ASSERT_LT(tries, 1000);
      auto first = lock.acquire();
      thread_group threads{stage().clock()};
      threads.start([&] {
        auto second = lock.acquire();
        const fence token = second.fence();
        EXPECT_GT(token, first.fence());
        lock.downgrade(second);
        EXPECT_EQ(second.fence(), token);
        const auto beside = theirs.try_acquire_shared_for(20s);
        ASSERT_TRUE(beside);
        EXPECT_GT(beside->fence(), token);
        EXPECT_TRUE(second.valid());
      });
      stage().sleep(1ms);  // until it has most likely queued; else once more
      first.release();
    }
  });
}

TEST_P(downgrading, one_whose_answer_was_lost_is_carried_out_by_the_next_renewal) {
  play({ability::server_faults, ability::timely}, [this] {
    if (unsupported()) return;
    const client locks = steady();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto held = lock.acquire();
    const fence token = held.fence();
    stage().lose_next_answer(observer::verb::renew);
    lock.downgrade(held);
    EXPECT_EQ(held.mode(), claim_mode::shared);
    EXPECT_EQ(held.fence(), token);
    EXPECT_TRUE(theirs.try_acquire_shared_for(20s));
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(theirs.try_acquire());
  });
}

TEST_P(downgrading, a_receipt_of_it_is_one_of_a_reader) {
  play([this] {
    if (unsupported() || !stage().traits().outlives_process) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto held = lock.acquire();
    const fence token = held.fence();
    lock.downgrade(held);
    const receipt given = held.detach();
    EXPECT_TRUE(theirs.try_acquire_shared());
    auto adopted = others.adopt(given);
    EXPECT_EQ(adopted.fence(), token);
    EXPECT_TRUE(lock.try_acquire_shared());
    EXPECT_FALSE(lock.try_acquire());
    // What was taken up may change again.
    theirs.upgrade(adopted);
    EXPECT_EQ(adopted.mode(), claim_mode::exclusive);
    EXPECT_GT(adopted.fence(), token);
    EXPECT_FALSE(lock.try_acquire_shared());
    EXPECT_EQ(adopted.release(), release_result::released);
    EXPECT_TRUE(lock.try_acquire_for(20s));  // the shared grant is given back in the background
  });
}

TEST_P(downgrading, a_fixed_lease_stays_as_it_is_and_hurts_no_other_hold) {
  play([this] {
    if (unsupported()) return;
    const client locks = short_lived();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    mutex beside{locks, "other"};
    const hold renewed = beside.acquire();
    auto held = lock.acquire({.lease = 3 * lease()});
    const time_point end = held.expires_at();
    lock.downgrade(held);
    EXPECT_EQ(held.expires_at(), end);
    EXPECT_TRUE(theirs.try_acquire_shared_for(2 * lease()));
    stage().sleep(2 * lease());
    EXPECT_TRUE(renewed.valid()) << "it was renewed meanwhile";
    EXPECT_TRUE(theirs.try_acquire_for(20s)) << "the fixed lease has come to its end";
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.lost_reason(), loss_reason::lease_ended);
  });
}

TEST_P(downgrading, after_an_upgrade_and_its_release_the_name_is_free_at_once) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    for (int i = 0; i < 20; ++i) {
      auto held = lock.acquire_shared();
      lock.upgrade(held);
      if (i % 2 == 0) {
        lock.downgrade(held);
        EXPECT_TRUE(lock.try_upgrade(held)) << "nobody else is there";
      }
      EXPECT_EQ(held.release(), release_result::released);
      EXPECT_TRUE(theirs.try_acquire());
    }
  });
}

TEST_P(downgrading, a_receipt_never_makes_more_of_a_hold_than_it_is) {
  play([this] {
    if (unsupported() || !stage().traits().outlives_process) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    const hold reader = theirs.acquire_shared();
    receipt given = lock.acquire_shared().detach();
    EXPECT_EQ(given.mode, claim_mode::shared);
    given.mode = claim_mode::exclusive;
    EXPECT_EQ(code_of([&] { static_cast<void>(locks.adopt(given)); }), errc::lost);
    given.mode = claim_mode::shared;
    const hold again = locks.adopt(given);
    EXPECT_EQ(again.mode(), claim_mode::shared);
    EXPECT_EQ(again.fence(), given.fence);
  });
}

}  // namespace
}  // namespace crosslock::conformance
