// Readers of one client share one grant of the server, each with a fence of its own; and what that
// means for those who wait, for losses, and for receipts.
#include "conformance/fixture.hpp"

#include <atomic>
#include <mutex>
#include <set>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class shared_grant : public conformance_case {
 protected:
  /// An engine that cannot tell that others wait counts as if somebody always did.
  bool shares() { return stage().traits().shared && stage().traits().tells_wanted; }
};
CONFORMANCE_ON_EVERY_STAGE(shared_grant);

TEST_P(shared_grant, further_readers_cost_no_request_and_have_fences_of_their_own) {
  play([this] {
    if (!shares()) return;
    constexpr int readers = 100;
    const client locks = stage().connect();
    shared_mutex lock{locks, "name"};
    std::vector<hold> held;
    held.push_back(lock.acquire_shared());
    const std::uint64_t before = stage().requests();
    for (int i = 1; i < readers; ++i) held.push_back(lock.acquire_shared());
    EXPECT_EQ(stage().requests(), before);
    std::set<fence> fences;
    for (const hold& each : held) {
      EXPECT_TRUE(each.valid());
      ASSERT_EQ(each.owner(), held[0].owner());
      EXPECT_GE(each.fence(), held[0].fence());
      fences.insert(each.fence());
    }
    EXPECT_EQ(fences.size(), static_cast<std::size_t>(readers));
    EXPECT_EQ(locks.look("name").holders.size(), 1U);
    // Whoever came first need not be the last to go.
    const std::uint64_t looked = stage().requests();
    for (std::size_t i = 0; i + 1 < held.size(); ++i) held[i].release();
    EXPECT_EQ(stage().requests(), looked);
    EXPECT_TRUE(held.back().valid());
    EXPECT_EQ(held.back().release(), release_result::released);
    EXPECT_TRUE(locks.look("name").holders.empty());
  });
}

TEST_P(shared_grant, threads_share_it_too) {
  play([this] {
    if (!shares()) return;
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    shared_mutex lock{locks, "name"};
    const hold first = lock.acquire_shared();
    std::mutex guard;
    std::set<fence> fences{first.fence()};
    {
      thread_group threads{stage().clock()};
      for (int t = 0; t < 8; ++t) {
        threads.start([&] {
          for (int i = 0; i < 50; ++i) {
            const hold mine = lock.acquire_shared();
            const std::lock_guard locked{guard};
            EXPECT_TRUE(fences.insert(mine.fence()).second);
          }
        });
      }
    }
    EXPECT_EQ(heard->round_trips(observer::verb::ask), 1U);
    EXPECT_EQ(heard->round_trips(observer::verb::release), 0U);
    EXPECT_EQ(heard->grants().size(), 401U);
  });
}

TEST_P(shared_grant, readers_that_wait_in_one_client_are_one_waiter_and_come_in_by_one_grant) {
  play([this] {
    if (!shares()) return;
    const client holder = stage().connect();
    const client locks = stage().connect();
    mutex held{holder, "name"};
    shared_mutex lock{locks, "name"};
    auto writer = held.acquire();
    constexpr int readers = 200;
    std::atomic<int> in{0};
    std::mutex guard;
    std::vector<hold> holds;
    for (int i = 0; i < readers; ++i) {
      lock.acquire_shared_async([&](acquire_result got) {
        const std::lock_guard locked{guard};
        if (got.hold) holds.push_back(*std::move(got.hold));
        ++in;
      });
    }
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    writer.release();
    EXPECT_TRUE(eventually([&] { return in == readers; }));
    const std::lock_guard locked{guard};
    EXPECT_EQ(holds.size(), static_cast<std::size_t>(readers));
    EXPECT_EQ(holder.look("name").holders.size(), 1U);
    holds.clear();
  });
}

TEST_P(shared_grant, readers_that_queued_before_the_claim_go_in_with_it_although_a_writer_waits) {
  play([this] {
    if (!shares()) return;
    const client locks = stage().connect();
    const client before = stage().connect();
    const client behind = stage().connect();
    shared_mutex lock{locks, "name"};
    mutex first{before, "name"};
    mutex last{behind, "name"};
    auto ours = lock.acquire();
    constexpr int readers = 20;
    std::atomic<int> in{0};
    std::mutex guard;
    std::vector<hold> holds;
    for (int i = 0; i < readers; ++i) {  // they queue here: this process has the name to itself
      lock.acquire_shared_async([&](acquire_result got) {
        const std::lock_guard locked{guard};
        if (got.hold) holds.push_back(*std::move(got.hold));
        ++in;
      });
    }
    std::atomic<bool> go{false};
    std::atomic<bool> wrote{false};
    thread_group threads{stage().clock()};
    threads.start([&] {
      const hold mine = first.acquire();
      EXPECT_TRUE(eventually([&] { return go.load(); }, 60s));
    });
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    ours.release();  // to the first writer; then a reader claims
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    threads.start([&] {
      const hold mine = last.acquire();
      wrote = true;
    });
    EXPECT_TRUE(line_reaches(locks, "name", 2));
    go = true;
    EXPECT_TRUE(eventually([&] { return in == readers; }));
    EXPECT_FALSE(wrote) << "they all came before that writer";
    EXPECT_EQ(locks.look("name").holders.size(), 1U);
    {
      const std::lock_guard locked{guard};
      EXPECT_EQ(holds.size(), static_cast<std::size_t>(readers));
      holds.clear();
    }
    threads.join();
  });
}

