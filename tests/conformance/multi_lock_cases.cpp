// Several locks as one: all or nothing, whatever the order in which they are given, and nobody
// waits for anybody in a circle.
#include "cells/agreement.hpp"
#include "conformance/fixture.hpp"
#include "conformance/multi_work.hpp"

#include <algorithm>
#include <atomic>
#include <random>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class multi : public conformance_case {
 protected:
  std::size_t holders(const client& locks, const std::string& name) {
    return locks.look(name).holders.size();
  }
  bool all_free(const client& locks, const std::vector<std::string>& names) {
    return eventually([&] {
      return std::all_of(names.begin(), names.end(), [&](const std::string& each) {
        const lock_info seen = locks.look(each);
        return seen.holders.empty() && seen.line.empty();
      });
    });
  }
  /// Every stage but the simulated one: there another engine's clock would be another one.
  bool real_time() const { return GetParam()->cannot.contains(ability::long_times); }
};
CONFORMANCE_ON_EVERY_STAGE(multi);

TEST_P(multi, all_are_held_and_then_none) {
  play([this] {
    const client locks = stage().connect();
    multi_lock three{locks, {"c", "a", "b"}};
    auto held = three.acquire();
    EXPECT_TRUE(held.valid());
    held.check();
    EXPECT_EQ(held.size(), 3U);
    for (const char* name : {"a", "b", "c"}) EXPECT_EQ(holders(locks, name), 1U);
    EXPECT_GT(held.expires_at(), stage().now());
    EXPECT_LE(held.expires_at(), stage().now() + locks.lease());
    EXPECT_TRUE(held.release_results().empty());
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_EQ(held.release_results(), std::vector(3, release_result::released));
    EXPECT_TRUE(all_free(locks, {"a", "b", "c"}));
    EXPECT_FALSE(held.valid());
    EXPECT_FALSE(held.lost().stop_requested());
    EXPECT_EQ(held.release(), release_result::not_held);
    EXPECT_EQ(code_of([&] { held.check(); }), errc::not_held);
    { const auto again = three.try_acquire(); }
    EXPECT_TRUE(all_free(locks, {"a", "b", "c"}));
  });
}

TEST_P(multi, when_one_cannot_be_had_nothing_is_held) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    const auto theirs = mutex{other, "b"}.acquire();
    multi_lock both{locks, {"a", "b"}};
    EXPECT_FALSE(both.try_acquire());
    EXPECT_EQ(holders(other, "a"), 0U);

    const time_point before = stage().now();
    EXPECT_FALSE(both.try_acquire_for(50ms));
    EXPECT_GE(stage().now() - before, 50ms);
    EXPECT_LE(stage().now() - before, 50ms + stage().bounds().wake_up);
    EXPECT_EQ(holders(other, "a"), 0U);
    EXPECT_TRUE(line_reaches(other, "b", 0));

    std::stop_source stop;
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_FALSE(both.try_acquire_for(20s, {.stop = stop.get_token()})); });
    EXPECT_TRUE(line_reaches(other, "b", 1));
    EXPECT_EQ(holders(other, "a"), 1U);  // the first is held while the second is waited for
    stop.request_stop();
    threads.join();
    EXPECT_EQ(holders(other, "a"), 0U);
    EXPECT_TRUE(line_reaches(other, "b", 0));
  });
}

TEST_P(multi, an_error_lets_go_of_what_was_taken) {
  play([this] {
    const client locks = stage().connect();
    const client closing = stage().connect();
    const client other = stage().connect();
    const auto theirs = mutex{other, "b"}.acquire();
    multi_lock both{{locks, "a"}, {closing, "b"}};
    thread_group threads{stage().clock()};
    threads.start(
        [&] { EXPECT_EQ(code_of([&] { static_cast<void>(both.acquire()); }), errc::closed); });
    EXPECT_TRUE(line_reaches(other, "b", 1));
    closing.close();
    threads.join();
    EXPECT_EQ(holders(other, "a"), 0U);
  });
}

