// Too much of everything: clients, bytes on the disk, waiters, names.
#include "faults/small_disk.hpp"
#include "faults/zookeeper_case.hpp"

#include <algorithm>
#include <mutex>

namespace crosslock::faults {
namespace {

class zookeeper_for_few : public zookeeper_alone {
 protected:
  zookeeper_for_few() : zookeeper_alone{{.settings = {{"maxClientCnxns", "3"}}}} {}
};

TEST_F(zookeeper_for_few, F21_without_room_for_another_client_there_is_an_error_and_others_go_on) {
  const auto holder = start("holder");
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  std::vector<servers::zookeeper_talk> crowd;
  for (int i = 0; i < 2; ++i) crowd.emplace_back(server().address());
  const time_point asked = now();
  try {
    (void)scene().connect(impatient(500ms));
    ADD_FAILURE() << "there is no room";
  } catch (const error& why) {
    EXPECT_TRUE(why.which() == errc::unreachable || why.which() == errc::timed_out) << why.what();
    EXPECT_TRUE(why.retryable());
  }
  EXPECT_LE(now() - asked, 500ms + stall);
  EXPECT_EQ(holder->say("work name 2000"), "held");
  EXPECT_EQ(holder->say("release name"), "released");
  crowd.clear();
  take_and_release("name");
  judge();
}

/// On three, the disk of one of them fills up.
class zookeeper_on_a_small_disk : public fault_case {
 protected:
  checker::history history() override { return {}; }
  std::vector<std::string> leftovers() override { return {}; }
};

TEST_F(zookeeper_on_a_small_disk, F22_a_full_disk_is_an_error_and_holders_are_told_in_time) {
  const conformance::stage_folder home;
  small_disk disk{home.path() / "small", "8m"};
  if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount";
  servers::zookeeper_server server{{.data = disk.path() / "data"}};
  conformance::zookeeper_scene scene{{&server}};
  options how;
  how.lease = 8s;
  how.timeout = 500ms;
  how.retry.tries = 0;
  const client locks = scene.connect(how);
  mutex lock{locks, "name"};
  const auto holder = scene.start_process("holder", 1500ms);
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  holder->send("work held 60000");
  disk.fill();
  // Its journal was given room ahead of need; when that is used up the server ends itself.
  servers::zookeeper_talk filler{server.address()};
  filler.create("/filler");
  try {
    for (int i = 0; i < 1000; ++i) filler.set("/filler", std::string(100'000, 'x'));
    ADD_FAILURE() << "there is room for ever";
  } catch (const std::runtime_error&) {
  }
  filler.hang_up();
  const time_point full = now();
  EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::unreachable);
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "held").when - full, 1500ms);
  disk.make_room();
  server.kill();
  server.start();
  EXPECT_TRUE(eventually(
      [&] { return code_of([&] { EXPECT_TRUE(lock.try_acquire_for(5s)); }) == errc{}; }));
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release held"), "released");
}

class zookeeper_with_room : public zookeeper_alone {
 protected:
  zookeeper_with_room()
      : zookeeper_alone{{.machine = {"-Xmx1g", "-Dznode.container.checkIntervalMs=1000",
                                     "-Dznode.container.maxPerMinute=1000000"}}} {}
};

TEST_F(zookeeper_with_room, F32_thousands_of_waiters_are_served_in_order_one_wake_up_each) {
  constexpr std::size_t waiters = 5120;
  constexpr std::size_t clients = 64;
  const client holder = connect(60s);
  mutex first{holder, "name"};
  auto held = first.acquire();
  const std::int64_t memory = resident_bytes();
  std::mutex guard;
  std::vector<std::size_t> order;  // which client was served
  options how;
  how.strict_fifo = true;  // everybody stands in the line of the server
  how.look_every = 10s;    // or thousands would ask in every second, and be late all the same
  std::vector<std::unique_ptr<mutex>> locks;
  for (std::size_t i = 0; i < clients; ++i) {
    locks.push_back(std::make_unique<mutex>(connect(60s, how), "name"));
    for (std::size_t k = 0; k < waiters / clients; ++k) {
      locks[i]->acquire_async([&, i](acquire_result result) {
        const std::lock_guard locked{guard};
        if (result.hold) order.push_back(i);
      });
    }
    EXPECT_TRUE(eventually([&] {
      sleep_for_real(10ms);
      return scene().talk().children(scene().root() + "/name").size() ==
             1 + (i + 1) * waiters / clients;
    }));
  }
  EXPECT_TRUE(sanitized || resident_bytes() - memory < (256 << 20));
  const std::uint64_t pushes = scene().pushes();
  held.release();
  const auto served = [&] {
    const std::lock_guard locked{guard};
    return order.size();
  };
  EXPECT_TRUE(eventually([&] { return served() == waiters; }, 120s));
  // One release wakes one waiter: no herd.
  EXPECT_LE(scene().pushes() - pushes, waiters + waiters / 10);
  const std::lock_guard locked{guard};
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(zookeeper_with_room, F32_a_full_line_refuses_and_keeps_nothing_of_whoever_was_refused) {
  constexpr std::size_t longest = 8192;
  const client locks = connect(60s);
  mutex lock{locks, "name"};
  take_and_release("name");  // its parents are there
  const std::string place = scene().root() + "/name";
  servers::zookeeper_talk crowd = scene().talk();
  const auto come = [&] {
    return crowd.create(place + "/lock-", {}, servers::zookeeper_talk::kind::ephemeral_sequential);
  };
  std::string last;
  for (std::size_t i = 0; i < longest; ++i) last = come();
  EXPECT_EQ(code_of([&] { (void)lock.try_acquire_for(5s); }), errc::queue_full);
  EXPECT_EQ(code_of([&] { EXPECT_FALSE(lock.try_acquire()); }), errc{});
  EXPECT_TRUE(eventually([&] { return crowd.children(place).size() == longest; }));
  crowd.remove(last);
  EXPECT_EQ(code_of([&] { EXPECT_FALSE(lock.try_acquire_for(500ms)); }), errc{});
  crowd.close();
  EXPECT_TRUE(lock.try_acquire_for(30s));
}

TEST_F(zookeeper_with_room, F32_fifty_thousand_names_leave_nothing_behind) {
  const client locks = connect(60s);
  const std::int64_t memory = resident_bytes();
  for (int i = 0; i < 50'000; ++i) {
    mutex lock{locks, "name/" + std::to_string(i)};
    const hold held = lock.acquire();
    EXPECT_GT(held.fence(), fence{});
  }
  EXPECT_TRUE(locks.list().empty());
  EXPECT_TRUE(sanitized || resident_bytes() - memory < (64 << 20));
  // Containers without children are the server's to remove.
  EXPECT_TRUE(eventually(
      [&] {
        sleep_for_real(100ms);
        return scene().talk().children(scene().root() + "/name").empty();
      },
      60s));
  EXPECT_EQ(server().number("zk_watch_count"), 0);
}

}  // namespace
}  // namespace crosslock::faults
