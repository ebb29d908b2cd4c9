// A hold that ends other than by its release: told in time, once, and for ever; what comes late
// from its former holder changes nothing.
#include "client/core.hpp"
#include "conformance/fixture.hpp"
#include "conformance/release_truth.hpp"

#include <atomic>
#include <sstream>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class loss : public conformance_case {
 protected:
  /// A grant as the engine of that client would show it to the server.
  static seam::grant grant_of(const hold& held) {
    return {.name = std::make_shared<const lock_name>(held.name()),
            .owner = held.owner(),
            .first = held.fence(),
            .last = held.fence(),
            .lease = 20s};
  }
  static seam::renewal::result renew(const client& locks, const seam::grant& held) {
    seam::renewal item;
    item.held = held;
    item.lease = 20s;
    seam::engine& engine = locks.core()->engine();
    engine.renew({&item, 1}, locks.core()->clock().now() + 5s);
    return item.outcome;
  }
  static seam::release_answer release(const client& locks, const seam::grant& held) {
    return locks.core()->engine().release(held, locks.core()->clock().now() + 5s);
  }
};
CONFORMANCE_ON_EVERY_STAGE(loss);

TEST_P(loss, it_is_told_before_the_server_could_grant_the_name_to_another) {
  play({ability::processes}, [this] {
    for (int round = 0; round < 10; ++round) {
      const auto holder = stage().start_process("holder", lease());
      const client locks = stage().connect();
      mutex next{locks, "name"};
      EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
      holder->send("work name 20000");
      // Cut at another point of the time between two renewals in each round.
      stage().sleep(lease() + round * lease() / 30);
      holder->cut_off();
      const auto held = acquire(of(stage()), next, 20s);
      ASSERT_TRUE(held);
      EXPECT_EQ(holder->answer(), "lost");
      std::istringstream told{holder->say("told name")};
      int times = 0;
      std::int64_t when = 0;
      std::string why;
      told >> times >> when >> why;
      EXPECT_EQ(times, 1);
      EXPECT_LT(when, stage().now().time_since_epoch().count());
      EXPECT_EQ(why, "expired");
      EXPECT_EQ(holder->say("valid name"), "no");
      holder->heal();
      held->work(100ms);
    }
    judge();
  });
}

TEST_P(loss, an_ordinary_release_is_no_loss) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    mutex lock{locks, "name"};
    std::atomic<int> told{0};
    const auto count = [&] { ++told; };
    std::optional<std::stop_callback<std::function<void()>>> watch[3];
    {
      auto released = lock.acquire();
      watch[0].emplace(released.lost(), count);
      EXPECT_EQ(released.release(), release_result::released);
      EXPECT_EQ(released.lost_reason(), loss_reason::none);
      const hold destroyed = lock.acquire();
      watch[1].emplace(destroyed.lost(), count);
    }
    lock.lock();
    watch[2].emplace(lock.lost(), count);
    lock.unlock();
    EXPECT_EQ(told, 0);
    EXPECT_TRUE(heard->losses().empty());
  });
}

TEST_P(loss, it_is_told_once_to_everybody_who_listens) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    std::atomic<int> told{0};
    const std::stop_callback first{held.lost(), [&] { ++told; }};
    const std::stop_callback second{held.lost(), [&] { ++told; }};
    EXPECT_TRUE(locks.break_lock("name", held.owner()));
    EXPECT_TRUE(eventually([&] { return told == 2; }));
    EXPECT_TRUE(held.lost().stop_requested());  // asked for afterwards, too
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(code_of([&] { held.check(); }), errc::lost);
    EXPECT_EQ(held.release(), release_result::lost);
    EXPECT_EQ(held.release(), release_result::not_held);
    EXPECT_EQ(told, 2);
    EXPECT_TRUE(eventually([&] { return !heard->losses().empty(); }));
    EXPECT_EQ(heard->losses(), (std::vector{loss_reason::broken}));
  });
}

TEST_P(loss, a_slow_callback_delays_neither_the_next_loss_nor_a_renewal) {
  play({ability::timely}, [this] {
    const client locks = steady();
    mutex one{locks, "one"};
    mutex two{locks, "two"};
    mutex three{locks, "three"};
    auto first = one.acquire();
    auto second = two.acquire();
    const hold renewed = three.acquire();
    std::atomic<bool> over{false};
    std::atomic<bool> ended{false};
    std::atomic<int> told{0};
    const std::stop_callback slow{first.lost(), [&] {
                                    ++told;
                                    eventually([&] { return over.load(); });
                                    ended = true;
                                  }};
    const std::stop_callback quick{second.lost(), [&] { ++told; }};
    EXPECT_TRUE(locks.break_lock("one", first.owner()));
    EXPECT_TRUE(eventually([&] { return told == 1; }));
    EXPECT_TRUE(locks.break_lock("two", second.owner()));
    EXPECT_TRUE(eventually([&] { return told == 2; }));
    stage().sleep(2 * steady_lease());
    EXPECT_TRUE(renewed.valid());
    over = true;
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
  });
}

