// A hold written down and taken up again: once, in time, and by nobody who made it up.
#include "conformance/fixture.hpp"

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class receipts : public conformance_case {
 protected:
  /// Where holds end with their process the typed error is all there is to see. True then.
  bool refused_by_this_engine(const client& locks) {
    if (stage().traits().outlives_process) return false;
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    EXPECT_EQ(code_of([&] { (void)held.detach(); }), errc::unsupported);
    EXPECT_TRUE(held.valid());
    return true;
  }
};
CONFORMANCE_ON_EVERY_STAGE(receipts);

TEST_P(receipts, it_is_adopted_with_its_fence_and_renewed_from_then_on) {
  play({ability::timely}, [this] {
    const auto parting = std::make_shared<listener>();
    const auto heard = std::make_shared<listener>();
    const client locks = steady(parting);
    const client others = steady(heard);
    if (refused_by_this_engine(locks)) return;
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    const fence token = held.fence();
    const std::string text = held.detach().to_string();
    EXPECT_EQ(parting->releases(), (std::vector{release_result::detached}));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(code_of([&] { held.check(); }), errc::not_held);
    EXPECT_EQ(held.release(), release_result::not_held);
    EXPECT_EQ(code_of([&] { (void)held.detach(); }), errc::not_held);
    EXPECT_FALSE(lock.try_acquire());  // it is still taken
    auto adopted = others.adopt(receipt::parse(text));
    EXPECT_EQ(adopted.fence(), token);
    stage().sleep(3 * steady_lease());
    EXPECT_TRUE(adopted.valid());
    EXPECT_GE(heard->renewals().size(), 3U);
    EXPECT_EQ(adopted.release(), release_result::released);
    EXPECT_TRUE(lock.try_acquire());
  });
}

TEST_P(receipts, that_of_a_passed_hold_keeps_the_fence_of_the_pass) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    if (refused_by_this_engine(locks)) return;
    mutex lock{locks, "name"};
    for (int tries = 0; heard->grants_by(acquire_cause::passed) == 0; ++tries) {
      ASSERT_LT(tries, 1000);
      auto first = lock.acquire();
      thread_group threads{stage().clock()};
      threads.start([&] {
        auto second = lock.acquire();
        const fence token = second.fence();
        const receipt given = second.detach();
        EXPECT_EQ(given.fence, token);
        auto adopted = locks.adopt(given);
        EXPECT_EQ(adopted.fence(), token);
        EXPECT_EQ(adopted.release(), release_result::released);
      });
      stage().sleep(1ms);  // until it has most likely queued; else once more
      first.release();
    }
  });
}

TEST_P(receipts, it_outlives_its_process) {
  play({ability::processes}, [this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    const auto before = stage().start_process("before", 30s);
    EXPECT_TRUE(before->say("acquire name 1000").starts_with("held"));
    const std::string text = before->say("detach name");
    before->kill();
    const auto after = stage().start_process("after", 30s);
    const std::string held = after->say("adopt " + text);
    EXPECT_EQ(held, "held " + receipt::parse(text).fence.to_string());
    EXPECT_EQ(after->say("valid name"), "yes");
    mutex lock{locks, "name"};
    EXPECT_FALSE(lock.try_lock());
    EXPECT_EQ(after->say("release name"), "released");
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  });
}

TEST_P(receipts, that_of_a_process_that_has_exited_is_good_until_its_lease_ends) {
  play({ability::processes}, [this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    mutex lock{locks, "name"};
    for (const bool taken_up : {true, false}) {
      auto before = stage().start_process("before", steady_lease());
      const time_point asked = stage().now();
      EXPECT_TRUE(before->say("acquire name 1000").starts_with("held"));
      const receipt given = receipt::parse(before->say("detach name"));
      const time_point detached = stage().now();
      before.reset();  // it leaves in order, with everything it has
      EXPECT_EQ(locks.look("name").holders.at(0).owner, given.owner);
      EXPECT_FALSE(lock.try_lock());
      if (taken_up) {
        auto adopted = locks.adopt(given);
        EXPECT_EQ(adopted.fence(), given.fence);
        EXPECT_EQ(adopted.release(), release_result::released);
        continue;
      }
      const auto successor = lock.try_acquire_for(2 * steady_lease() + 20s);
      ASSERT_TRUE(successor);
      EXPECT_GE(stage().now(), asked + steady_lease());
      EXPECT_LE(stage().now(), detached + steady_lease() + stage().bounds().after_lease);
      EXPECT_EQ(code_of([&] { (void)locks.adopt(given); }), errc::lost);
    }
  });
}

