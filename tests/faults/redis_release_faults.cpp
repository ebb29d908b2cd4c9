// Releases that nobody waits for: what becomes of them when the server forgets its scripts, hangs
// up, is silent or far away, and when the process ends behind them.
#include "faults/redis_case.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::faults {
namespace {

class redis_releases : public redis_case {
 protected:
  bool taken(const std::string& name) { return server().say({"EXISTS", name}).text != "0"; }

  /// In a child that ends at once, without any destructor.
  static void unlock_and_exit(const std::string& url, int turns) {
    const pid_t child = ::fork();
    if (child == 0) {
      const client locks = crosslock::connect(url);
      mutex lock{locks, "name"};
      for (int i = 0; i < turns; ++i) {
        lock.lock();
        lock.unlock();
      }
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
};

TEST_F(redis_releases, F19_an_unlock_whose_script_was_forgotten_goes_out_again_by_itself) {
  const client locks = connect(long_lease);
  mutex lock{locks, "name"};
  for (int i = 0; i < 20; ++i) {
    lock.lock();
    ASSERT_EQ(server().say({"SCRIPT", "FLUSH"}).text, "OK");
    lock.unlock();
    // Nobody calls anything any more: the answer is read, and answered, in the background.
    ASSERT_TRUE(eventually([&] { return !taken("name"); }, stall)) << i;
  }
}

TEST_F(redis_releases, F19_a_client_whose_unlock_was_not_understood_does_not_meet_its_old_hold) {
  const client locks = connect(long_lease);
  mutex lock{locks, "name"};
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(lock.try_lock()) << i;
    server().say({"SCRIPT", "FLUSH"});
    lock.unlock();
  }
}

TEST_F(redis_releases, F17_what_was_unlocked_over_a_dead_connection_is_free_before_the_next_ask) {
  const client locks = connect(long_lease);
  mutex lock{locks, "name"};
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(lock.try_lock_for(5s)) << i;
    own_wire().add(
        {.going = way::to_server, .matches = is_verb(verb::release), .what = fate::reset()});
    lock.unlock();
  }
  EXPECT_TRUE(eventually([&] { return !taken("name"); }, 5s));
}

TEST_F(redis_releases, F17_an_idle_client_makes_a_new_connection_for_its_release) {
  const client locks = connect(long_lease);
  mutex lock{locks, "name"};
  lock.lock();
  own_wire().add(
      {.going = way::to_server, .matches = is_verb(verb::release), .what = fate::reset()});
  lock.unlock();
  EXPECT_TRUE(eventually([&] { return !taken("name"); }, 2s));
}

TEST_F(redis_releases, F5_a_lost_answer_to_an_unlock_costs_nobody_anything) {
  const client locks = connect(long_lease);
  mutex lock{locks, "name"};
  lock.lock();
  own_wire().add(
      {.going = way::to_client, .matches = is_verb(verb::release), .what = fate::reset()});
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_for(5s));
  lock.unlock();
}

TEST_F(redis_releases, F9_unlocking_on_a_frozen_server_returns_at_once) {
  const client locks = connect(long_lease);
  std::vector<std::unique_ptr<mutex>> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(std::make_unique<mutex>(locks, "name/" + std::to_string(i)));
    all.back()->lock();
  }
  server().stop();
  const time_point before = now();
  for (const auto& each : all) each->unlock();
  const duration taken_in_all = now() - before;
  server().go_on();
  EXPECT_LT(taken_in_all, 1s) << "each of 200 waited for the server";
  EXPECT_TRUE(eventually([&] { return server().say({"KEYS", "name/*"}).items.empty(); }, 10s));
}

TEST_F(redis_releases, F9_a_full_socket_goes_on_in_the_background) {
  const client locks = connect(long_lease);
  const std::string padding(480, 'x');
  constexpr int many = 3000;  // some 2 MB of releases: more than a socket takes
  std::vector<hold> holds;
  for (int i = 0; i < many; ++i) {
    holds.push_back(mutex{locks, "name/" + std::to_string(i) + padding}.acquire());
  }
  server().stop();
  const time_point before = now();
  holds.clear();
  const duration taken_in_all = now() - before;
  server().go_on();
  EXPECT_LT(taken_in_all, 3s);
  EXPECT_TRUE(eventually([&] { return server().say({"KEYS", "name/*"}).items.empty(); }, 20s));
}

