// Servers that have lost or changed what they stored: started empty, replaced by a replica, or with
// a clock that steps. Two may hold then, and the fence tells them apart.
#include "faults/redis_case.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace crosslock::faults {
namespace {

namespace fs = std::filesystem;

class redis_without_persistence : public redis_case {
 protected:
  redis_without_persistence() : redis_case{conformance::redis_testbed::forgetful()} {}
};

TEST_F(redis_without_persistence, F8_after_an_empty_restart_fences_rise_and_holders_are_told) {
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  note(fault::server_down);
  note(fault::state_loss);
  server().kill();
  server().start();
  note(fault::server_up);
  const time_point started = now();
  const fence second = fence_in(next->answer());
  EXPECT_LE(now() - started, look_cap);
  EXPECT_GT(second, first);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->answer(), "lost");
  const notice told = ask_notice(*holder, "name");
  EXPECT_EQ(told.times, 1);
  EXPECT_LE(told.when - started, lease);  // at the next renewal that could be made
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_GT(fence_in(holder->say("acquire name 20000")), second);
  EXPECT_EQ(holder->say("release name"), "released");
  auto how = strictness();
  how.need_stale_write = true;
  judge(how);
}

TEST_F(redis_with_replica, F9_a_lagging_replica_promoted_gives_higher_fences_all_the_same) {
  // What the primary sends goes through a wire that can be cut.
  proxy::fault_proxy cable{proxy::raw_framing};
  proxy::door& between = cable.open(server().address());
  servers::redis_server replica{
      {.tcp = true, .settings = {{"replicaof", "127.0.0.1 " + std::to_string(between.port())}}}};
  ASSERT_TRUE(follows(replica, server()));
  take_and_release("name");  // that one has arrived there
  ASSERT_TRUE(follows(replica, server()));
  const auto holder = start("holder");
  const auto next = start("next", long_lease);
  between.cut();
  const fence first = fence_in(holder->say("acquire name 20000"));
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  EXPECT_EQ(replica.say({"EXISTS", "name"}).text, "0");
  holder->send("work name 20000");
  note(fault::server_down);
  note(fault::rollback);
  server().kill();
  EXPECT_EQ(replica.say({"REPLICAOF", "NO", "ONE"}).text, "OK");
  for (std::int32_t number = 0; number <= next->number(); ++number) {
    testbed().wire(number).lead_to(replica.address());
  }
  note(fault::server_up);
  const time_point promoted = now();
  const fence second = fence_in(next->say("acquire name 20000"));
  EXPECT_GT(second, first);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - promoted, lease);
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(next->say("release name"), "released");
  auto how = strictness();
  how.need_stale_write = true;
  judge(how);
}