TEST_P(receipts, it_serves_once) {
  play([this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    mutex lock{locks, "name"};
    const receipt given = lock.acquire().detach();
    auto adopted = locks.adopt(given);
    EXPECT_EQ(code_of([&] { (void)locks.adopt(given); }), errc::lost);
    EXPECT_EQ(code_of([&] { (void)stage().connect().adopt(given); }), errc::lost);
    EXPECT_TRUE(adopted.valid());
    // Handed on under a new receipt; the old one stays worthless.
    const receipt second = adopted.detach();
    EXPECT_EQ(code_of([&] { (void)locks.adopt(given); }), errc::lost);
    EXPECT_EQ(locks.adopt(second).release(), release_result::released);
    EXPECT_EQ(code_of([&] { (void)locks.adopt(second); }), errc::lost);
  });
}

TEST_P(receipts, a_late_one_is_lost_and_harms_nobody) {
  play([this] {
    const client locks = short_lived();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    mutex lock{locks, "name"};
    mutex next{others, "name"};
    const receipt given = lock.acquire().detach();
    const auto successor = next.try_acquire_for(20s);  // nobody renews a detached hold
    ASSERT_TRUE(successor);
    EXPECT_GT(successor->fence(), given.fence);
    EXPECT_EQ(code_of([&] { (void)locks.adopt(given); }), errc::lost);
    EXPECT_TRUE(successor->valid());
    EXPECT_EQ(locks.look("name").holders.at(0).owner, successor->owner());
  });
}

TEST_P(receipts, a_forged_one_is_refused_and_harms_nobody) {
  play([this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    mutex lock{locks, "name"};
    const receipt given = lock.acquire().detach();
    receipt wrong_owner = given;
    wrong_owner.owner = owner_id{owner_id::bytes_type{7}};
    receipt wrong_fence = given;
    wrong_fence.fence = fence{given.fence.value() + 2 * seam::fence_block};
    receipt wrong_name = given;
    wrong_name.name = lock_name{"other"};
    receipt wrong_engine = given;
    wrong_engine.engine = "nobody";
    for (const receipt& forged : {wrong_owner, wrong_fence, wrong_name}) {
      EXPECT_EQ(code_of([&] { (void)locks.adopt(forged); }), errc::lost);
    }
    EXPECT_EQ(code_of([&] { (void)locks.adopt(wrong_engine); }), errc::conflict);
    EXPECT_TRUE(locks.look("other").holders.empty());
    EXPECT_EQ(locks.look("name").holders.at(0).owner, given.owner);
    EXPECT_EQ(locks.adopt(given).release(), release_result::released);
  });
}

TEST_P(receipts, an_adoption_whose_answer_was_lost_is_idempotent) {
  play({ability::server_faults}, [this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    mutex lock{locks, "name"};
    const receipt given = lock.acquire().detach();
    stage().lose_next_answer(observer::verb::adopt);
    auto adopted = locks.adopt(given);
    EXPECT_TRUE(adopted.valid());
    EXPECT_EQ(adopted.fence(), given.fence);
    EXPECT_EQ(adopted.release(), release_result::released);
  });
}

TEST_P(receipts, a_lost_hold_cannot_be_detached) {
  play([this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    EXPECT_TRUE(locks.break_lock("name", held.owner()));
    EXPECT_TRUE(eventually([&] { return !held.valid(); }));
    EXPECT_EQ(code_of([&] { (void)held.detach(); }), errc::lost);
  });
}

TEST_P(receipts, threads_that_wait_here_are_served_after_the_adopted_hold) {
  play([this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    mutex lock{locks, "name"};
    auto held = lock.acquire();
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(lock.try_acquire_for(20s)); });
    const receipt given = held.detach();
    EXPECT_TRUE(line_reaches(locks, "name", 1));  // the local waiter went to the server's line
    auto adopted = locks.adopt(given);
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    EXPECT_EQ(adopted.release(), release_result::released);
  });
}

}  // namespace
}  // namespace crosslock::conformance
