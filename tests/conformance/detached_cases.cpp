// Receipts in the hands of those who do not take the hold up: it is renewed and given back all the
// same, whatever its mode, and by nobody who made the receipt up.
#include "conformance/fixture.hpp"

#include <functional>
#include <optional>
#include <string>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class detached : public conformance_case {
 protected:
  bool no_receipts() { return !stage().traits().outlives_process; }

  /// What excludes all of those below, of the same kind.
  static std::optional<hold> try_whole(const client& locks, const std::string& name,
                                       duration wait = {}) {
    if (name == "permits") return semaphore(locks, name, 2).try_acquire_for(wait, 2);
    return mutex(locks, name).try_acquire_for(wait);
  }

  /// A hold of each mode that this engine has, on a name of its own.
  void with_every_mode(const client& locks,
                       const std::function<void(const std::string& name, hold held)>& body) {
    mutex alone{locks, "alone"};
    body("alone", alone.acquire());
    if (stage().traits().shared) {
      shared_mutex shared{locks, "shared"};
      body("shared", shared.acquire_shared());
    }
    if (stage().traits().permits) {
      semaphore permits{locks, "permits", 2};
      body("permits", permits.acquire(2));
    }
  }
};
CONFORMANCE_ON_EVERY_STAGE(detached);

TEST_P(detached, where_there_are_none_they_are_refused) {
  play([this] {
    if (!no_receipts()) return;
    const client locks = stage().connect();
    const receipt given{.engine = std::string{locks.engine()},
                        .name = lock_name{"name"},
                        .owner = owner_id{owner_id::bytes_type{7}},
                        .fence = fence{1}};
    EXPECT_EQ(code_of([&] { locks.renew(given); }), errc::unsupported);
    EXPECT_EQ(code_of([&] { (void)locks.release(given); }), errc::unsupported);
  });
}

TEST_P(detached, a_renewed_hold_stays_detached_and_outlives_its_first_lease) {
  play([this] {
    if (no_receipts()) return;
    const client locks = short_lived();
    const client others = steady();
    with_every_mode(locks, [&](const std::string& name, hold held) {
      SCOPED_TRACE(name);
      const receipt given = held.detach();
      EXPECT_EQ(others.renew(given), steady_lease());
      EXPECT_EQ(others.renew(given, 4 * steady_lease()), 4 * steady_lease());
      stage().sleep(2 * lease());
      const auto seen = others.look(name).holders;
      ASSERT_EQ(seen.size(), 1U);
      EXPECT_EQ(seen[0].owner, given.owner);
      EXPECT_GT(seen[0].lease_left, steady_lease());
      EXPECT_FALSE(try_whole(others, name));
      EXPECT_EQ(locks.renew(given, lease()), lease());  // never shortens it
      EXPECT_GT(others.look(name).holders.at(0).lease_left, steady_lease());
      auto adopted = others.adopt(given);  // the same receipt is still good for that
      EXPECT_EQ(adopted.fence(), given.fence);
      EXPECT_EQ(adopted.mode(), given.mode);
      EXPECT_EQ(code_of([&] { locks.renew(given); }), errc::lost);
      EXPECT_EQ(locks.release(given), release_result::lost);
      EXPECT_TRUE(adopted.valid());
    });
  });
}

