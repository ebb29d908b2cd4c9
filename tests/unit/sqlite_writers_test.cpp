// How writers meet: in one process they share commits, several of them queue at the gate, and none
// waits for one who is dead or frozen there.
#include "engines/sqlite/gate.hpp"
#include "engines/sqlite/interests.hpp"
#include "unit/sqlite_rig.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;

TEST(sqlite_connection, jobs_that_wait_together_are_committed_together) {
  const scratch dir;
  rig client{dir.file("locks.db")};
  std::atomic<bool> first_is_in{false};
  std::atomic<bool> go_on{false};
  const std::uint64_t before = client.connection->wake()->commits();
  std::vector<std::jthread> threads;
  threads.emplace_back([&] {
    client.connection->write(client.self, verb::ask, rig::soon(), [&](seam::line_server&) {
      first_is_in = true;
      first_is_in.notify_all();
      go_on.wait(false);
    });
  });
  first_is_in.wait(false);
  constexpr std::uint8_t others = 20;
  std::atomic<int> granted{0};
  for (std::uint8_t i = 0; i < others; ++i) {
    threads.emplace_back([&, i] {
      const auto outcome = client.ask("name " + std::to_string(i), i);
      granted += outcome.result == seam::ask_result::granted ? 1 : 0;
    });
  }
  while (client.connection->waiting() < others) std::this_thread::yield();
  go_on = true;
  go_on.notify_all();
  threads.clear();
  EXPECT_EQ(granted, others);
  EXPECT_EQ(client.connection->wake()->commits() - before, 2U);
}

TEST(sqlite_connection, a_refused_job_does_not_spoil_those_beside_it) {
  const scratch dir;
  rig client{dir.file("locks.db")};
  std::atomic<bool> in{false};
  std::atomic<bool> go_on{false};
  std::jthread leader{[&] {
    client.connection->write(client.self, verb::ask, rig::soon(), [&](seam::line_server&) {
      in = true;
      in.notify_all();
      go_on.wait(false);
    });
  }};
  in.wait(false);
  std::atomic<bool> refused{false};
  std::jthread bad{[&] {
    auto claim = claim_for("bad", 1);
    claim.mode = claim_mode::permit;
    claim.permits = 3;
    claim.of = 2;
    try {
      client.ask(claim);
    } catch (const error& why) {
      refused = why.which() == errc::conflict;
    }
  }};
  seam::ask_answer good;
  std::jthread beside{[&] { good = client.ask("good", 2); }};
  while (client.connection->waiting() < 2) std::this_thread::yield();
  go_on = true;
  go_on.notify_all();
  leader.join();
  bad.join();
  beside.join();
  EXPECT_TRUE(refused);
  EXPECT_EQ(good.result, seam::ask_result::granted);
  EXPECT_EQ(client.look("good").holders.size(), 1U);
}

TEST(sqlite_connection, one_who_waits_behind_a_stuck_writer_gives_up_in_time) {
  const scratch dir;
  rig client{dir.file("locks.db")};
  database foreign{dir.file("locks.db"), durability::normal, seam::real_clock()};
  foreign.run("BEGIN IMMEDIATE");
  const auto try_for = [&](duration wait) {
    try {
      client.connection->write(client.self, verb::ask, seam::real_clock().now() + wait,
                               [](seam::line_server&) {});
    } catch (const error& why) {
      return why.outcome_unknown() ? errc{} : why.which();
    }
    return errc{};
  };
  std::vector<errc> codes(4);
  {
    std::vector<std::jthread> threads;
    for (errc& code : codes) threads.emplace_back([&] { code = try_for(100ms); });
  }
  for (const errc code : codes) EXPECT_EQ(code, errc::timed_out);
  foreign.run("ROLLBACK");
  EXPECT_EQ(client.ask("name", 1).result, seam::ask_result::granted);
}

TEST(sqlite_gate, whoever_died_in_it_is_passed_by) {
  const scratch dir;
  rig client{dir.file("locks.db")};
  // As a process leaves it that was killed inside.
  client.connection->wake()->words().gate.state.store(1);
  EXPECT_EQ(client.ask("name", 1).result, seam::ask_result::granted);
  EXPECT_EQ(client.ask("name", 2).result, seam::ask_result::busy);
}

TEST(sqlite_gate, a_forgotten_request_to_have_it_handed_over_stops_nobody) {
  const scratch dir;
  rig client{dir.file("locks.db")};
  client.connection->wake()->words().gate.impatient.store(1);
  EXPECT_EQ(client.ask("name", 1).result, seam::ask_result::granted);
  EXPECT_EQ(client.ask("other", 2).result, seam::ask_result::granted);
}