TEST_P(loss, release_and_renewal_of_a_foreign_hold_change_nothing) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    const seam::grant own = grant_of(held);
    seam::grant wrong_owner = own;
    wrong_owner.owner = owner_id{owner_id::bytes_type{1, 2, 3}};
    seam::grant wrong_fence = own;
    wrong_fence.first = wrong_fence.last = fence{1};
    seam::grant nowhere = own;
    nowhere.name = std::make_shared<const lock_name>("nowhere");
    for (const seam::grant& forged : {wrong_owner, wrong_fence, nowhere}) {
      EXPECT_EQ(renew(others, forged), seam::renewal::result::lost);
      EXPECT_EQ(release(others, forged), seam::release_answer::not_owner);
    }
    EXPECT_TRUE(locks.look("nowhere").holders.empty());  // a renewal never creates
    ASSERT_EQ(locks.look("name").holders.size(), 1U);
    EXPECT_EQ(locks.look("name").holders[0].owner, held.owner());
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_result::released);
  });
}

TEST_P(loss, release_and_renewal_of_a_lost_hold_change_nothing) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex next{others, "name"};
    auto held = lock.acquire();
    const seam::grant own = grant_of(held);
    EXPECT_TRUE(others.break_lock("name", held.owner()));
    const hold successor = next.acquire();
    EXPECT_TRUE(eventually([&] { return !held.valid(); }));
    EXPECT_EQ(held.release(), release_result::lost);
    EXPECT_EQ(renew(locks, own), seam::renewal::result::lost);
    EXPECT_EQ(release(locks, own), seam::release_answer::not_owner);
    EXPECT_EQ(others.look("name").holders.at(0).owner, successor.owner());
    EXPECT_TRUE(successor.valid());
    EXPECT_FALSE(held.valid());
  });
}

TEST_P(loss, a_late_release_does_not_free_the_successor) {
  play({ability::server_faults}, [this] {
    const client locks = short_lived();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex next{others, "name"};
    auto held = lock.acquire();
    thread_group threads{stage().clock()};
    stage().delay_next_request(observer::verb::release, 3 * lease());
    const owner_id owner = held.owner();
    threads.start([&] {
      const release_result said = held.release();
      if (said != release_result::lost)
        expect_unknown_or_true(said, stage(), others, "name", owner);
    });
    auto successor = next.try_acquire_for(20s);
    ASSERT_TRUE(successor);
    threads.join();
    stage().sleep(10 * lease());  // whatever was on its way has arrived
    EXPECT_TRUE(successor->valid());
    EXPECT_EQ(others.look("name").holders.at(0).owner, successor->owner());
    EXPECT_EQ(successor->release(), release_result::released);
  });
}

TEST_P(loss, a_late_renewal_does_not_bring_the_hold_back) {
  play({ability::server_faults}, [this] {
    const auto heard = std::make_shared<listener>();
    options how;
    how.lease = lease();
    how.timeout = 20s;
    const client locks = heard_by(heard, how);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex next{others, "name"};
    const auto held = acquire(of(stage()), lock, 1s);
    ASSERT_TRUE(held);
    // Every renewal is late until the hold is lost.
    thread_group threads{stage().clock()};
    threads.start([&] {
      while (held->told() == 0) {
        stage().delay_next_request(observer::verb::renew, 3 * lease());
        stage().sleep(1ms);
      }
    });
    const auto successor = acquire(of(stage()), next, 20s, {}, 1);
    ASSERT_TRUE(successor);
    EXPECT_TRUE(eventually([&] { return held->told() == 1; }, stage().strictness().loss_slack));
    stage().sleep(10 * lease());
    EXPECT_FALSE(held->held().valid());
    EXPECT_EQ(heard->losses().size(), 1U);
    EXPECT_TRUE(successor->held().valid());
    EXPECT_EQ(others.look("name").holders.at(0).owner, successor->held().owner());
    held->release();
    EXPECT_TRUE(successor->held().valid());
  });
}

TEST_P(loss, an_acquire_whose_answer_was_lost_is_idempotent) {
  play({ability::server_faults}, [this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    stage().lose_next_answer(observer::verb::ask);
    auto held = lock.acquire();
    EXPECT_GE(heard->round_trips(observer::verb::ask), 1U);
    const lock_info seen = others.look("name");
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_TRUE(seen.line.empty());
    EXPECT_EQ(seen.holders[0].owner, held.owner());
    EXPECT_EQ(seen.holders[0].fence, held.fence());
    // The grant that nobody heard of is the same one: as old as the time that was waited for the
    // answer, five seconds or a third of a session.
    EXPECT_GE(seen.holders[0].age, stage().traits().lease_is_session ? 3s : 4s);
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_TRUE(others.look("name").holders.empty());
  });
}

TEST_P(loss, a_place_in_line_whose_answer_was_lost_is_kept) {
  play({ability::server_faults}, [this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    mutex held{holder, "name"};
    mutex lock{locks, "name"};
    auto first = held.acquire();
    stage().lose_next_answer(observer::verb::ask);
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(lock.try_acquire_for(20s)); });
    EXPECT_TRUE(line_reaches(holder, "name", 1));
    stage().sleep(8s);
    EXPECT_EQ(holder.look("name").line.size(), 1U);  // not two
    first.release();
  });
}

TEST_P(loss, a_release_whose_answer_was_lost_goes_on_in_the_background) {
  play({ability::server_faults}, [this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex next{others, "name"};
    auto held = lock.acquire();
    stage().delay_next_request(observer::verb::release, 15s);
    thread_group threads{stage().clock()};
    const owner_id owner = held.owner();
    threads.start([&] { expect_unknown_or_true(held.release(), stage(), others, "name", owner); });
    // Not after the lease of 30 s: the repeated release frees it.
    EXPECT_TRUE(next.try_acquire_for(10s));
  });
}

}  // namespace
}  // namespace crosslock::conformance
