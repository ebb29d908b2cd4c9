// Holds that change: from exclusive to shared without a gap, and from shared to exclusive without a
// deadlock.
#include "conformance/fixture.hpp"

#include <atomic>
#include <mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class upgrading : public conformance_case {
 protected:
  bool unsupported() { return !stage().traits().shared; }

  /// Holds, and makes known that it does, until told to let go.
  struct reader {
    std::atomic<bool> in{false};
    std::atomic<bool> go{false};
  };
  void stay(shared_mutex& lock, reader& me) {
    const hold mine = lock.acquire_shared();
    me.in = true;
    EXPECT_TRUE(eventually([&] { return me.go.load(); }, 60s));
  }

  /// A shared hold that is as good as it ever was.
  static void expect_shared(const hold& held, fence token) {
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.mode(), claim_mode::shared);
    EXPECT_EQ(held.fence(), token);
  }
};
CONFORMANCE_ON_EVERY_STAGE(upgrading);

TEST_P(upgrading, a_lone_reader_becomes_a_writer_at_once_with_a_new_fence) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    mutex plain{others, "name"};
    for (const int form : {0, 1, 2}) {
      auto held = lock.acquire_shared();
      const fence before = held.fence();
      if (form == 0) lock.upgrade(held);
      if (form == 1) {
        EXPECT_TRUE(lock.try_upgrade(held));
      }
      if (form == 2) {
        EXPECT_TRUE(lock.try_upgrade_for(held, 20s));
      }
      EXPECT_TRUE(held.valid());
      EXPECT_EQ(held.mode(), claim_mode::exclusive);
      EXPECT_GT(held.fence(), before);
      EXPECT_EQ(code_of([&] { lock.upgrade(held); }), errc::conflict);  // it is exclusive already
      for (shared_mutex* each : {&lock, &theirs}) EXPECT_FALSE(each->try_acquire_shared());
      EXPECT_FALSE(plain.try_lock());
      const auto seen = others.look("name");
      EXPECT_TRUE(seen.line.empty());
      EXPECT_TRUE(eventually([&] { return others.look("name").holders.size() == 1; }));
      EXPECT_EQ(others.look("name").holders.at(0).mode, claim_mode::exclusive);
      const fence upgraded = held.fence();
      EXPECT_EQ(held.release(), release_result::released);
      EXPECT_GT(theirs.acquire().fence(), upgraded);
    }
  });
}

TEST_P(upgrading, it_waits_until_the_readers_of_other_clients_have_left) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto held = lock.acquire_shared();
    auto beside = theirs.acquire_shared();
    const fence before = held.fence();
    EXPECT_FALSE(lock.try_upgrade(held));
    expect_shared(held, before);
    std::atomic<bool> done{false};
    thread_group threads{stage().clock()};
    threads.start([&] {
      lock.upgrade(held);
      done = true;
    });
    EXPECT_TRUE(line_reaches(others, "name", 1));
    // Who comes when that is known stands behind it.
    EXPECT_TRUE(eventually([&] { return !theirs.try_acquire_shared(); }));
    EXPECT_FALSE(done);
    const fence of_other = beside.fence();
    const time_point left = stage().now();
    beside.release();
    threads.join();
    EXPECT_LE(stage().now() - left, stage().bounds().wake_up);
    EXPECT_EQ(held.mode(), claim_mode::exclusive);
    EXPECT_GT(held.fence(), before);
    EXPECT_GT(held.fence(), of_other);
    EXPECT_TRUE(held.valid());
  });
}

TEST_P(upgrading, it_waits_until_the_readers_on_the_same_grant_have_left) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto held = lock.acquire_shared();
    auto second = lock.acquire_shared();
    auto third = lock.acquire_shared();
    const fence before = held.fence();
    EXPECT_FALSE(lock.try_upgrade(held));
    EXPECT_FALSE(lock.try_upgrade_for(held, 30ms));
    expect_shared(held, before);
    EXPECT_TRUE(second.valid());
    EXPECT_TRUE(third.valid());
    EXPECT_TRUE(theirs.try_acquire_shared());  // the one that gave up left nothing behind
    std::atomic<bool> done{false};
    thread_group threads{stage().clock()};
    threads.start([&] {
      lock.upgrade(held);
      done = true;
    });
    EXPECT_TRUE(eventually([&] { return !lock.try_acquire_shared(); }));
    EXPECT_NE(third.release(), release_result::lost);
    stage().sleep(20ms);
    EXPECT_FALSE(done);
    EXPECT_TRUE(second.valid());
    const fence of_second = second.fence();
    second.release();
    threads.join();
    EXPECT_EQ(held.mode(), claim_mode::exclusive);
    EXPECT_GT(held.fence(), of_second);
    EXPECT_FALSE(theirs.try_acquire_shared());
  });
}

