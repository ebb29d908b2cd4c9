// What look and list show, and what breaking does.
#include "conformance/fixture.hpp"

#include <atomic>
#include <mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(inspect);

TEST_P(inspect, look_shows_the_holder_and_the_line_in_order) {
  play([this] {
    options how;
    how.who = "the first";
    const client locks = stage().connect(how);
    const client viewer = stage().connect();
    mutex lock{locks, "name"};
    const time_point before = stage().now();
    auto held = lock.acquire();
    thread_group threads{stage().clock()};
    for (std::size_t i = 0; i < 4; ++i) {
      threads.start([&, i] {
        options mine;
        mine.who = "waiter " + std::to_string(i);
        mutex waiting{stage().connect(mine), "name"};
        EXPECT_TRUE(waiting.try_acquire_for(20s));
      });
      EXPECT_TRUE(line_reaches(viewer, "name", i + 1));
    }
    const lock_info seen = viewer.look("name");
    EXPECT_EQ(seen.name, "name");
    ASSERT_EQ(seen.holders.size(), 1U);
    const claim_info& holder = seen.holders[0];
    EXPECT_EQ(holder.owner, held.owner());
    EXPECT_EQ(holder.fence, held.fence());
    EXPECT_EQ(holder.mode, claim_mode::exclusive);
    EXPECT_NE(holder.who.find("the first"), std::string::npos) << holder.who;
    EXPECT_GT(holder.lease_left, locks.lease() / 2);
    EXPECT_LE(holder.lease_left, locks.lease());
    EXPECT_LE(holder.age, stage().now() - before);
    ASSERT_EQ(seen.line.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string who = "waiter " + std::to_string(i);
      EXPECT_NE(seen.line[i].who.find(who), std::string::npos) << seen.line[i].who;
      EXPECT_FALSE(seen.line[i].owner.nobody());
      EXPECT_LE(seen.line[i].age, stage().now() - before);
      if (i > 0) {
        EXPECT_LE(seen.line[i].age, seen.line[i - 1].age);
      }
    }
    held.release();
  });
}

TEST_P(inspect, look_shows_how_many_permits_of_how_many) {
  play([this] {
    const client locks = stage().connect();
    const client viewer = stage().connect();
    if (!stage().traits().permits) return;  // permits.* say what such an engine answers
    semaphore lock{locks, "name", 5};
    const auto two = lock.acquire(2);
    const auto alone = viewer.look("name").holders;
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_EQ(std::pair(alone[0].permits, alone[0].of), std::pair(2, 5));
    auto three = lock.acquire(3);
    thread_group threads{stage().clock()};
    threads.start([&] {
      semaphore waiting{stage().connect(), "name", 5};
      EXPECT_TRUE(waiting.try_acquire_for(20s, 4));
    });
    EXPECT_TRUE(line_reaches(viewer, "name", 1));
    const lock_info seen = viewer.look("name");
    ASSERT_EQ(seen.holders.size(), 2U);
    for (const claim_info& each : seen.holders) {
      EXPECT_EQ(each.mode, claim_mode::permit);
      EXPECT_EQ(std::pair(each.permits, each.of), std::pair(each.owner == two.owner() ? 2 : 3, 5));
      EXPECT_FALSE(each.foreign);
    }
    EXPECT_EQ(std::pair(seen.line[0].permits, seen.line[0].of), std::pair(4, 5));
    mutex whole{locks, "other"};
    const auto held = whole.acquire();
    const claim_info other = viewer.look("other").holders.at(0);
    EXPECT_EQ(std::pair(other.permits, other.of), std::pair(1, 1));
    EXPECT_EQ(three.release(), release_result::released);
    EXPECT_TRUE(viewer.break_lock("name", two.owner()));
  });
}

