// Processes that look dead or alive, die together, or hang in the middle of a request.
#include "faults/sqlite_case.hpp"

namespace crosslock::faults {
namespace {

TEST_F(sqlite_faults, F2_a_zombie_is_dead_although_nobody_has_asked_for_its_exit_code) {
  const auto holder = start("holder", long_lease);
  const auto next = start("next", long_lease);
  const client viewer = connect();
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  holder->kill_unburied();
  const time_point killed = now();
  EXPECT_LE(in_at(*next) - killed, seen_dead);
  holder->bury();
  judge();
}

TEST_F(sqlite_faults, F2_a_hold_ends_with_the_process_that_it_was_bound_to) {
  const auto guardian = start("guardian", long_lease);
  const auto next = start("next", long_lease);
  const client viewer = connect();
  options bound;
  bound.process = guardian->pid();
  const client locks = connect(long_lease, bound);
  mutex lock{locks, "name"};
  const hold held = lock.acquire();
  next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  guardian->kill();
  const time_point killed = now();
  EXPECT_LE(in_at(*next) - killed, seen_dead);
  EXPECT_EQ(next->say("release name"), "released");
}

TEST_F(sqlite_faults, F2_a_process_without_its_main_thread_lives) {
  const auto holder = start("holder", lease, {.first_command = "main_thread_ends"});
  const client locks = connect();
  mutex lock{locks, "name"};
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_TRUE(eventually([&] { return holder->state() == 'Z'; }));  // a Z in /proc, and yet
  holder->send("work name 3000");
  EXPECT_FALSE(lock.try_acquire_for(3 * lease - 200ms));
  EXPECT_EQ(holder->answer(), "held");
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  judge();
}

TEST_F(sqlite_faults, F2_a_pid_that_was_used_again_does_not_keep_the_dead_alive) {
  const auto holder = start("holder", long_lease);
  const auto next = start("next", long_lease);
  const client viewer = connect();
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  const pid_t dead = holder->pid();
  holder->kill();
  sleep_for_real(50ms);  // the kernel tells start times apart by ticks of 10 ms
  const auto newcomer = start("newcomer", long_lease);
  EXPECT_EQ(newcomer->say("sleep 0"), "awake");
  // As if the kernel had given that one the pid of the dead.
  testbed().run_sql("UPDATE clients SET pid = " + std::to_string(newcomer->pid()) +
                    " WHERE pid = " + std::to_string(dead));
  const time_point asked = now();
  next->send("acquire name 60000");
  EXPECT_LE(in_at(*next) - asked, seen_dead);
  EXPECT_EQ(next->say("release name"), "released");
}

TEST_F(sqlite_faults, F6_all_processes_killed_at_once_leave_a_database_that_goes_on) {
  std::int64_t top = 0;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::unique_ptr<real_actor>> actors;
    for (int i = 0; i < 6; ++i) {
      actors.push_back(start("p", long_lease));
      actors.back()->send("loop name/" + std::to_string(i % 2) + " 1000000 1000");
    }
    const std::int64_t before = testbed().numbers().read("name/0");
    EXPECT_TRUE(eventually([&] { return testbed().numbers().read("name/0") > before + 20; }));
    for (const auto& each : actors) each->freeze();
    for (const auto& each : actors) each->kill();
    const auto after = start("after", long_lease);
    const time_point killed = now();
    const fence first = fence_in(after->say("acquire name/0 20000"));
    EXPECT_LE(now() - killed, seen_dead + stall);  // it was started first
    EXPECT_GT(first.value(), top);
    top = first.value();
    EXPECT_EQ(after->say("release name/0"), "released");
    EXPECT_EQ(after->say("loop name/0 10 0"), "done 10");
  }
  judge();
  expect_sound();
}

TEST_F(sqlite_faults, F7_a_writer_stopped_inside_its_transaction_costs_others_an_error_in_time) {
  const auto holder = start("holder", lease);
  const auto writer = start("writer", long_lease);
  options how;
  how.timeout = 1s;
  how.retry.tries = 0;
  const client locks = connect(long_lease, how);
  mutex lock{locks, "third"};
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  EXPECT_EQ(writer->say("stop_at ask written"), "set");
  // Somebody in its way, so that it needs more than one statement.
  EXPECT_TRUE(holder->say("acquire busy 20000").starts_with("held"));
  holder->send("work held 20000");
  writer->send("acquire busy 20000");
  ASSERT_TRUE(writer->wait_until_stopped());
  const time_point stopped = now();
  const errc failed = code_of([&] { (void)lock.try_acquire(); });
  EXPECT_TRUE(failed == errc::timed_out || failed == errc::unreachable) << static_cast<int>(failed);
  EXPECT_LE(now() - stopped, 1s + stall);
  // The holder cannot renew, and is told before its lease can end.
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_EQ(ask_notice(*holder, "held").times, 1);
  writer->thaw();
  EXPECT_TRUE(lock.try_acquire_for(20s));
  EXPECT_TRUE(writer->answer().starts_with("held"));
  EXPECT_EQ(writer->say("release busy"), "released");
  judge();
}

TEST_F(sqlite_faults, processes_that_begin_together_on_a_new_file_all_begin) {
  for (int round = 0; round < 80; ++round) {
    const std::string number = std::to_string(round);
    std::vector<std::unique_ptr<real_actor>> actors;
    for (int i = 0; i < 6; ++i) {
      actors.push_back(start("p", long_lease,
                             {.first_command = "stop_at connect called",
                              .database = testbed().folder() / ("fresh-" + number + ".db")}));
    }
    for (const auto& each : actors) ASSERT_TRUE(each->wait_until_stopped());
    for (const auto& each : actors) each->thaw();
    for (const auto& each : actors) each->send("loop name/" + number + " 3 0");
    for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 3");
  }
  judge();
}

}  // namespace
}  // namespace crosslock::faults
