// Answers that are lost, and data that others take away, roll back, keep busy or spoil.
#include "engines/sqlite/wake_file.hpp"
#include "faults/sqlite_case.hpp"

#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>

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

/// The database and its log, as a crash of the machine would find them again.
class snapshot {
 public:
  snapshot(fs::path database, const fs::path& place)
      : database_{std::move(database)}, copy_{place / "snapshot"} {
    fs::create_directory(copy_);
    for (const char* const end : {"", "-wal"}) {
      if (fs::exists(database_.string() + end)) {
        fs::copy_file(database_.string() + end, copy_ / ("copy" + std::string{end}));
      }
    }
  }
  /// Nobody may have the database open.
  void bring_back() const {
    for (const char* const end : {"", "-wal", "-shm", "-crosslock"}) {
      fs::remove(database_.string() + end);
      const fs::path saved = copy_ / ("copy" + std::string{end});
      if (fs::exists(saved)) fs::copy_file(saved, database_.string() + end);
    }
  }

 private:
  const fs::path database_;
  const fs::path copy_;
};

TEST_F(sqlite_faults, F5_a_lost_answer_is_asked_for_again_and_changes_nothing) {
  const client eyes = connect();
  const auto victim = start("victim", lease, {.parameters = "?timeout=300ms"});
  scene().board().set_loss(observer::verb::ask);
  const fence first = fence_in(victim->say("acquire name 20000"));
  ASSERT_EQ(eyes.look("name").holders.size(), 1U);
  EXPECT_EQ(eyes.look("name").holders[0].fence, first);  // the same grant, not a second one
  scene().board().set_loss(observer::verb::renew);
  EXPECT_EQ(victim->say("work name 2500"), "held");
  scene().board().set_loss(observer::verb::release);
  EXPECT_EQ(victim->say("release name"), "unknown");
  EXPECT_TRUE(eventually([&] { return eyes.list().empty(); }));
  EXPECT_GT(fence_in(victim->say("acquire name 20000")), first);
  EXPECT_EQ(victim->say("release name"), "released");
  judge();
  expect_nothing_left();
}

TEST_F(sqlite_faults, F5_a_crash_after_the_commit_leaves_no_orphan) {
  const client eyes = connect();
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

TEST_F(sqlite_faults, F8_fences_rise_over_a_crash_that_has_lost_the_last_commits) {
  auto before = start("before", long_lease);
  EXPECT_TRUE(before->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(before->say("release name"), "released");
  const snapshot old{scene().database(), scene().folder()};
  const fence given = fence_in(before->say("acquire name 20000"));
  EXPECT_EQ(before->say("write name 1"), "accepted");
  before->kill();
  scene().book().nemesis(now(), fault::rollback);
  old.bring_back();
  const auto after = start("after", long_lease);
  EXPECT_GT(fence_in(after->say("acquire name 20000")), given);
  EXPECT_EQ(after->say("write name 2"), "accepted");
  EXPECT_EQ(after->say("release name"), "released");
  judge();
  expect_sound();
}

TEST_F(sqlite_faults, F14_a_hold_taken_away_by_hand_is_told_at_the_next_renewal) {
  const client eyes = connect();
  fence last;
  for (const std::string by_hand : {"UPDATE locks SET owner = NULL WHERE name = 'name'",
                                    "DELETE FROM locks WHERE name = 'name'"}) {
    const auto holder = start("holder");
    const auto next = start("next", long_lease);
    const fence first = fence_in(holder->say("acquire name 20000"));
    EXPECT_GT(first, last);
    holder->send("work name 20000");
    sleep_for_real(lease / 2);
    scene().book().nemesis(now(), fault::admin_delete, checker::event::nobody, "name");
    scene().run_sql(by_hand);
    const time_point taken = now();
    const fence second = fence_in(next->say("acquire name 20000"));
    EXPECT_GT(second, first) << by_hand;
    last = second;
    EXPECT_EQ(holder->answer(), "lost");
    const notice told = ask_notice(*holder, "name");
    EXPECT_EQ(told.times, 1);
    EXPECT_LE(told.when - taken, lease / 3 + stall);
    EXPECT_EQ(holder->say("release name"), "lost");
    EXPECT_EQ(next->say("valid name"), "yes");
    EXPECT_EQ(next->say("release name"), "released");
  }
  judge();
}

TEST_F(sqlite_faults, F14_a_broken_lock_is_told_at_once) {
  const client admin = connect();
  const auto holder = start("holder", long_lease);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  holder->send("work name 20000");
  scene().book().nemesis(now(), fault::admin_delete, checker::event::nobody, "name");
  EXPECT_TRUE(admin.break_lock("name", admin.look("name").holders.at(0).owner));
  const time_point broken = now();
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - broken, stall);  // long before the next renewal
  EXPECT_EQ(ask_notice(*holder, "name").why, "broken");
  judge();
}

TEST_F(sqlite_faults, F14_a_place_in_line_taken_away_by_hand_is_taken_again) {
  const client eyes = connect();
  const auto holder = start("holder", long_lease);
  const auto waiter = start("waiter", lease);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  waiter->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(eyes, "name", 1));
  scene().run_sql("DELETE FROM claims");
  EXPECT_TRUE(line_reaches(eyes, "name", 1));
  EXPECT_EQ(holder->say("release name"), "released");
  in_at(*waiter);
  EXPECT_EQ(waiter->say("release name"), "released");
  // Nothing believes in the row that is gone.
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release name"), "released");
  judge();
  expect_nothing_left();
}