TEST_P(inspect, look_at_what_nobody_uses_shows_nothing) {
  play([this] {
    const client locks = stage().connect();
    const lock_info seen = locks.look("never used");
    EXPECT_EQ(seen.name, "never used");
    EXPECT_TRUE(seen.holders.empty());
    EXPECT_TRUE(seen.line.empty());
    EXPECT_TRUE(locks.list().empty());
  });
}

TEST_P(inspect, the_lease_that_is_left_shrinks_until_it_is_renewed) {
  play({ability::long_times}, [this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    const hold held = lock.acquire();
    if (stage().traits().lease_is_session) {
      // How much is left of a session is known to its servers alone: its length is shown.
      stage().sleep(2s);
      EXPECT_EQ(stage().connect().look("name").holders.at(0).lease_left, locks.lease());
      EXPECT_GE(stage().connect().look("name").holders.at(0).age, 2s);
      return;
    }
    stage().sleep(9s);
    EXPECT_LE(locks.look("name").holders.at(0).lease_left, 21s);
    EXPECT_GE(locks.look("name").holders.at(0).age, 9s);
    stage().sleep(2s);
    EXPECT_GE(locks.look("name").holders.at(0).lease_left, 28s);
    EXPECT_GE(locks.look("name").holders.at(0).age, 11s);
  });
}

TEST_P(inspect, list_shows_every_name_with_the_prefix_in_order) {
  play([this] {
    const client locks = stage().connect();
    const client viewer = stage().connect();
    mutex c{locks, "b/c"};
    mutex a{locks, "b/a"};
    mutex other{locks, "c/a"};
    mutex plain{locks, "b"};
    const std::scoped_lock all{c, a, other, plain};
    const auto names = [&](const std::string& prefix) {
      std::vector<std::string> found;
      for (const lock_info& each : viewer.list(prefix)) {
        EXPECT_EQ(each.holders.size(), 1U);
        found.push_back(each.name);
      }
      return found;
    };
    EXPECT_EQ(names(""), (std::vector<std::string>{"b", "b/a", "b/c", "c/a"}));
    EXPECT_EQ(names("b/"), (std::vector<std::string>{"b/a", "b/c"}));
    EXPECT_EQ(names("b/a"), (std::vector<std::string>{"b/a"}));
    EXPECT_EQ(names("d"), (std::vector<std::string>{}));
  });
}

TEST_P(inspect, breaking_frees_tells_the_holder_and_raises_the_fence) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    const client admin = stage().connect();
    mutex lock{locks, "name"};
    mutex next{admin, "name"};
    auto held = lock.acquire();
    EXPECT_FALSE(admin.break_lock("name", owner_id{}));
    EXPECT_FALSE(admin.break_lock("name", owner_id{owner_id::bytes_type{1}}));
    EXPECT_FALSE(admin.break_lock("other", held.owner()));
    EXPECT_TRUE(held.valid());
    const owner_id owner = admin.look("name").holders.at(0).owner;
    EXPECT_TRUE(admin.break_lock("name", owner));
    EXPECT_FALSE(admin.break_lock("name", owner));
    const auto successor = next.try_acquire();
    ASSERT_TRUE(successor);
    EXPECT_GT(successor->fence(), held.fence());
    EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
    EXPECT_TRUE(eventually([&] { return !heard->losses().empty(); }));
    EXPECT_EQ(held.lost_reason(), loss_reason::broken);
    EXPECT_EQ(heard->losses(), (std::vector{loss_reason::broken}));
    EXPECT_EQ(held.release(), release_result::lost);
    EXPECT_TRUE(successor->valid());
  });
}

TEST_P(inspect, breaking_serves_the_line) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex next{others, "name"};
    const hold held = lock.acquire();
    thread_group threads{stage().clock()};
    threads.start([&] {
      const auto mine = next.try_acquire_for(20s);
      ASSERT_TRUE(mine);
      EXPECT_GT(mine->fence(), held.fence());
    });
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    EXPECT_TRUE(locks.break_lock("name", held.owner()));
  });
}

}  // namespace
}  // namespace crosslock::conformance