TEST_P(shared_grant, nobody_joins_it_while_a_writer_of_another_client_is_known_to_wait) {
  play([this] {
    if (!shares()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex wanted{others, "name"};
    auto first = lock.acquire_shared();
    fence of_writer;
    fence of_late_reader;
    thread_group threads{stage().clock()};
    threads.start([&] { of_writer = wanted.acquire().fence(); });
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    EXPECT_TRUE(eventually([&] { return !lock.try_acquire_shared(); }));
    threads.start([&] { of_late_reader = lock.acquire_shared().fence(); });
    EXPECT_TRUE(line_reaches(locks, "name", 2));  // behind the writer, in the server's line
    first.release();
    threads.join();
    EXPECT_GT(of_writer, first.fence());
    EXPECT_GT(of_late_reader, of_writer);
  });
}

TEST_P(shared_grant, its_loss_ends_the_holds_of_all_who_use_it_and_of_nobody_else) {
  play([this] {
    if (!shares()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    std::vector<hold> held;
    for (int i = 0; i < 5; ++i) held.push_back(lock.acquire_shared());
    const hold beside = theirs.acquire_shared();
    EXPECT_TRUE(others.break_lock("name", held[0].owner()));
    for (hold& each : held) {
      ASSERT_TRUE(eventually([&] { return each.lost().stop_requested(); }));
      EXPECT_FALSE(each.valid());
      EXPECT_EQ(each.lost_reason(), held[0].lost_reason());
      EXPECT_EQ(code_of([&] { each.check(); }), errc::lost);
    }
    EXPECT_TRUE(beside.valid());
    // The next reader gets a grant that lives, while the old holds are still about.
    const hold fresh = lock.acquire_shared();
    EXPECT_TRUE(fresh.valid());
    for (hold& each : held) {
      EXPECT_GT(fresh.fence(), each.fence());
      EXPECT_EQ(each.release(), release_result::lost);
    }
    EXPECT_TRUE(fresh.valid());
    EXPECT_EQ(locks.look("name").holders.size(), 2U);
  });
}

TEST_P(shared_grant, it_is_renewed_as_long_as_the_last_of_its_users_is_there) {
  play({ability::timely}, [this] {
    if (!shares()) return;
    const client locks = steady();
    shared_mutex lock{locks, "name"};
    auto first = lock.acquire_shared();
    stage().sleep(steady_lease());
    auto second = lock.acquire_shared();
    EXPECT_GE(second.expires_at(), first.expires_at());
    stage().sleep(steady_lease());
    first.release();
    stage().sleep(2 * steady_lease());
    EXPECT_TRUE(second.valid());
    EXPECT_EQ(second.release(), release_result::released);
  });
}

TEST_P(shared_grant, a_fixed_lease_is_no_part_of_it) {
  play([this] {
    if (!shares()) return;
    const client locks = stage().connect();
    shared_mutex lock{locks, "name"};
    const hold first = lock.acquire_shared();
    auto fixed = lock.try_acquire_shared({.lease = lease(), .stop = {}});
    ASSERT_TRUE(fixed);
    EXPECT_NE(fixed->owner(), first.owner());
    const hold third = lock.acquire_shared();
    EXPECT_NE(third.owner(), fixed->owner());
    EXPECT_TRUE(eventually([&] { return !fixed->valid(); }));
    EXPECT_TRUE(first.valid());
    EXPECT_TRUE(third.valid());
  });
}

TEST_P(shared_grant, only_its_last_user_can_be_written_down) {
  play([this] {
    if (!shares() || !stage().traits().outlives_process) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto first = lock.acquire_shared();
    auto second = lock.acquire_shared();
    EXPECT_EQ(code_of([&] { (void)first.detach(); }), errc::conflict);
    EXPECT_TRUE(first.valid());
    EXPECT_TRUE(second.valid());
    const fence token = first.fence();
    EXPECT_EQ(second.release(), release_result::released);
    const receipt given = first.detach();
    EXPECT_FALSE(theirs.try_acquire());
    // Readers that come now have nothing to do with the receipt.
    auto third = lock.acquire_shared();
    auto adopted = others.adopt(given);
    EXPECT_EQ(adopted.fence(), token);
    EXPECT_EQ(adopted.release(), release_result::released);
    EXPECT_TRUE(third.valid());
    EXPECT_FALSE(theirs.try_acquire());
    EXPECT_EQ(third.release(), release_result::released);
    EXPECT_TRUE(theirs.try_acquire());
  });
}

TEST_P(shared_grant, closing_the_client_ends_it_for_all) {
  play([this] {
    if (!shares()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    const hold first = lock.acquire_shared();
    const hold second = lock.acquire_shared();
    locks.close();
    EXPECT_EQ(first.lost_reason(), loss_reason::closed);
    EXPECT_EQ(second.lost_reason(), loss_reason::closed);
    EXPECT_TRUE(theirs.try_acquire_for(20s));
  });
}

TEST_P(shared_grant, fences_of_readers_are_unique_beyond_the_block_that_came_with_it) {
  play([this] {
    if (!shares()) return;
    constexpr int readers = 3 * seam::fence_block;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    const fence before = theirs.acquire().fence();
    std::set<fence> fences;
    {
      hold held = lock.acquire_shared();
      for (int i = 0; i < readers; ++i) {
        fences.insert(held.fence());
        held = lock.acquire_shared();
      }
    }
    EXPECT_EQ(fences.size(), static_cast<std::size_t>(readers));
    EXPECT_GT(*fences.begin(), before);
    EXPECT_GT(theirs.acquire().fence(), *fences.rbegin());
  });
}

}  // namespace
}  // namespace crosslock::conformance