TEST_P(upgrading, a_writer_that_waits_already_is_told_at_once_and_the_shared_hold_is_kept) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    for (const bool of_own_client : {false, true}) {
      auto held = lock.acquire_shared();
      const fence before = held.fence();
      fence of_writer;
      thread_group threads{stage().clock()};
      threads.start([&] { of_writer = (of_own_client ? lock : theirs).acquire().fence(); });
      EXPECT_TRUE(eventually([&] { return !lock.try_acquire_shared(); }));
      if (!of_own_client) {
        EXPECT_TRUE(line_reaches(locks, "name", 1));
      }
      const time_point asked = stage().now();
      EXPECT_EQ(code_of([&] { lock.upgrade(held); }), errc::upgrade_conflict);
      EXPECT_EQ(code_of([&] { (void)lock.try_upgrade(held); }), errc::upgrade_conflict);
      EXPECT_EQ(code_of([&] { (void)lock.try_upgrade_for(held, 60s); }), errc::upgrade_conflict);
      EXPECT_LE(stage().now() - asked, stage().bounds().wake_up);
      expect_shared(held, before);
      EXPECT_NE(held.release(), release_result::lost);
      threads.join();
      EXPECT_GT(of_writer, before);
    }
  });
}

TEST_P(upgrading, of_two_exactly_one_is_told_of_the_conflict_and_keeps_its_shared_hold) {
  play([this] {
    if (unsupported()) return;
    const client first = stage().connect();
    const client second = stage().connect();
    for (const bool of_one_client : {false, true}) {
      shared_mutex locks_of_two[] = {{first, "name"}, {of_one_client ? first : second, "name"}};
      std::atomic<int> reading{0};
      std::atomic<int> conflicts{0};
      std::atomic<int> upgraded{0};
      thread_group threads{stage().clock()};
      for (shared_mutex& lock : locks_of_two) {
        threads.start([&] {
          auto held = lock.acquire_shared();
          const fence before = held.fence();
          ++reading;
          EXPECT_TRUE(eventually([&] { return reading == 2; }));
          try {
            lock.upgrade(held);
            ++upgraded;
            EXPECT_EQ(conflicts, 1);  // it had to wait until the other let go
            EXPECT_GT(held.fence(), before);
          } catch (const error& why) {
            EXPECT_EQ(why.which(), errc::upgrade_conflict) << why.what();
            EXPECT_EQ(upgraded, 0);
            expect_shared(held, before);
            ++conflicts;
          }
        });
      }
      threads.join();
      EXPECT_EQ(conflicts, 1);
      EXPECT_EQ(upgraded, 1);
    }
  });
}

TEST_P(upgrading, one_that_ends_by_time_or_stop_keeps_the_shared_hold_and_leaves_nothing) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto held = lock.acquire_shared();
    const hold beside = theirs.acquire_shared();
    const fence before = held.fence();
    EXPECT_FALSE(lock.try_upgrade_for(held, 50ms));
    expect_shared(held, before);
    EXPECT_TRUE(others.look("name").line.empty());
    for (const bool throwing : {false, true}) {
      std::stop_source stop;
      thread_group threads{stage().clock()};
      threads.start([&] {
        if (throwing) {
          EXPECT_EQ(code_of([&] { lock.upgrade(held, stop.get_token()); }), errc::cancelled);
        } else {
          EXPECT_FALSE(lock.try_upgrade_for(held, 10min, stop.get_token()));
        }
      });
      EXPECT_TRUE(line_reaches(others, "name", 1));
      stop.request_stop();
      threads.join();
      expect_shared(held, before);
      EXPECT_TRUE(others.look("name").line.empty());
      EXPECT_EQ(others.look("name").holders.size(), 2U);
      EXPECT_TRUE(theirs.try_acquire_shared());
      EXPECT_TRUE(lock.try_acquire_shared());
    }
    EXPECT_TRUE(beside.valid());
    EXPECT_EQ(held.release(), release_result::released);
  });
}

TEST_P(upgrading, readers_that_waited_behind_one_that_gave_up_get_in) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    const client late = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    shared_mutex behind{late, "name"};
    auto held = lock.acquire_shared();
    const hold beside = theirs.acquire_shared();
    std::stop_source stop;
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_FALSE(lock.try_upgrade_for(held, 10min, stop.get_token())); });
    EXPECT_TRUE(line_reaches(others, "name", 1));
    threads.start([&] { EXPECT_TRUE(behind.try_acquire_shared_for(20s)); });
    threads.start([&] { EXPECT_TRUE(lock.try_acquire_shared_for(20s)); });
    EXPECT_TRUE(eventually([&] { return others.look("name").line.size() >= 2; }));
    stop.request_stop();
    threads.join();
  });
}

