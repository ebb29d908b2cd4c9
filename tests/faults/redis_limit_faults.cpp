// Too little memory, too small a disk, too much silence.
#include "faults/redis_case.hpp"
#include "faults/small_disk.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <filesystem>
#include <optional>

namespace crosslock::faults {
namespace {

namespace fs = std::filesystem;

TEST_F(redis_faults, F20_a_server_that_may_evict_locks_is_refused_unless_that_is_allowed) {
  server().say({"CONFIG", "SET", "maxmemory", "100mb"});
  for (const std::string policy : {"allkeys-lru", "allkeys-random", "volatile-ttl"}) {
    server().say({"CONFIG", "SET", "maxmemory-policy", policy});
    try {
      (void)testbed().connect(impatient(500ms));
      ADD_FAILURE() << policy;
    } catch (const error& why) {
      const std::string said = why.what();
      EXPECT_NE(said.find(policy), std::string::npos) << said;
      EXPECT_NE(said.find("eviction=allowed"), std::string::npos) << said;
    }
    const client allowed = testbed().connect(impatient(500ms), "?eviction=allowed");
    mutex lock{allowed, "name"};
    EXPECT_TRUE(lock.try_acquire_for(1s));
  }
  server().say({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  const client plain = testbed().connect(impatient(500ms));
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

class redis_on_a_small_disk : public redis_case {
 protected:
  // The disk is there before the server, and the server is gone before the disk.
  redis_on_a_small_disk() : redis_case{servers::redis_options{}} {
    place_ = testbed().folder() / "small";
  }
  fs::path place_;
};

TEST_F(redis_on_a_small_disk, F22_a_full_disk_is_an_error_and_holders_are_told_in_time) {
  small_disk disk{place_, "2m"};
  if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount";
  servers::redis_server full{
      {.settings = {{"appendonly", "yes"}, {"appendfsync", "everysec"}}, .data = disk.path()}};
  for (std::int32_t number = 0; number < 3; ++number)
    testbed().wire(number).lead_to(full.address());
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

}  // namespace
}  // namespace crosslock::faults
