// Who says that the lock is ours? Only the server that wrote it down, and only after it did. Redis
// also hands what is published on to its replicas, whose subscribers nobody counts, and counts
// subscribers of patterns, who are nobody's client.
#include "faults/redis_case.hpp"

#include <atomic>
#include <charconv>
#include <memory>
#include <thread>
#include <vector>

namespace crosslock::faults {
namespace {

bool is_subscription(const proxy::connection_seen& each) { return each.subscription; }
bool is_for_commands(const proxy::connection_seen& each) { return !each.subscription; }

/// Writes down, a thousand times a second, whom the server itself shows as the holder (I13).
class onlooker {
 public:
  onlooker(checker::recorder& book, const servers::redis_server& primary, std::string name)
      : book_{book}, name_{std::move(name)}, talk_{primary.address()} {
    thread_ = std::thread{[this] { watch(); }};
  }
  ~onlooker() {
    over_ = true;
    thread_.join();
  }
  onlooker(const onlooker&) = delete;
  onlooker& operator=(const onlooker&) = delete;

 private:
  void watch() {
    while (!over_) {
      const time_point sent = now();
      const std::string value = talk_.say({"GET", name_}).text;
      book_.shown(sent, now(), name_, holder_in(value));
      sleep_for_real(1ms);
    }
  }
  /// owner:fence...
  static fence holder_in(const std::string& value) {
    std::int64_t first = 0;
    if (value.size() >= 52) std::from_chars(value.data() + 33, value.data() + 52, first);
    return fence{first};
  }

  checker::recorder& book_;
  const std::string name_;
  servers::redis_talk talk_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

class redis_news : public redis_with_replica {
 protected:
  /// How many listen to that client, and not to a pattern.
  static std::size_t subscribers(servers::redis_server& at) {
    std::size_t all = 0;
    for (const auto& channel : at.say({"PUBSUB", "CHANNELS", "crosslock:to:*"}).items) {
      all += std::stoul(at.say({"PUBSUB", "NUMSUB", channel.text}).items.at(1).text);
    }
    return all;
  }
  /// Its name leads there from now on, and its subscription has noticed.
  void listen_at(const real_actor& who, servers::redis_server& there) {
    proxy::door& line = wire(who);
    const std::int64_t before = there.info("stats", "total_connections_received");
    line.lead_to(there.address());
    line.reset(is_subscription);
    EXPECT_TRUE(
        eventually([&] { return there.info("stats", "total_connections_received") > before; }));
  }
};

TEST_F(redis_news, F31_whoever_listens_to_a_replica_is_not_told_of_a_grant_that_another_gets) {
  servers::redis_server replica{replica_of(server())};
  ASSERT_TRUE(follows(replica, server()));
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, long_lease);
  const auto third = start("third", long_lease);
  third->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 2));
  listen_at(*waiter, replica);
  auto sees = std::make_unique<onlooker>(testbed().book(), server(), "name");
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  // It is the first in line, and comes by its own look.
  const fence second = fence_in(waiter->answer());
  EXPECT_LE(now() - released, look_cap);
  EXPECT_EQ(waiter->say("work name 500"), "held");
  EXPECT_FALSE(third->has_answered());
  EXPECT_EQ(viewer.look("name").holders.at(0).fence, second);
  EXPECT_EQ(waiter->say("release name"), "released");
  in_at(*third);
  EXPECT_EQ(third->say("work name 100"), "held");
  EXPECT_EQ(third->say("release name"), "released");
  sees.reset();
  EXPECT_GE(judge().confirmed, 2U);
}

TEST_F(redis_news, F31_whoever_cannot_listen_to_the_primary_gets_its_turn_all_the_same) {
  servers::redis_server replica{replica_of(server())};
  ASSERT_TRUE(follows(replica, server()));
  const auto waiter = start("waiter", long_lease);
  EXPECT_EQ(waiter->say("sleep 0"), "awake");  // it is connected
  listen_at(*waiter, replica);
  std::vector<std::unique_ptr<real_actor>> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(start("other", long_lease));
    others.back()->send("loop name 1500 1000");
  }
  EXPECT_TRUE(eventually([&] { return testbed().numbers().read("name") > 50; }));
  for (int round = 0; round < 5; ++round) {
    const std::int64_t before = testbed().numbers().read("name");
    EXPECT_TRUE(waiter->say("acquire name 20000").starts_with("held"));
    // Nobody gets two turns before it has had one; they had some before it stood in line.
    EXPECT_LE(testbed().numbers().read("name") - before, 40);
    EXPECT_EQ(waiter->say("release name"), "released");
  }
  for (const auto& each : others) each->kill();
  judge();
}