TEST_P(upgrading, what_is_not_held_cannot_change) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex other_name{locks, "other"};
    shared_mutex other_client{others, "name"};
    const auto both = [&](shared_mutex& with, hold& held, errc expected) {
      EXPECT_EQ(code_of([&] { with.upgrade(held); }), expected);
      EXPECT_EQ(code_of([&] { (void)with.try_upgrade(held); }), expected);
      EXPECT_EQ(code_of([&] { with.downgrade(held); }), expected);
    };
    auto released = lock.acquire_shared();
    released.release();
    both(lock, released, errc::not_held);
    auto held = lock.acquire_shared();
    auto moved = std::move(held);
    both(lock, held, errc::not_held);
    both(other_name, moved, errc::conflict);
    both(other_client, moved, errc::conflict);
    EXPECT_TRUE(moved.valid());
    for (const claim_info& each : locks.look("name").holders) {
      EXPECT_TRUE(others.break_lock("name", each.owner));
    }
    EXPECT_TRUE(eventually([&] { return !moved.valid(); }));
    both(lock, moved, errc::lost);
    if (!stage().traits().permits) return;
    semaphore permits{locks, "permits", 3};
    shared_mutex same_name{locks, "permits"};
    auto permit = permits.acquire();
    both(same_name, permit, errc::conflict);
    EXPECT_TRUE(permit.valid());
  });
}

TEST_P(upgrading, a_shared_hold_lost_while_it_waits_is_told_and_leaves_nothing) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto held = lock.acquire_shared();
    const auto beside = theirs.acquire_shared();
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_EQ(code_of([&] { lock.upgrade(held); }), errc::lost); });
    EXPECT_TRUE(line_reaches(others, "name", 1));
    EXPECT_TRUE(others.break_lock("name", held.owner()));
    threads.join();
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(held.lost().stop_requested());
    EXPECT_TRUE(line_reaches(others, "name", 0));
    EXPECT_TRUE(theirs.try_acquire_shared());
    EXPECT_EQ(held.release(), release_result::lost);
  });
}

TEST_P(upgrading, a_changed_hold_is_renewed_and_its_loss_is_told) {
  play({ability::timely}, [this] {
    if (unsupported()) return;
    const client locks = steady();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    auto held = lock.acquire_shared();
    lock.upgrade(held);
    stage().sleep(3 * steady_lease());
    EXPECT_TRUE(held.valid());
    lock.downgrade(held);
    stage().sleep(3 * steady_lease());
    EXPECT_TRUE(held.valid());
    lock.upgrade(held);
    std::atomic<int> told{0};
    const std::stop_callback on_loss{held.lost(), [&] { ++told; }};
    EXPECT_TRUE(eventually([&] { return others.look("name").holders.size() == 1; }));
    const auto holders = others.look("name").holders;
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_TRUE(others.break_lock("name", holders[0].owner));
    EXPECT_TRUE(eventually([&] { return told == 1; }));
    EXPECT_EQ(held.release(), release_result::lost);
  });
}

TEST_P(upgrading, fences_rise_over_many_changes) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    shared_mutex lock{locks, "name"};
    auto held = lock.acquire_shared();
    for (int i = 0; i < 50; ++i) {
      const fence before = held.fence();
      lock.upgrade(held);
      const fence exclusive = held.fence();
      EXPECT_GT(exclusive, before);
      lock.downgrade(held);
      expect_shared(held, exclusive);
      if (i % 10 != 0) continue;
      const hold beside = lock.acquire_shared();
      EXPECT_GT(beside.fence(), exclusive);
    }
  });
}

TEST_P(upgrading, one_whose_answer_was_lost_is_idempotent) {
  play({ability::server_faults}, [this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto held = lock.acquire_shared();
    const fence before = held.fence();
    stage().lose_next_answer(observer::verb::ask);
    EXPECT_TRUE(lock.try_upgrade_for(held, 60s));
    EXPECT_EQ(held.mode(), claim_mode::exclusive);
    EXPECT_GT(held.fence(), before);
    EXPECT_FALSE(theirs.try_acquire_shared());
    EXPECT_EQ(held.release(), release_result::released);
  });
}

}  // namespace
}  // namespace crosslock::conformance
