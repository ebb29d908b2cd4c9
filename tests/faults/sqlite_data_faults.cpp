// Crashes after a commit, and other programs that keep the database busy.
#include "faults/sqlite_case.hpp"

#include <sqlite3.h>

#include <atomic>
#include <filesystem>

namespace crosslock::faults {
namespace {

namespace fs = std::filesystem;
using checker::fault;

/// Another program that writes to the database, with SQLite's own means.
class foreign_writer {
 public:
  explicit foreign_writer(const fs::path& path) {
    EXPECT_EQ(::sqlite3_open(path.c_str(), &handle_), SQLITE_OK);
    ::sqlite3_busy_timeout(handle_, 20'000);
  }
  foreign_writer(const foreign_writer&) = delete;
  foreign_writer& operator=(const foreign_writer&) = delete;
  ~foreign_writer() { ::sqlite3_close(handle_); }

  void run(const char* sql) {
    EXPECT_EQ(::sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sql << ": " << ::sqlite3_errmsg(handle_);
  }

 private:
  sqlite3* handle_ = nullptr;
};

TEST_F(sqlite_faults, F5_a_crash_after_the_commit_leaves_no_orphan) {
  const client viewer = connect();
  fence last;
  for (const std::string verb : {"ask", "renew", "release"}) {
    const auto victim = start("victim", verb == "renew" ? lease : long_lease);
    const auto next = start("next", long_lease);
    if (verb != "ask") {
      EXPECT_TRUE(victim->say("acquire name 20000").starts_with("held"));
    }
    EXPECT_EQ(victim->say("stop_at " + verb + " committed"), "set");
    victim->send(verb == "ask"     ? "acquire name 20000"
                 : verb == "renew" ? "work name 20000"
                                   : "release name");
    ASSERT_TRUE(victim->wait_until_stopped()) << verb;
    victim->kill();
    const time_point killed = now();
    const fence granted = fence_in(next->say("acquire name 20000"));
    EXPECT_LE(now() - killed, seen_dead + stall) << verb;  // it had to be started
    EXPECT_GT(granted, last);
    last = granted;
    EXPECT_EQ(next->say("release name"), "released");
  }
  judge();
  expect_nothing_left();
}

TEST_F(sqlite_faults, F18_a_foreign_transaction_of_three_seconds_is_waited_for) {
  const auto holder = start("holder", long_lease);
  const auto next = start("next", long_lease);
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  foreign_writer other{testbed().database()};
  testbed().book().nemesis(now(), fault::server_down);
  other.run("BEGIN EXCLUSIVE");
  const time_point begun = now();
  next->send("acquire name 20000");
  sleep_for_real(begun + 3s - now());
  EXPECT_FALSE(next->has_answered());
  other.run("COMMIT");
  const time_point committed = now();
  testbed().book().nemesis(committed, fault::server_up);
  EXPECT_LE(in_at(*next) - committed, stall);
  EXPECT_EQ(holder->say("valid held"), "yes");
  EXPECT_EQ(holder->say("release held"), "released");
  judge();
}

TEST_F(sqlite_faults, F18_a_busy_foreign_writer_starves_nobody) {
  foreign_writer other{testbed().database()};
  std::vector<std::unique_ptr<real_actor>> actors;
  for (int i = 0; i < 3; ++i) {
    actors.push_back(start("p", long_lease));
    EXPECT_EQ(actors.back()->say("sleep 0"), "awake");
  }
  other.run("CREATE TABLE foreign_rows (n INTEGER)");
  std::atomic<bool> over{false};
  std::atomic<int> written{0};
  std::thread busy{[&] {
    while (!over) {
      other.run("BEGIN IMMEDIATE; INSERT INTO foreign_rows VALUES (1)");
      sleep_for_real(2ms);
      other.run("COMMIT");
      ++written;
    }
  }};
  for (const auto& each : actors) each->send("loop name 30 100");
  for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 30");
  over = true;
  busy.join();
  EXPECT_GT(written, 10);
  auto how = strictness();
  how.calm_bound = 5s;  // there is no line in which we could stand with strangers: it takes luck
  judge(how);
}

}  // namespace
}  // namespace crosslock::faults
