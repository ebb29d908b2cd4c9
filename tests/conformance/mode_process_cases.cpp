// Readers, writers and holders of permits in other processes: killed, frozen, cut off.
#include "conformance/fixture.hpp"

#include <atomic>
#include <sstream>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class mode_process : public conformance_case {
 protected:
  /// Runs when the engine has both kinds.
  void play_modes(const std::function<void()>& body) {
    play({ability::processes}, [&] {
      if (stage().traits().shared && stage().traits().permits) body();
    });
  }

  std::vector<std::unique_ptr<actor>> start_processes(int count, duration lease) {
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < count; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), lease));
    }
    return actors;
  }

  duration dead_within(duration of_lease) {
    return stage().bounds().dead_holder.value_or(of_lease + stage().bounds().after_lease);
  }
};
CONFORMANCE_ON_EVERY_STAGE(mode_process);

TEST_P(mode_process, a_writer_is_in_within_the_lease_of_crashed_readers) {
  play_modes([this] {
    for (const bool waiting_already : {true, false}) {
      const auto readers = start_processes(3, lease());
      const client locks = stage().connect();
      shared_mutex lock{locks, "name"};
      for (const auto& each : readers) {
        EXPECT_TRUE(each->say("share name 20000").starts_with("held"));
        each->send("work name 60000");
      }
      std::atomic<time_point> in{time_point{}};
      const auto take = [&] {
        const auto mine = acquire(of(stage()), lock, claim_mode::exclusive, 60s);
        in = stage().now();
        EXPECT_TRUE(mine);
      };
      thread_group threads{stage().clock()};
      if (waiting_already) {
        threads.start(take);
        EXPECT_TRUE(line_reaches(locks, "name", 1));
      }
      stage().sleep(lease() / 2);
      EXPECT_EQ(locks.look("name").holders.size(), 3U);
      for (const auto& each : readers) each->kill();
      const time_point dead = stage().now();
      if (!waiting_already) threads.start(take);
      threads.join();
      EXPECT_LE(in.load() - dead, lease() + stage().bounds().after_lease);
      for (const auto& each : readers) EXPECT_EQ(each->answer(), "dead");
    }
    judge();
  });
}

TEST_P(mode_process, one_crashed_reader_takes_nothing_from_the_others) {
  play_modes([this] {
    const auto readers = start_processes(2, lease());
    const client locks = stage().connect();
    shared_mutex lock{locks, "name"};
    const auto mine = acquire(of(stage()), lock, claim_mode::shared, 20s);
    for (const auto& each : readers) {
      EXPECT_TRUE(each->say("share name 20000").starts_with("held"));
    }
    readers[0]->kill();
    EXPECT_TRUE(eventually([&] { return locks.look("name").holders.size() == 2; }));
    EXPECT_EQ(readers[1]->say("work name 100"), "held");
    EXPECT_TRUE(mine->held().valid());
    EXPECT_EQ(readers[1]->say("release name"), "released");
  });
}

TEST_P(mode_process, a_reader_frozen_past_its_lease_is_told_on_waking) {
  play_modes([this] {
    const auto reader = stage().start_process("reader", lease());
    const client locks = stage().connect();
    shared_mutex lock{locks, "name"};
    EXPECT_TRUE(reader->say("share name 20000").starts_with("held"));
    reader->freeze();
    const auto writer = acquire(of(stage()), lock, claim_mode::exclusive, 20s);
    ASSERT_TRUE(writer);
    reader->send("valid name");
    reader->thaw();
    EXPECT_EQ(reader->answer(), "no");
    EXPECT_EQ(reader->say("work name 50"), "lost");
    EXPECT_TRUE(reader->say("told name").starts_with("1 "));
    EXPECT_EQ(reader->say("release name"), "lost");
    EXPECT_TRUE(writer->held().valid());
    EXPECT_FALSE(lock.try_acquire_shared());
    judge();
  });
}

TEST_P(mode_process, readers_get_in_after_a_waiting_writer_crashed) {
  play_modes([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    const hold old = lock.acquire_shared();
    const auto writer = stage().start_process("writer", 30s);
    writer->send("acquire name 1000000");
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    writer->kill();
    const time_point killed = stage().now();
    EXPECT_TRUE(theirs.try_acquire_shared_for(60s));
    EXPECT_TRUE(lock.try_acquire_shared_for(60s));
    EXPECT_LE(stage().now() - killed, stage().frozen_waiter_bound(30s));
    EXPECT_TRUE(old.valid());
  });
}