TEST_P(multi, fences_come_in_the_order_given_and_duplicates_are_taken_once) {
  play([this] {
    const client locks = stage().connect();
    multi_lock given{locks, {"b", "a", "b", "b"}};
    EXPECT_EQ(given.size(), 4U);
    auto held = given.acquire();
    const auto fences = held.fences();
    ASSERT_EQ(fences.size(), 4U);
    EXPECT_EQ(fences[0], fences[2]);
    EXPECT_EQ(fences[0], fences[3]);
    EXPECT_EQ(fences[0].to_string(), locks.look("b").holders.at(0).fence.to_string());
    EXPECT_EQ(fences[1].to_string(), locks.look("a").holders.at(0).fence.to_string());
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_EQ(held.release_results().size(), 4U);
  });
}

TEST_P(multi, one_name_by_several_clients_of_a_server_is_one) {
  play([this] {
    const client plain = stage().connect();
    const client same = stage().connect();
    options how;
    how.prefix = "p/";
    const client prefixed = stage().connect(how);
    multi_lock three{{plain, "p/x"}, {same, "p/x"}, {prefixed, "x"}};
    auto held = three.try_acquire_for(20s);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->fences()[0], held->fences()[1]);
    EXPECT_EQ(held->fences()[0], held->fences()[2]);
    EXPECT_EQ(holders(plain, "p/x"), 1U);
    // Without the prefix it is another one.
    auto free = multi_lock{{plain, "x"}, {same, "y"}}.try_acquire();
    EXPECT_TRUE(free);
  });
}

TEST_P(multi, one_name_on_two_servers_is_two) {
  play([this] {
    if (!real_time()) return;
    const client here = stage().connect();
    const client there =
        connect("memory:of-" + std::to_string(stage().now().time_since_epoch().count()));
    multi_lock first{{here, "x"}, {there, "x"}};
    multi_lock second{{there, "x"}, {here, "x"}};
    auto held = first.acquire();
    EXPECT_EQ(holders(here, "x"), 1U);
    EXPECT_EQ(holders(there, "x"), 1U);
    EXPECT_FALSE(second.try_acquire());
    held.release();
    // From both sides at once.
    std::atomic<int> done{0};
    thread_group threads{stage().clock()};
    for (multi_lock* each : {&first, &second, &first, &second}) {
      threads.start([&done, each] {
        for (int i = 0; i < 25; ++i) {
          const auto mine = each->acquire();
          done += mine.valid();
        }
      });
    }
    threads.join();
    EXPECT_EQ(done, 100);
    EXPECT_TRUE(there.list().empty());
  });
}

TEST_P(multi, everybody_reads_the_same_id_of_the_server) {
  play([this] {
    if (!stage().traits().cells) return;
    std::vector<client> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(stage().connect());
    std::vector<std::string> ids(clients.size());
    thread_group threads{stage().clock()};
    for (std::size_t i = 0; i < clients.size(); ++i) {
      threads.start([&, i] { ids[i] = inner::server_id(*clients[i].core()); });
    }
    threads.join();
    EXPECT_EQ(ids, std::vector(ids.size(), ids[0]));
    EXPECT_EQ(ids[0].size(), 32U);
    EXPECT_EQ(inner::server_id(*clients[0].core()), ids[0]);
  });
}

TEST_P(multi, opposite_orders_from_many_threads_never_deadlock) {
  play([this] {
    constexpr std::size_t threads_count = 8;
    constexpr int times = 10;
    const std::vector<std::string> names{"a", "b", "c", "d"};
    std::vector<std::int64_t> expected(names.size());
    {
      thread_group threads{stage().clock()};
      for (std::size_t t = 0; t < threads_count; ++t) {
        std::vector<std::string> mine = names;
        std::shuffle(mine.begin(), mine.end(), std::mt19937{static_cast<unsigned>(t)});
        mine.resize(2 + t % 3);
        for (std::size_t i = 0; i < names.size(); ++i) {
          expected[i] += std::count(mine.begin(), mine.end(), names[i]) * times;
        }
        threads.start([this, mine, times] {
          const client locks = steady();
          multi_lock all{locks, mine};
          EXPECT_EQ(increment_all(of(stage()), all, mine, times, 200us), times);
        });
      }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(stage().resource().read(names[i]), expected[i]) << names[i];
    }
  });
}