TEST_F(redis_news, F9_after_a_planned_failover_old_connections_fool_nobody_and_nobody_starves) {
  servers::redis_server replica{replica_of(server())};
  ASSERT_TRUE(follows(replica, server()));
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, long_lease);
  ASSERT_TRUE(follows(replica, server()));
  // The replica becomes the primary, and the primary its replica; connections stay where they are.
  note(fault::server_down);
  EXPECT_EQ(replica.say({"REPLICAOF", "NO", "ONE"}).text, "OK");
  EXPECT_EQ(server().say({"REPLICAOF", "127.0.0.1", std::to_string(replica.port())}).text, "OK");
  ASSERT_TRUE(follows(server(), replica));
  for (std::int32_t number = 0; number <= waiter->number() + 3; ++number) {
    testbed().wire(number).lead_to(replica.address());
  }
  note(fault::server_up);
  auto sees = std::make_unique<onlooker>(testbed().book(), replica, "name");
  std::vector<std::unique_ptr<real_actor>> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(start("other", long_lease));
    others.back()->send("loop name 2000 1000");
  }
  EXPECT_EQ(holder->say("work name 300"), "held");
  // The old primary may refuse it first: then it is released in the background.
  EXPECT_NE(holder->say("release name"), "lost");
  const time_point released = now();
  // The old primary tells nobody what it has become: the next look finds out.
  EXPECT_LE(in_at(*waiter) - released, look_cap);
  EXPECT_EQ(waiter->say("work name 200"), "held");
  EXPECT_EQ(waiter->say("release name"), "released");
  // And from then on it is told by the new primary.
  for (int round = 0; round < 5; ++round) {
    const std::int64_t before = testbed().numbers().read("name");
    EXPECT_TRUE(waiter->say("acquire name 20000").starts_with("held"));
    EXPECT_LE(testbed().numbers().read("name") - before, 40);
    EXPECT_EQ(waiter->say("release name"), "released");
  }
  // Only whoever has not written since still listens to the old one: that is this process.
  EXPECT_TRUE(eventually([&] { return subscribers(server()) == 1; }));
  for (const auto& each : others) each->kill();
  sees.reset();
  EXPECT_GE(judge().confirmed, 1U);
}

TEST_F(redis_news, F31_when_commands_go_to_another_server_its_news_count_and_no_others) {
  servers::redis_server other{{.tcp = true}};
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, long_lease);
  EXPECT_EQ(subscribers(server()), 3U);
  const auto there = start("there", long_lease,
                           {.through = {},
                            .parameters = {},
                            .url = "redis://127.0.0.1:" + std::to_string(other.port())});
  note(fault::state_loss);  // another server knows nothing of the first one's holder
  EXPECT_TRUE(there->say("acquire name 20000").starts_with("held"));
  wire(*waiter).lead_to(other.address());
  wire(*waiter).reset(is_for_commands);
  // It stands in line there now, and listens there, although nobody cut its subscription.
  EXPECT_TRUE(eventually([&] {
    return other.say({"EXISTS", "name"}).text == "1" && subscribers(other) == 2 &&
           subscribers(server()) == 2;
  }));
  EXPECT_EQ(holder->say("release name"), "released");
  sleep_for_real(300ms);
  EXPECT_FALSE(waiter->has_answered());
  EXPECT_EQ(there->say("release name"), "released");
  in_at(*waiter);
  EXPECT_EQ(waiter->say("release name"), "released");
}

TEST_F(redis_faults, F31_somebody_who_listens_to_everything_does_not_make_the_dead_look_alive) {
  servers::redis_talk everything{server().address()};
  (void)everything.say({"PSUBSCRIBE", "*"});
  const client viewer = connect();
  for (const bool alone : {false, true}) {
    SCOPED_TRACE(alone);
    const auto [holder, dead, first] = holder_and_waiter(viewer, long_lease, long_lease);
    const auto third = start("third", long_lease);
    EXPECT_EQ(third->say("sleep 0"), "awake");  // it is connected
    if (!alone) {
      third->send("acquire name 60000");
      EXPECT_TRUE(line_reaches(viewer, "name", 2));
    }
    dead->kill();
    EXPECT_TRUE(eventually([&] {
      return server().say({"PUBSUB", "CHANNELS", "crosslock:to:*"}).items.size() == 3;
    }));
    const time_point released = now();
    EXPECT_EQ(holder->say("release name"), "released");
    if (alone) third->send("acquire name 60000");
    // Not after the offer of three seconds.
    EXPECT_LE(in_at(*third) - released, stall);
    EXPECT_EQ(third->say("release name"), "released");
  }
  judge();
}

}  // namespace
}  // namespace crosslock::faults