TEST_P(detached, a_release_gives_it_back_once_and_serves_who_waits) {
  play([this] {
    if (no_receipts()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    const client third = stage().connect();
    with_every_mode(locks, [&](const std::string& name, hold held) {
      SCOPED_TRACE(name);
      const receipt given = held.detach();
      thread_group threads{stage().clock()};
      threads.start([&] {
        const auto successor = try_whole(others, name, 20s);
        ASSERT_TRUE(successor);
        EXPECT_GT(successor->fence(), given.fence);
        EXPECT_EQ(third.release(given), release_result::lost);
        EXPECT_EQ(code_of([&] { third.renew(given); }), errc::lost);
        EXPECT_TRUE(successor->valid());
      });
      EXPECT_TRUE(line_reaches(locks, name, 1));
      EXPECT_EQ(third.renew(given), third.lease());  // also when somebody waits
      EXPECT_EQ(third.release(given), release_result::released);
    });
  });
}

TEST_P(detached, with_nobody_else_there_it_is_free_at_once) {
  play([this] {
    if (no_receipts()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    with_every_mode(locks, [&](const std::string& name, hold held) {
      SCOPED_TRACE(name);
      const receipt given = held.detach();
      EXPECT_EQ(others.release(given), release_result::released);
      EXPECT_TRUE(others.look(name).holders.empty());
      EXPECT_EQ(others.release(given), release_result::lost);
      EXPECT_TRUE(mutex(others, name).try_acquire());
    });
  });
}

TEST_P(detached, of_several_who_share_only_its_own_hold_goes) {
  play([this] {
    if (no_receipts() || !stage().traits().shared) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex theirs{others, "name"};
    const auto beside = theirs.acquire_shared();
    const receipt given = shared_mutex(locks, "name").acquire_shared().detach();
    EXPECT_EQ(others.renew(given), others.lease());
    EXPECT_EQ(others.look("name").holders.size(), 2U);
    EXPECT_EQ(others.release(given), release_result::released);
    EXPECT_EQ(others.look("name").holders.size(), 1U);
    EXPECT_TRUE(beside.valid());
  });
}

TEST_P(detached, any_fence_of_the_grant_is_proof) {
  play([this] {
    if (no_receipts()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    with_every_mode(locks, [&](const std::string& name, hold held) {
      SCOPED_TRACE(name);
      receipt given = held.detach();
      given.fence = fence{given.fence.value() + seam::fence_block - 1};  // as after many passes
      EXPECT_EQ(others.renew(given), others.lease());
      EXPECT_EQ(others.release(given), release_result::released);
      EXPECT_TRUE(others.look(name).holders.empty());
    });
  });
}

TEST_P(detached, a_forged_one_changes_nothing) {
  play([this] {
    if (no_receipts()) return;
    const client locks = stage().connect();
    with_every_mode(locks, [&](const std::string& name, hold held) {
      SCOPED_TRACE(name);
      const receipt given = held.detach();
      receipt wrong_owner = given;
      wrong_owner.owner = owner_id{owner_id::bytes_type{7}};
      receipt wrong_fence = given;
      wrong_fence.fence = fence{given.fence.value() + 2 * seam::fence_block};
      receipt older_fence = given;
      older_fence.fence = fence{given.fence.value() - 1};
      receipt wrong_name = given;
      wrong_name.name = lock_name{"other"};
      receipt wrong_engine = given;
      wrong_engine.engine = "nobody";
      for (const receipt& forged : {wrong_owner, wrong_fence, older_fence, wrong_name}) {
        EXPECT_EQ(code_of([&] { locks.renew(forged, 60s); }), errc::lost);
        EXPECT_EQ(locks.release(forged), release_result::lost);
      }
      EXPECT_EQ(code_of([&] { locks.renew(wrong_engine); }), errc::conflict);
      EXPECT_EQ(code_of([&] { (void)locks.release(wrong_engine); }), errc::conflict);
      EXPECT_TRUE(locks.look("other").holders.empty());
      const auto seen = locks.look(name).holders;
      ASSERT_EQ(seen.size(), 1U);
      EXPECT_EQ(seen[0].owner, given.owner);
      EXPECT_LE(seen[0].lease_left, locks.lease());
      EXPECT_EQ(locks.release(given), release_result::released);
    });
  });
}

TEST_P(detached, a_late_one_is_lost_and_harms_nobody) {
  play([this] {
    if (no_receipts()) return;
    const client locks = short_lived();
    const client others = stage().connect();
    const receipt given = mutex(locks, "name").acquire().detach();
    mutex next{others, "name"};
    const auto successor = next.try_acquire_for(20s);
    ASSERT_TRUE(successor);
    EXPECT_EQ(code_of([&] { locks.renew(given); }), errc::lost);
    EXPECT_EQ(locks.release(given), release_result::lost);
    EXPECT_TRUE(successor->valid());
    EXPECT_EQ(locks.look("name").holders.at(0).owner, successor->owner());
  });
}

TEST_P(detached, a_lost_answer_is_never_taken_for_a_loss) {
  play({ability::server_faults}, [this] {
    if (no_receipts()) return;
    options how;
    how.timeout = 1s;  // what a lost answer is waited for
    const client locks = stage().connect(how);
    with_every_mode(locks, [&](const std::string& name, hold held) {
      SCOPED_TRACE(name);
      const receipt given = held.detach();
      stage().lose_next_answer(observer::verb::renew);
      EXPECT_EQ(locks.renew(given), locks.lease());
      stage().lose_next_answer(observer::verb::release);
      EXPECT_EQ(locks.release(given), release_result::unknown);
      EXPECT_TRUE(eventually([&] { return locks.look(name).holders.empty(); }));
      EXPECT_EQ(locks.release(given), release_result::lost);
    });
  });
}

TEST_P(detached, who_renews_it_may_die_without_taking_it_along) {
  play({ability::processes}, [this] {
    if (no_receipts()) return;
    const client locks = stage().connect();
    auto before = stage().start_process("before", 30s);
    EXPECT_TRUE(before->say("acquire name 1000").starts_with("held"));
    const std::string text = before->say("detach name");
    before.reset();
    const auto after = stage().start_process("after", 30s);
    EXPECT_EQ(after->say("renew " + text), "renewed");
    after->kill();
    mutex lock{locks, "name"};
    EXPECT_FALSE(lock.try_acquire_for(1s));  // long enough for those who watch processes
    const auto seen = locks.look("name").holders;
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_FALSE(seen[0].who.empty()) << "who took it is known although it has gone";
    EXPECT_EQ(locks.release(receipt::parse(text)), release_result::released);
    EXPECT_TRUE(lock.try_acquire());
  });
}

TEST_P(detached, a_lease_out_of_range_and_a_closed_client_are_told) {
  play([this] {
    if (no_receipts()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    const receipt given = mutex(locks, "name").acquire().detach();
    EXPECT_EQ(code_of([&] { locks.renew(given, 0s); }), errc::invalid_lease);
    EXPECT_EQ(code_of([&] { locks.renew(given, 1000h); }), errc::invalid_lease);
    others.close();
    EXPECT_EQ(code_of([&] { others.renew(given); }), errc::closed);
    EXPECT_EQ(code_of([&] { (void)others.release(given); }), errc::closed);
    EXPECT_EQ(locks.release(given), release_result::released);
  });
}

}  // namespace
}  // namespace crosslock::conformance