TEST_F(redis_releases,
       F12_a_refused_unlock_is_not_forgotten_while_others_keep_the_connection_busy) {
  const client locks = connect(long_lease);
  mutex lock{locks, "name"};
  lock.lock();
  own_wire().add(
      {.going = way::to_client, .times = proxy::rule::always, .what = fate::delay(30ms)});
  server().say({"CONFIG", "SET", "min-replicas-to-write", "1"});
  lock.unlock();
  for (int i = 0; i < 10; ++i) (void)locks.look("another");
  EXPECT_TRUE(taken("name"));
  server().say({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(eventually([&] { return !taken("name"); }, 2s));
}

TEST_F(redis_releases, F12_whoever_asks_next_sends_a_refused_unlock_first) {
  const client locks = connect(long_lease);
  mutex lock{locks, "name"};
  lock.lock();
  server().say({"CONFIG", "SET", "min-replicas-to-write", "1"});
  lock.unlock();
  EXPECT_THROW((void)lock.try_lock(), error);  // it has heard that it was refused, too
  server().say({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// What a planned failover does to a primary whose connections stay open.
TEST_F(redis_releases, F9_an_unlock_that_a_replica_refused_goes_out_again_when_it_is_the_primary) {
  const client locks = connect(long_lease);
  mutex lock{locks, "name"};
  lock.lock();
  ASSERT_EQ(server().say({"REPLICAOF", "127.0.0.1", "1"}).text, "OK");  // nobody is there
  lock.unlock();
  EXPECT_TRUE(eventually([&] {
    return server().say({"INFO", "errorstats"}).text.find("errorstat_READONLY") !=
           std::string::npos;
  }));
  EXPECT_TRUE(taken("name"));
  ASSERT_EQ(server().say({"REPLICAOF", "NO", "ONE"}).text, "OK");
  // Nobody calls anything: the client connects by itself for what it has to give back.
  EXPECT_TRUE(eventually([&] { return !taken("name"); }, 5s));
  EXPECT_TRUE(lock.try_lock_for(5s));
  lock.unlock();
}

// Giving back needs no memory: neither the plain way, nor with a handover, nor by the text of a
// script that was forgotten.
TEST_F(redis_releases, F20_an_unlock_on_a_server_without_memory_is_carried_out) {
  const client locks = connect(long_lease);
  const client others = connect(long_lease);
  for (const bool forgotten : {false, true}) {
    for (const bool waited_for : {false, true}) {
      SCOPED_TRACE(std::string{forgotten ? "forgotten" : "known"} + (waited_for ? ", waiter" : ""));
      mutex lock{locks, "name"};
      mutex next{others, "name"};
      lock.lock();
      std::promise<hold> passed;
      if (waited_for) {
        next.acquire_async(
            [&](acquire_result result) { passed.set_value(std::move(*result.hold)); });
        EXPECT_TRUE(line_reaches(others, "name", 1));
      }
      if (forgotten) server().say({"SCRIPT", "FLUSH"});
      server().say({"CONFIG", "SET", "maxmemory", "1"});
      lock.unlock();
      if (waited_for) {
        auto got = passed.get_future();
        ASSERT_EQ(got.wait_for(5s), std::future_status::ready);
        EXPECT_TRUE(got.get().valid());
      }
      EXPECT_TRUE(eventually([&] { return !taken("name"); }, 5s));
      server().say({"CONFIG", "SET", "maxmemory", "0"});
    }
  }
}

TEST_F(redis_releases, F9_an_unlock_that_vanishes_behind_an_answered_request_is_sent_again) {
  options how;
  how.timeout = 1s;
  const client locks = connect(long_lease, how);
  mutex lock{locks, "name"};
  lock.lock();
  (void)locks.look("another");  // its script is known from now on
  auto& wire = own_wire();
  const auto late = wire.add(
      {.going = way::to_client, .matches = is_verb(verb::look), .what = fate::delay(100ms)});
  case_threads looks;
  looks.start([&](const std::stop_token&) { (void)locks.look("another"); });
  EXPECT_TRUE(wire.await(late));
  wire.add({.going = way::to_server, .matches = is_verb(verb::release), .what = fate::hold()});
  lock.unlock();
  looks.join();
  EXPECT_TRUE(eventually([&] { return !taken("name"); }, 4s));
}

TEST_F(redis_releases, F1_a_process_that_ends_behind_its_unlock_leaves_nothing) {
  const std::string url = "redis+unix://" + server().address().path;
  for (int i = 0; i < 20; ++i) {
    server().say({"SCRIPT", "FLUSH"});  // also when the server has never heard of our scripts
    unlock_and_exit(url, 1 + i % 3);
    EXPECT_TRUE(eventually([&] { return !taken("name"); }, 1s)) << i;
  }
}

TEST_F(redis_releases, F9_a_thousand_holds_at_a_distance_are_given_back_by_close_in_time) {
  options how;
  how.lease = long_lease;
  client locks = testbed().connect(how);
  std::vector<hold> holds;
  for (int i = 0; i < 1000; ++i) {
    holds.push_back(mutex{locks, "name/" + std::to_string(i)}.acquire());
  }
  own_wire().add(
      {.going = way::to_client, .times = proxy::rule::always, .what = fate::delay(10ms)});
  const time_point before = now();
  locks.close();
  EXPECT_LT(now() - before, 2s);
  EXPECT_TRUE(server().say({"KEYS", "name/*"}).items.empty());
}

}  // namespace
}  // namespace crosslock::faults
