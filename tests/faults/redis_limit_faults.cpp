// Too much of everything: memory, clients, bytes on the disk, waiters, names, silence.
#include "faults/redis_case.hpp"
#include "faults/small_disk.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>

namespace crosslock::faults {
namespace {

namespace fs = std::filesystem;

TEST_F(redis_faults, F20_a_server_that_may_evict_locks_is_refused_unless_that_is_allowed) {
  server().say({"CONFIG", "SET", "maxmemory", "100mb"});
  for (const std::string policy : {"allkeys-lru", "allkeys-random", "volatile-ttl"}) {
    server().say({"CONFIG", "SET", "maxmemory-policy", policy});
    try {
      (void)scene().connect(impatient(500ms));
      ADD_FAILURE() << policy;
    } catch (const error& why) {
      const std::string said = why.what();
      EXPECT_NE(said.find(policy), std::string::npos) << said;
      EXPECT_NE(said.find("eviction=allowed"), std::string::npos) << said;
    }
    const client allowed = scene().connect(impatient(500ms), "?eviction=allowed");
    mutex lock{allowed, "name"};
    EXPECT_TRUE(lock.try_acquire_for(1s));
  }
  server().say({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  const client plain = scene().connect(impatient(500ms));
  EXPECT_TRUE(plain.list().empty());
}

TEST_F(redis_faults, F20_an_evicted_lock_is_told_and_the_next_fence_is_higher) {
  server().say({"CONFIG", "SET", "maxmemory-policy", "allkeys-random"});
  const conformance::redis_start allowed{
      .through = {}, .parameters = "?eviction=allowed", .url = {}};
  const auto holder = start("holder", lease, allowed);
  const auto next = start("next", long_lease, allowed);
  const fence first = fence_in(holder->say("acquire name 20000"));
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  EXPECT_TRUE(next->say("acquire other 20000").starts_with("held"));
  note(fault::state_loss);
  const std::int64_t used = server().info("memory", "used_memory");
  server().say({"CONFIG", "SET", "maxmemory", std::to_string(used + 200'000)});
  const std::string filler(2000, 'x');
  bool evicted = false;
  for (int i = 0; i < 20'000 && !evicted; ++i) {
    server().say({"SET", "filler/" + std::to_string(i), filler});
    evicted = server().say({"EXISTS", "name"}).text == "0";
  }
  ASSERT_TRUE(evicted);
  const time_point gone = now();
  server().say({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - gone, noticed);
  EXPECT_GT(fence_in(next->say("acquire name 20000")), first);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->say("write name 3"), "refused");
  judge();
}

TEST_F(redis_faults, F20_a_server_out_of_memory_grants_nothing_and_holders_go_on) {
  const auto holder = start("holder");
  const client locks = connect(long_lease, impatient(500ms));
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  mutex lock{locks, "name"};
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  server().say({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::unreachable);
  EXPECT_EQ(server().say({"EXISTS", "name"}).text, "0");  // no lock without a fence
  EXPECT_EQ(holder->say("work held 2500"), "held");       // renewing takes no memory
  EXPECT_EQ(holder->say("release held"), "released");
  server().say({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  judge();
}

TEST_F(redis_faults, F21_without_room_for_another_client_there_is_an_error_and_others_go_on) {
  const auto holder = start("holder");
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  // Ours, those of the holder, and nobody else.
  server().say({"PING"});
  const std::int64_t now_in = server().info("clients", "connected_clients");
  server().say({"CONFIG", "SET", "maxclients", std::to_string(now_in)});
  try {
    (void)scene().connect(impatient(500ms));
    ADD_FAILURE() << "there is no room";
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::unreachable) << why.what();
    EXPECT_TRUE(why.retryable());
    EXPECT_NE(std::string{why.what()}.find("max number of clients"), std::string::npos)
        << why.what();
  }
  EXPECT_EQ(holder->say("work name 1500"), "held");
  EXPECT_EQ(holder->say("release name"), "released");
  server().say({"CONFIG", "SET", "maxclients", "10000"});
  take_and_release("name");
  judge();
}

class redis_on_a_small_disk : public redis_case {
 protected:
  // The disk is there before the server, and the server is gone before the disk.
  redis_on_a_small_disk() : redis_case{servers::redis_options{}} {
    place_ = scene().folder() / "small";
  }
  fs::path place_;
};

TEST_F(redis_on_a_small_disk, F22_a_full_disk_is_an_error_and_holders_are_told_in_time) {
  small_disk disk{place_, "2m"};
  if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount";
  servers::redis_server full{
      {.settings = {{"appendonly", "yes"}, {"appendfsync", "everysec"}}, .data = disk.path()}};
  for (std::int32_t number = 0; number < 3; ++number) scene().wire(number).lead_to(full.address());
  const client locks = connect(long_lease, impatient(500ms));
  mutex lock{locks, "name"};
  const auto holder = start("holder");
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  holder->send("work held 60000");
  disk.fill();
  note(fault::server_down);
  std::optional<errc> failure;
  EXPECT_TRUE(eventually([&] {
    try {
      const auto mine = lock.try_acquire();
    } catch (const error& why) {
      failure = why.which();
    }
    return failure.has_value();
  }));
  EXPECT_EQ(failure, errc::unreachable);
  const time_point refused = now();
  // Nothing can be renewed, so the hold ends; by the clock, not by surprise.
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "held").when - refused, lease);
  EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::unreachable);
  disk.make_room();
  note(fault::server_up);
  EXPECT_TRUE(eventually(
      [&] { return code_of([&] { EXPECT_TRUE(lock.try_acquire_for(5s)); }) == errc{}; }));
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release held"), "released");
  judge();
}

TEST_F(redis_faults, F23_sockets_notice_by_themselves_that_nobody_is_there) {
  const client locks = connect();
  mutex lock{locks, "name"};
  EXPECT_TRUE(lock.try_lock());
  int ours = 0;
  for (const auto& each : fs::directory_iterator{"/proc/self/fd"}) {
    const int number = std::stoi(each.path().filename());
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    const int failed = ::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &size);
    if (failed != 0 || peer.sin_family != AF_INET) continue;
    if (ntohs(peer.sin_port) != own_wire().port()) continue;
    ++ours;
    int keepalive = 0;
    unsigned patience = 0;
    size = sizeof keepalive;
    EXPECT_EQ(::getsockopt(number, SOL_SOCKET, SO_KEEPALIVE, &keepalive, &size), 0);
    size = sizeof patience;
    EXPECT_EQ(::getsockopt(number, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, &size), 0);
    EXPECT_EQ(keepalive, 1);
    EXPECT_GT(patience, 0U);
    EXPECT_LE(patience, 60'000U);
  }
  EXPECT_EQ(ours, 2);  // commands and news
  lock.unlock();
}

/// Where every request would wait for the disk it would take minutes.
class redis_in_memory : public redis_case {
 protected:
  redis_in_memory() : redis_case{conformance::redis_scene::forgetful()} {}
};

TEST_F(redis_in_memory, F32_a_full_line_refuses_and_serves_everybody_in_it_in_order) {
  constexpr std::size_t waiters = 8192;
  constexpr std::size_t clients = 64;
  const client holder = connect();
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
    locks.push_back(std::make_unique<mutex>(connect(10 * long_lease, how), "name"));
    for (std::size_t k = 0; k < waiters / clients; ++k) {
      locks[i]->acquire_async([&, i](acquire_result result) {
        const std::lock_guard locked{guard};
        if (result.hold) order.push_back(i);
      });
    }
    EXPECT_TRUE(eventually([&] {
      sleep_for_real(10ms);
      return holder.look("name").line.size() == (i + 1) * waiters / clients;
    }));
  }
  // One ask in sixteen looks at the length of the line.
  EXPECT_TRUE(eventually(
      [&] { return code_of([&] { (void)locks[0]->try_acquire_for(20ms); }) == errc::queue_full; }));
  EXPECT_LT(holder.look("name").line.size(), waiters + 256);
  EXPECT_TRUE(sanitized || resident_bytes() - memory < (256 << 20));
  const std::uint64_t requests = scene().requests();
  const time_point released = now();
  held.release();
  const auto served = [&] {
    const std::lock_guard locked{guard};
    return order.size();
  };
  EXPECT_TRUE(eventually([&] { return served() == waiters; }, 120s));
  // One release serves one waiter: no herd. Places are refreshed besides, now and again.
  const auto refreshes = static_cast<std::uint64_t>((now() - released) / 10s) + 1;
  EXPECT_LT(scene().requests() - requests, (3 + refreshes) * waiters);
  const std::lock_guard locked{guard};
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(redis_in_memory, F32_fifty_thousand_names_leave_nothing_behind_but_their_fences) {
  const client locks = connect();
  const std::int64_t memory = resident_bytes();
  for (int i = 0; i < 50'000; ++i) {
    mutex lock{locks, "name/" + std::to_string(i)};
    const hold held = lock.acquire();
    EXPECT_GT(held.fence(), fence{});
  }
  EXPECT_TRUE(locks.list().empty());
  EXPECT_TRUE(sanitized || resident_bytes() - memory < (64 << 20));
  const std::string left = server().say({"DBSIZE"}).text;
  EXPECT_EQ(left, "50000");
  for (const std::string name : {"0", "777", "49999"}) {
    const auto keys = server().say({"KEYS", "crosslock:{*:fence:name/" + name}).items;
    ASSERT_EQ(keys.size(), 1U);
    const std::int64_t rest = std::stoll(server().say({"TTL", keys[0].text}).text);
    EXPECT_GT(rest, 86'000);
    EXPECT_LE(rest, 86'400);
  }
  EXPECT_LT(server().info("memory", "used_memory"), 64 << 20);
}

}  // namespace
}  // namespace crosslock::faults