TEST_P(multi, opposite_orders_from_threads_of_one_client_never_deadlock) {
  play([this] {
    const client locks = steady();
    thread_group threads{stage().clock()};
    for (int t = 0; t < 6; ++t) {
      std::vector<std::string> mine{"a", "b", "c"};
      std::rotate(mine.begin(), mine.begin() + t % 3, mine.end());
      threads.start([this, &locks, mine] {
        multi_lock all{locks, mine};
        EXPECT_EQ(increment_all(of(stage()), all, mine, 20, 0us), 20);
      });
    }
    threads.join();
    EXPECT_EQ(stage().resource().read("a"), 120);
    EXPECT_EQ(stage().resource().read("c"), 120);
  });
}

TEST_P(multi, std_scoped_lock_over_several_mutexes_never_deadlocks) {
  play([this] {
    std::atomic<int> inside{0};
    std::atomic<int> done{0};
    thread_group threads{stage().clock()};
    for (int t = 0; t < 4; ++t) {
      threads.start([&, t] {
        const client locks = steady();
        mutex a{locks, "a"};
        mutex b{locks, "b"};
        multi_lock c_d{locks, {"d", "c"}};
        for (int i = 0; i < 5; ++i) {
          const auto work = [&] {
            EXPECT_EQ(++inside, 1);
            stage().sleep(100us);
            --inside;
            ++done;
          };
          if (t % 2 == 0) {
            const std::scoped_lock guard{a, b, c_d};
            work();
          } else {
            const std::scoped_lock guard{c_d, b, a};
            work();
          }
        }
      });
    }
    threads.join();
    EXPECT_EQ(done, 20);
  });
}

TEST_P(multi, opposite_orders_from_many_processes_never_deadlock) {
  play({ability::processes}, [this] {
    const char* orders[] = {"a b c", "c b a", "b c", "a c", "c a b", "b a", "c a", "b c a"};
    std::vector<std::unique_ptr<actor>> actors;
    for (const char* order : orders) {
      actors.push_back(stage().start_process("p" + std::to_string(actors.size()), 30s));
      actors.back()->send(std::string{"multi loop 10 500 "} + order);
    }
    for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 10");
    EXPECT_EQ(stage().resource().read("a"), 70);
    EXPECT_EQ(stage().resource().read("b"), 60);
    EXPECT_EQ(stage().resource().read("c"), 70);
  });
}

TEST_P(multi, kills_in_the_middle_keep_nobody_out_for_longer_than_a_lease) {
  play({ability::processes}, [this] {
    const client locks = steady();
    multi_lock all{locks, {"c", "b", "a"}};
    for (int round = 0; round < 3; ++round) {
      const auto holder = stage().start_process("holder", lease());
      const auto waiter = stage().start_process("waiter", lease());
      EXPECT_TRUE(holder->say("multi acquire 20000 a c b").starts_with("held"));
      waiter->send("multi acquire 600000 b a");  // stands in the line of a
      EXPECT_TRUE(line_reaches(locks, "a", 1));
      if (round != 1) waiter->kill();
      holder->kill();
      const time_point killed = stage().now();
      if (round == 1) {  // the living waiter comes first
        EXPECT_TRUE(waiter->answer().starts_with("held"));
        EXPECT_EQ(waiter->say("multi release"), "released released released");
      }
      auto held = all.try_acquire_for(20s);
      ASSERT_TRUE(held);
      // Each of the dead may keep the name for one lease or one place in the line.
      EXPECT_LE(stage().now() - killed, 2 * (lease() + stage().bounds().after_lease));
      EXPECT_EQ(held->release(), release_result::released);
    }
  });
}

TEST_P(multi, many_processes_that_are_killed_leave_nothing_wrong) {
  play({ability::processes}, [this] {
    const char* orders[] = {"a b c", "c b a", "b c a", "a c b", "c a b", "b a c"};
    std::vector<std::unique_ptr<actor>> actors;
    for (const char* order : orders) {
      actors.push_back(stage().start_process("p" + std::to_string(actors.size()), lease()));
      actors.back()->send(std::string{"multi loop 1000000 500 "} + order);
    }
    for (const auto& each : actors) {
      stage().sleep(lease() / 10);
      each->kill();
    }
    // Whoever comes later gets all of them, and can write under each fence.
    const client locks = steady();
    const std::vector<std::string> names{"b", "c", "a"};
    multi_lock all{locks, names};
    auto held = all.try_acquire_for(60s);
    ASSERT_TRUE(held);
    EXPECT_TRUE(increment_each(of(stage()), names, *held, 0us));
    held->release();
  });
}

}  // namespace
}  // namespace crosslock::conformance
