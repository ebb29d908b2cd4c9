// Clocks that step, another boot, and namespaces in which clocks and pids mean something else.
#include "faults/sqlite_case.hpp"

#include <unistd.h>

#include <filesystem>

namespace crosslock::faults {
namespace {

namespace fs = std::filesystem;

/// Starts a process whose wall clock is off by so much.
conformance::sqlite_start with_wall_clock_off_by(std::chrono::seconds offset) {
  const fs::path shim =
      fs::read_symlink("/proc/self/exe").parent_path() / "libcrosslock-clock-shim.so";
  EXPECT_TRUE(fs::exists(shim));
  return {.through = {"env", "ASAN_OPTIONS=verify_asan_link_order=0", "LD_PRELOAD=" + shim.string(),
                      "CLOCK_SHIM_SECONDS=" + std::to_string(offset.count())}};
}

bool may_unshare() { return ::geteuid() == 0; }

class clock_step : public sqlite_case, public testing::WithParamInterface<int> {};

TEST_P(clock_step, F12_F13_leases_and_fences_do_not_follow_the_wall_clock) {
  const auto holder = start("holder");
  const auto stepped =
      start("stepped", lease, with_wall_clock_off_by(std::chrono::hours{GetParam()}));
  const auto plain = start("plain");
  fence last = fence_in(holder->say("acquire name 20000"));
  holder->send("work name 3000");
  EXPECT_EQ(stepped->say("acquire name 2500"), "busy");  // not one lease too early
  EXPECT_EQ(holder->answer(), "held");
  stepped->send("acquire name 60000");
  const client viewer = connect();
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  holder->freeze();
  const time_point frozen = now();
  const fence second = fence_in(stepped->answer());
  EXPECT_LE(now() - frozen, lease + after_lease);  // nor too late
  EXPECT_GT(second, last);
  EXPECT_EQ(stepped->say("write name 1"), "accepted");
  EXPECT_EQ(stepped->say("release name"), "released");
  holder->thaw();
  // Whoever comes next has a higher fence, whatever its clock says.
  for (int round = 0; round < 3; ++round) {
    for (real_actor* const each : {plain.get(), stepped.get()}) {
      const fence given = fence_in(each->say("acquire name 20000"));
      EXPECT_GT(given, std::max(last, second));
      last = given;
      EXPECT_EQ(each->say("release name"), "released");
    }
  }
  judge();
}

INSTANTIATE_TEST_SUITE_P(sqlite, clock_step, testing::Values(1, -1), [](const auto& which) {
  return which.param > 0 ? "an_hour_ahead" : "an_hour_behind";
});

TEST_F(sqlite_faults, reboot_frees_everything_and_ends_receipts) {
  const client other_files = connect();  // keeps nothing, and may stay
  auto before = start("before", long_lease);
  const auto fences = before->say("acquire held 20000");
  EXPECT_TRUE(before->say("acquire papers 20000").starts_with("held"));
  const receipt paper = receipt::parse(before->say("detach papers"));
  before->kill();
  other_files.close();
  testbed().run_sql("UPDATE about SET boot_id = 'another one'");
  const auto after = start("after", long_lease);
  const time_point asked = now();
  EXPECT_GT(fence_in(after->say("acquire held 0")), fence_in(fences));
  EXPECT_GT(fence_in(after->say("acquire papers 0")), paper.fence);
  EXPECT_LE(now() - asked, seen_dead + stall);
  const client locks = connect();
  EXPECT_EQ(code_of([&] { (void)locks.adopt(paper); }), errc::lost);
  EXPECT_EQ(after->say("release held"), "released");
  EXPECT_EQ(after->say("release papers"), "released");
}

TEST_F(sqlite_faults, two_pid_namespaces_never_take_each_other_for_dead) {
  if (!may_unshare()) GTEST_SKIP() << "only root may make a PID namespace";
  const auto inside =
      start("inside", lease, {.through = {"unshare", "--pid", "--fork", "--mount-proc"}});
  const auto outside = start("outside", lease);
  const client viewer = connect();
  // Neither sees the other's pid, or sees somebody else there.
  real_actor* const pairs[][2] = {{inside.get(), outside.get()}, {outside.get(), inside.get()}};
  for (const auto& [holder, other] : pairs) {
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    holder->send("work name 3000");
    EXPECT_EQ(other->say("acquire name 2500"), "busy");
    EXPECT_EQ(holder->answer(), "held");
    // Wake-ups come through all the same.
    other->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(viewer, "name", 1));
    const time_point released = now();
    EXPECT_EQ(holder->say("release name"), "released");
    EXPECT_LE(in_at(*other) - released, stall);
    EXPECT_EQ(other->say("release name"), "released");
  }
  judge();
}

TEST_F(sqlite_faults, a_proc_of_another_pid_namespace_makes_nobody_dead) {
  if (!may_unshare()) GTEST_SKIP() << "only root may make a PID namespace";
  // One namespace for both, and a /proc in which their numbers are those of strangers.
  const auto both = start("both", lease, {.through = {"unshare", "--pid", "--fork"}});
  EXPECT_TRUE(both->say("acquire name 20000").starts_with("held"));
  both->send("work name 3000");
  const auto inside = start(
      "inside", lease, {.through = {"nsenter", "--pid", "--target", std::to_string(both->pid())}});
  EXPECT_EQ(inside->say("acquire name 2000"), "busy");
  EXPECT_EQ(both->answer(), "held");
  EXPECT_EQ(both->say("release name"), "released");
  judge();
}

TEST_F(sqlite_faults, a_death_in_another_pid_namespace_costs_the_lease) {
  if (!may_unshare()) GTEST_SKIP() << "only root may make a PID namespace";
  const auto inside =
      start("inside", lease, {.through = {"unshare", "--pid", "--fork", "--mount-proc"}});
  const auto outside = start("outside", long_lease);
  const client viewer = connect();
  EXPECT_TRUE(inside->say("acquire name 20000").starts_with("held"));
  outside->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  inside->kill();
  const time_point killed = now();
  EXPECT_LE(in_at(*outside) - killed, lease + after_lease);
  EXPECT_EQ(outside->say("release name"), "released");
  judge();
}

TEST_F(sqlite_faults, another_time_namespace_is_refused) {
  if (!may_unshare()) GTEST_SKIP() << "only root may make a time namespace";
  const client here_first = connect();
  mutex lock{here_first, "name"};
  const hold held = lock.acquire();
  const auto elsewhere =
      start("elsewhere", lease, {.through = {"unshare", "--time", "--boottime", "1000", "--fork"}});
  const std::string why = elsewhere->why_it_cannot_begin();
  EXPECT_NE(why.find("time namespace"), std::string::npos) << why;
  EXPECT_NE(why.find(testbed().database().string()), std::string::npos) << why;
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(here_first.look("name").holders.at(0).owner, held.owner());
}

}  // namespace
}  // namespace crosslock::faults