TEST(sqlite_gate, it_lets_one_in_at_a_time) {
  gate_words words;
  std::atomic<int> inside{0};
  std::atomic<int> collisions{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      gate mine{words, seam::real_clock()};
      for (int i = 0; i < 2000; ++i) {
        const auto how = mine.enter(rig::soon(), [] { return false; });
        ASSERT_EQ(how, gate::admission::our_turn);
        if (inside.fetch_add(1) != 0) ++collisions;
        inside.fetch_sub(1);
        mine.leave();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(collisions, 0);
}

TEST(sqlite_gate, at_the_end_of_its_patience_a_caller_goes_away) {
  gate_words words;
  words.state.store(1);
  gate mine{words, seam::real_clock()};
  int tried = 0;
  const auto how = mine.enter(seam::real_clock().now() + 60ms, [&] { return ++tried < 0; });
  EXPECT_EQ(how, gate::admission::too_late);
  EXPECT_GE(tried, 1);
}

TEST(wake_file, a_wake_up_is_found_under_its_number_only) {
  const scratch dir;
  rig client{dir.file("locks.db")};
  const auto wake = client.connection->wake();
  const mailbox& box = wake->mailbox_of(77);
  const std::uint32_t number = box.posted.load();
  EXPECT_FALSE(wake_file::posted(box, number + 1));
  wake->post(77, 4711);
  EXPECT_EQ(wake_file::posted(box, number), 4711U);
  for (std::uint32_t i = 0; i < mailbox::kept; ++i) wake->post(77, i);
  EXPECT_FALSE(wake_file::posted(box, number)) << "overwritten by later ones";
}

TEST(wake_file, one_that_was_removed_is_made_again) {
  const scratch dir;
  rig client{dir.file("locks.db")};
  EXPECT_TRUE(client.connection->files_in_place());
  std::filesystem::remove(wake_file::path_for(dir.file("locks.db")));
  EXPECT_FALSE(client.connection->files_in_place());
  EXPECT_EQ(client.ask("name", 1).result, seam::ask_result::granted);
  EXPECT_TRUE(client.connection->files_in_place());
}

TEST(wake_file, whoever_sleeps_at_the_old_one_is_woken_when_it_is_replaced) {
  const scratch dir;
  rig client{dir.file("locks.db")};
  const auto old = client.connection->wake();
  const mailbox& box = old->mailbox_of(client.self.number());
  const std::uint32_t rings = box.rings.load();
  std::filesystem::remove(wake_file::path_for(dir.file("locks.db")));
  EXPECT_FALSE(client.connection->files_in_place());
  client.ask("name", 1);
  EXPECT_NE(client.connection->wake(), old);
  EXPECT_GT(box.rings.load(), rings);
}

TEST(sqlite_connection, the_log_taken_away_is_like_another_database) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  rig client{path};
  EXPECT_TRUE(client.connection->files_in_place());
  std::filesystem::remove(path + "-wal");
  std::filesystem::remove(path + "-shm");
  EXPECT_FALSE(client.connection->files_in_place());
}

TEST(sqlite_connection, a_file_that_was_replaced_is_noticed_at_the_first_use) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  rig idle{path};
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  rig other{path};
  ASSERT_EQ(other.ask("name", 1).result, seam::ask_result::granted);
  const time_point later = seam::real_clock().now() + 1100ms;
  while (seam::real_clock().now() < later) std::this_thread::yield();
  EXPECT_EQ(idle.ask("name", 2).result, seam::ask_result::busy);
}

TEST(sqlite_interests, an_answer_in_line_that_a_grant_has_overtaken_changes_nothing) {
  interests all;
  const auto claim = claim_for("a", 1, true);
  all.asking(claim);
  EXPECT_TRUE(all.brought(*claim.name, claim.owner));
  all.waiting(*claim.name, claim.owner, 5, true);
  EXPECT_EQ(all.all().at(0).is, interest::kind::holding);
  EXPECT_EQ(all.near(), 0U);
  all.asking(claim);
  all.waiting(*claim.name, claim.owner, 6, true);
  EXPECT_EQ(all.all().at(0).is, interest::kind::waiting) << "a later ask counts again";
  EXPECT_EQ(all.near(), 1U);
  all.note_place(*claim.name, claim.owner, 5, false);
  EXPECT_EQ(all.near(), 1U) << "that was another place";
  all.forget(*claim.name, claim.owner);
  all.waiting(*claim.name, claim.owner, 6, true);
  EXPECT_FALSE(all.any()) << "what was withdrawn is not remembered again";
}

TEST(sqlite_gate, words_that_make_no_sense_only_cost_time) {
  gate_words words;
  words.state.store(4711);
  gate mine{words, seam::real_clock()};
  int tried = 0;
  EXPECT_EQ(mine.enter(rig::soon(), [&] { return ++tried == 2; }), gate::admission::begun);
  mine.leave();
  EXPECT_EQ(mine.enter(rig::soon(), [] { return false; }), gate::admission::our_turn);
}

TEST(sqlite_connection, a_database_that_was_removed_is_made_again_and_fences_go_on_rising) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  rig client{path};
  const auto before = client.ask("name", 1);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  EXPECT_FALSE(client.connection->files_in_place());
  const auto after = client.ask("name", 2);
  EXPECT_EQ(after.result, seam::ask_result::granted);
  EXPECT_GT(after.granted.first, before.granted.first);
}

}  // namespace
}  // namespace crosslock::sqlite