TEST_F(redis_with_replica, F9_a_primary_that_became_a_replica_grants_nothing_and_is_left) {
  servers::redis_server other{{.tcp = true}};
  const client locks = connect(long_lease, impatient(500ms));
  mutex lock{locks, "name"};
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  server().say({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
  const errc failed = code_of([&] { (void)lock.try_acquire(); });
  EXPECT_TRUE(failed == errc::unreachable || failed == errc::denied) << static_cast<int>(failed);
  own_wire().lead_to(other.address());
  // It says that it is a replica now: another connection may lead to the primary.
  EXPECT_TRUE(eventually([&] { return code_of([&] { (void)locks.look("name"); }) == errc{}; }));
  EXPECT_TRUE(lock.try_acquire_for(20s));
}

/// A server whose wall clock can be put off while it runs.
class redis_with_clock : public redis_case {
 protected:
  redis_with_clock() : redis_case{with_shim()} {}

  void step_clock(std::chrono::hours to) {
    const std::int64_t seconds = std::chrono::seconds{to}.count();
    std::fstream file{clock_file(), std::ios::in | std::ios::out | std::ios::binary};
    file.write(reinterpret_cast<const char*>(&seconds), sizeof seconds);
  }

 private:
  static fs::path beside_program(const char* name) {
    return fs::read_symlink("/proc/self/exe").parent_path() / name;
  }
  static fs::path clock_file() {
    return fs::temp_directory_path() / ("crosslock-clock-" + std::to_string(::getpid()));
  }
  static servers::redis_options with_shim() {
    const std::int64_t nothing = 0;
    std::ofstream{clock_file(), std::ios::binary}.write(reinterpret_cast<const char*>(&nothing),
                                                        sizeof nothing);
    auto how = conformance::redis_testbed::durable();
    how.through = {"env", "LD_PRELOAD=" + beside_program("libcrosslock-clock-shim.so").string(),
                   "CLOCK_SHIM_FILE=" + clock_file().string()};
    return how;
  }
  void TearDown() override { fs::remove(clock_file()); }
};

TEST_F(redis_with_clock, F12_after_a_step_ahead_only_the_fence_tells_two_apart) {
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  note(fault::clock_step);
  step_clock(1h);
  const time_point stepped = now();
  const fence second = fence_in(next->answer());
  EXPECT_LE(now() - stepped, look_cap);
  EXPECT_GT(second, first);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - stepped, noticed);
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(next->say("work name 1500"), "held");  // everything goes by the new time
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_EQ(next->say("loop name 5 0"), "done 5");
  auto how = strictness();
  how.need_stale_write = true;
  judge(how);
}

TEST_F(redis_with_clock, F13_after_a_step_back_nobody_overlaps_and_fences_rise) {
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer);
  note(fault::clock_step);
  step_clock(-1h);
  EXPECT_EQ(holder->say("work name 2000"), "held");
  EXPECT_FALSE(next->has_answered());
  EXPECT_EQ(holder->say("release name"), "released");
  const fence second = fence_in(next->answer());
  EXPECT_GT(second, first);
  EXPECT_EQ(next->say("work name 500"), "held");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_GT(take_and_release("name"), second);
  // The lease of who died lasts an hour longer: that is the price, and it is named.
  const fence third = fence_in(holder->say("acquire later 20000"));
  note(fault::clock_step);
  step_clock(-2h);
  holder->kill();
  next->send("acquire later 60000");
  EXPECT_TRUE(line_reaches(viewer, "later", 1));
  sleep_for_real(2 * lease);
  EXPECT_FALSE(next->has_answered());
  note(fault::clock_step);
  step_clock(-1h);
  EXPECT_GT(fence_in(next->answer()), third);
  EXPECT_EQ(next->say("release later"), "released");
  judge();
}

TEST_F(redis_with_clock, F13_after_a_step_back_a_waiter_keeps_its_place) {
  const client viewer = connect();
  take_and_release("name");
  note(fault::clock_step);
  step_clock(-1h);
  // Its fence rises all the same, and so does its ticket: both lie in the future now.
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, lease);
  std::vector<std::unique_ptr<real_actor>> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(start("other", long_lease));
    others.back()->send("loop name 200 1000");
  }
  EXPECT_TRUE(line_reaches(viewer, "name", 4));
  sleep_for_real(3 * lease);  // a place, and the line itself, would have ended long ago
  EXPECT_EQ(viewer.look("name").line.size(), 4U);
  EXPECT_EQ(holder->say("release name"), "released");
  in_at(*waiter);
  EXPECT_EQ(testbed().numbers().read("name"), 0);  // it was the first
  EXPECT_EQ(waiter->say("release name"), "released");
  for (const auto& each : others) EXPECT_EQ(each->answer(), "done 200");
  judge();
}

TEST_F(redis_faults, F12_F13_an_expiry_changed_by_hand_is_like_a_step_of_the_clock) {
  const client viewer = connect();
  fence last;
  for (const std::string milliseconds : {"1", "3600000"}) {
    const auto [holder, next, first] = holder_and_waiter(viewer);
    EXPECT_GT(first, last);
    holder->send("work name 20000");
    sleep_for_real(lease / 2);
    note(fault::clock_step, "name");
    EXPECT_EQ(server().say({"PEXPIRE", "name", milliseconds}).text, "1");
    const time_point changed = now();
    if (milliseconds == "1") {
      last = fence_in(next->answer());
      EXPECT_GT(last, first);
      EXPECT_EQ(holder->answer(), "lost");
      EXPECT_LE(ask_notice(*holder, "name").when - changed, noticed);
      EXPECT_EQ(next->say("release name"), "released");
    } else {
      sleep_for_real(2 * lease);
      EXPECT_FALSE(next->has_answered());
      holder->kill();
      EXPECT_TRUE(viewer.break_lock("name", viewer.look("name").holders.at(0).owner));
      in_at(*next);
      EXPECT_EQ(next->say("release name"), "released");
    }
  }
  judge();
}

}  // namespace
}  // namespace crosslock::faults