TEST_P(mode_process, permits_of_crashed_holders_come_back) {
  play_modes([this] {
    const auto holders = start_processes(3, lease());
    const client locks = stage().connect();
    semaphore lock{locks, "name", 7};
    for (const auto& each : holders) {
      EXPECT_TRUE(each->say("permit name 2 7 20000").starts_with("held"));
      each->send("work name 60000");
    }
    const auto one = acquire(of(stage()), lock, 1, 20s);
    ASSERT_TRUE(one);
    EXPECT_FALSE(lock.try_acquire());
    stage().sleep(lease() / 2);
    for (const std::size_t i : {0U, 2U}) holders[i]->kill();
    const time_point dead = stage().now();
    {
      const auto four = acquire(of(stage()), lock, 4, 60s);
      ASSERT_TRUE(four);
      EXPECT_LE(stage().now() - dead, lease() + stage().bounds().after_lease);
      EXPECT_FALSE(lock.try_acquire());  // two are with the one that lives
    }
    holders[1]->kill();
    EXPECT_TRUE(acquire(of(stage()), lock, 6, 60s));
    judge();
  });
}

TEST_P(mode_process, a_dead_reader_and_a_dead_holder_of_permits_are_seen_as_soon_as_promised) {
  play_modes([this] {
    const duration held_for = stage().bounds().dead_holder ? duration{30s} : lease();
    const auto both = start_processes(2, held_for);
    const client locks = stage().connect();
    shared_mutex lock{locks, "name"};
    semaphore numbers{locks, "numbers", 2};
    EXPECT_TRUE(both[0]->say("share name 20000").starts_with("held"));
    EXPECT_TRUE(both[1]->say("permit numbers 2 2 20000").starts_with("held"));
    for (const auto& each : both) each->kill();
    const time_point dead = stage().now();
    EXPECT_TRUE(lock.try_acquire_for(60s));
    EXPECT_LE(stage().now() - dead, dead_within(held_for));
    EXPECT_TRUE(numbers.try_acquire_for(60s, 2));
    EXPECT_LE(stage().now() - dead, 2 * dead_within(held_for));
  });
}

TEST_P(mode_process, a_crash_in_a_waiting_upgrade_leaves_the_name_to_the_others) {
  play_modes([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto mine = lock.acquire_shared();
    const auto upgrader = stage().start_process("upgrader", lease());
    EXPECT_TRUE(upgrader->say("share name 20000").starts_with("held"));
    upgrader->send("upgrade name 1000000");
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    upgrader->kill();
    const time_point dead = stage().now();
    EXPECT_TRUE(theirs.try_acquire_shared_for(60s));  // it had stood behind the upgrade
    mine.release();
    EXPECT_TRUE(theirs.try_acquire_for(60s));
    EXPECT_LE(stage().now() - dead, lease() + stage().bounds().after_lease);
    EXPECT_EQ(upgrader->answer(), "dead");
  });
}

TEST_P(mode_process, upgrades_and_downgrades_of_two_processes_take_turns) {
  play_modes([this] {
    const auto both = start_processes(2, 30s);
    for (const auto& each : both) {
      EXPECT_TRUE(each->say("share name 20000").starts_with("held"));
    }
    EXPECT_EQ(both[0]->say("upgrade name 50"), "shared");
    const client locks = stage().connect();
    EXPECT_TRUE(locks.look("name").line.empty());
    both[0]->send("upgrade name 1000000");
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    EXPECT_EQ(both[1]->say("upgrade name 1000000"),
              "error " + make_error_code(errc::upgrade_conflict).message());
    EXPECT_EQ(both[1]->say("valid name"), "yes");
    EXPECT_EQ(both[1]->say("release name"), "released");
    const std::string exclusive = both[0]->answer();
    EXPECT_TRUE(exclusive.starts_with("exclusive ")) << exclusive;
    both[1]->send("share name 60000");
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    EXPECT_EQ(both[0]->say("downgrade name"), "shared" + exclusive.substr(9));
    EXPECT_TRUE(both[1]->answer().starts_with("held"));
    for (const auto& each : both) EXPECT_EQ(each->say("release name"), "released");
    judge();
  });
}

}  // namespace
}  // namespace crosslock::conformance