TEST_F(sqlite_faults, F18_a_foreign_transaction_of_three_seconds_is_waited_for) {
  const auto holder = start("holder", long_lease);
  const auto next = start("next", long_lease);
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  foreign_writer other{scene().database()};
  scene().book().nemesis(now(), fault::server_down);
  other.run("BEGIN EXCLUSIVE");
  const time_point begun = now();
  next->send("acquire name 20000");
  sleep_for_real(begun + 3s - now());
  EXPECT_FALSE(next->has_answered());
  other.run("COMMIT");
  const time_point committed = now();
  scene().book().nemesis(committed, fault::server_up);
  EXPECT_LE(in_at(*next) - committed, stall);
  EXPECT_EQ(holder->say("valid held"), "yes");
  EXPECT_EQ(holder->say("release held"), "released");
  judge();
}

TEST_F(sqlite_faults, F18_a_busy_foreign_writer_starves_nobody) {
  foreign_writer other{scene().database()};
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

TEST_F(sqlite_faults, F30_after_a_wipe_of_all_rows_fences_rise_and_everybody_goes_on) {
  const auto holder = start("holder");
  const auto waiter = start("waiter", long_lease);
  const client eyes = connect();
  const fence first = fence_in(holder->say("acquire name 20000"));
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  waiter->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(eyes, "name", 1));
  holder->send("work name 20000");
  scene().book().nemesis(now(), fault::state_loss);
  scene().run_sql("DELETE FROM claims; DELETE FROM locks; DELETE FROM clients;");
  const time_point wiped = now();
  const fence second = fence_in(waiter->answer());
  EXPECT_LE(now() - wiped, look_cap);
  EXPECT_GT(second, first);
  EXPECT_EQ(waiter->say("write name 2"), "accepted");
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - wiped, lease / 3 + stall);
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(waiter->say("release name"), "released");
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release name"), "released");
  judge();
}

TEST_F(sqlite_faults, F30_after_the_removal_of_the_files_fences_rise_and_everybody_goes_on) {
  const auto holder = start("holder");
  const auto waiter = start("waiter", long_lease);
  const client eyes = connect();
  const fence first = fence_in(holder->say("acquire name 20000"));
  waiter->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(eyes, "name", 1));
  holder->send("work name 20000");
  scene().book().nemesis(now(), fault::state_loss);
  for (const char* const end : {"", "-wal", "-shm", "-crosslock"}) {
    fs::remove(scene().database().string() + end);
  }
  const time_point removed = now();
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - removed, lease + stall);
  const fence second = fence_in(waiter->answer());
  EXPECT_GT(second, first);
  EXPECT_EQ(waiter->say("release name"), "released");
  EXPECT_GT(fence_in(holder->say("acquire name 20000")), second);
  EXPECT_EQ(holder->say("release name"), "released");
  judge();
  expect_sound();
}

TEST_F(sqlite_faults, F31_waiters_outlive_the_loss_of_their_wake_ups) {
  const client eyes = connect();
  for (const std::string harm : {"dropped", "removed", "overwritten"}) {
    const auto holder = start("holder", long_lease);
    const auto waiter = start("waiter", long_lease);
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held")) << harm;
    waiter->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(eyes, "name", 1)) << harm;
    const std::string words = sqlite::wake_file::path_for(scene().database());
    if (harm == "dropped") scene().board().drop_wake_ups = 1;
    if (harm == "removed") fs::remove(words);
    if (harm == "overwritten") {
      // In place: whoever has it mapped sees this.
      std::mt19937 random{7};
      std::fstream file{words, std::ios::in | std::ios::out | std::ios::binary};
      for (std::uintmax_t i = 0; i < fs::file_size(words); ++i) file.put(char(random()));
    }
    const time_point released = now();
    EXPECT_EQ(holder->say("release name"), "released") << harm;
    EXPECT_LE(in_at(*waiter) - released, look_cap) << harm;
    EXPECT_EQ(waiter->say("release name"), "released") << harm;
    scene().board().drop_wake_ups = 0;
    EXPECT_EQ(waiter->say("loop name 20 0"), "done 20") << harm;
    if (harm == "overwritten") fs::remove(words);  // nobody new could use it
  }
  judge();
  expect_nothing_left();
}

}  // namespace
}  // namespace crosslock::faults
