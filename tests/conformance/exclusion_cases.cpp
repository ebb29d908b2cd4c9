// At most one holder: among threads, among clients, among processes.
#include "conformance/fixture.hpp"

#include <mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(exclusion);

TEST_P(exclusion, threads_of_one_client_exclude_each_other) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "counter"};
    thread_group threads{stage().clock()};
    for (std::int32_t t = 0; t < 8; ++t) {
      threads.start([&, t] { EXPECT_EQ(increment(of(stage()), lock, 25, 1ms, t), 25); });
    }
    threads.join();
    EXPECT_EQ(stage().resource().read("counter"), 200);
    judge();
  });
}

TEST_P(exclusion, clients_exclude_each_other) {
  play([this] {
    thread_group threads{stage().clock()};
    for (std::int32_t t = 0; t < 8; ++t) {
      threads.start([&, t] {
        const client locks = stage().connect();
        mutex lock{locks, "counter"};
        EXPECT_EQ(increment(of(stage()), lock, 25, 1ms, t), 25);
      });
    }
    threads.join();
    EXPECT_EQ(stage().resource().read("counter"), 200);
    judge();
  });
}

TEST_P(exclusion, processes_exclude_each_other) {
  play({ability::processes}, [this] {
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 6; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), 30s));
      actors.back()->send("loop counter 20 1000");
    }
    for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 20");
    EXPECT_EQ(stage().resource().read("counter"), 120);
    judge();
  });
}

TEST_P(exclusion, two_objects_of_one_name_exclude_each_other) {
  play([this] {
    const client locks = stage().connect();
    mutex plain{locks, "name"};
    mutex same{locks, "name"};
    recursive_mutex recursive{locks, "name"};
    {
      const std::scoped_lock held{plain};
      EXPECT_FALSE(same.try_lock());
      EXPECT_FALSE(recursive.try_lock());
    }
    recursive.lock();
    EXPECT_FALSE(plain.try_lock());
    recursive.unlock();
    EXPECT_TRUE(same.try_lock());
    same.unlock();
  });
}

TEST_P(exclusion, names_do_not_exclude_each_other) {
  play([this] {
    const client locks = stage().connect();
    mutex one{locks, "one"};
    mutex two{locks, "two"};
    const std::scoped_lock both{one, two};
    EXPECT_EQ(locks.list().size(), 2U);
  });
}

TEST_P(exclusion, run_is_one_at_a_time_and_try_run_is_empty_when_busy) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    int inside = 0;
    thread_group threads{stage().clock()};
    for (int t = 0; t < 4; ++t) {
      threads.start([&, t] {
        const client& mine = t % 2 == 0 ? locks : others;
        for (int i = 0; i < 10; ++i) {
          const bool alone = mine.run("job", [&](hold& held) {
            const bool first = ++inside == 1;
            stage().sleep(100us);
            return first && inside-- == 1 && held.valid();
          });
          EXPECT_TRUE(alone);
        }
      });
    }
    threads.join();
    locks.run("job", [&] { EXPECT_FALSE(others.try_run("job", [] { return 1; })); });
    EXPECT_EQ(others.try_run("job", [] { return 1; }), 1);
  });
}

}  // namespace
}  // namespace crosslock::conformance
