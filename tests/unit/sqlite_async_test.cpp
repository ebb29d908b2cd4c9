// Acquires without a thread: what an engine answers in the call itself, and what on its own thread.
#include "engines/sqlite/engine.hpp"
#include "unit/sqlite_rig.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

namespace crosslock {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;

TEST(sqlite_async, whoever_does_not_wait_gets_a_free_lock_from_an_engine_that_answers_later) {
  const sqlite::scratch dir;
  const client locks = connect("sqlite:" + dir.file("locks.db"));
  for (int i = 0; i < 100; ++i) {
    std::promise<acquire_result> told;
    mutex{locks, "name"}.acquire_async(
        [&told](acquire_result result) { told.set_value(std::move(result)); }, {}, 0s);
    const acquire_result result = told.get_future().get();
    ASSERT_TRUE(result.hold) << "at the " << i << "th time";
  }
}

/// Notes the last answer, and on which thread it came.
class answers final : public seam::engine_events {
 public:
  void answered(const seam::claim&, const seam::answer& answer) noexcept override {
    last_ = answer;
    by_ = std::this_thread::get_id();
    told_ = true;
    told_.notify_all();
  }
  void granted(const seam::grant&) noexcept override {}
  void look_again(seam::claim_key) noexcept override {}
  void wanted(seam::claim_key) noexcept override {}
  void failed(seam::claim_key, const error&) noexcept override {}

  bool already() const { return told_; }
  seam::answer next() {
    told_.wait(false);
    told_ = false;
    return last_;
  }
  bool came_in_the_call() const { return by_ == std::this_thread::get_id(); }

 private:
  seam::answer last_;
  std::thread::id by_;
  std::atomic<bool> told_{false};
};

struct sqlite_ask_async : testing::Test {
  seam::answer ask(const std::string& name, std::uint8_t owner, bool wait = false) {
    tested.ask_async(sqlite::claim_for(name, owner, wait), sqlite::rig::soon());
    return heard.next();
  }
  std::uint64_t commits() const { return connection->wake()->commits(); }

  sqlite::scratch dir;
  const std::string path = dir.file("locks.db");
  answers heard;
  // The one that the engine shares.
  std::shared_ptr<sqlite::connection> connection =
      sqlite::connection::to({.path = path}, seam::real_clock());
  sqlite::engine tested{{.path = path}, {.text = "me"}, heard, seam::real_clock()};
};

TEST_F(sqlite_ask_async, a_free_name_is_granted_in_the_call_by_one_transaction) {
  for (std::uint8_t i = 1; i < 5; ++i) {
    const std::uint64_t before = commits();
    const auto claim = sqlite::claim_for("name", i);
    tested.ask_async(claim, sqlite::rig::soon());
    ASSERT_TRUE(heard.already()) << "at the " << int{i} << "th time";
    const seam::answer answer = heard.next();
    EXPECT_EQ(answer.result, ask_result::granted);
    EXPECT_EQ(answer.granted.owner, claim.owner);
    EXPECT_TRUE(heard.came_in_the_call());
    EXPECT_EQ(commits() - before, 1U);
    EXPECT_EQ(tested.release(answer.granted, sqlite::rig::soon()), seam::release_answer::released);
  }
}

TEST_F(sqlite_ask_async, what_is_held_is_answered_by_the_thread_of_the_engine) {
  EXPECT_EQ(ask("name", 1).result, ask_result::granted);
  EXPECT_EQ(ask("name", 2).result, ask_result::busy);
  EXPECT_FALSE(heard.came_in_the_call());
  EXPECT_EQ(ask("name", 3, true).result, ask_result::in_line);
  EXPECT_FALSE(heard.came_in_the_call());
}

TEST_F(sqlite_ask_async, asking_again_finds_the_same_grant) {
  const seam::answer first = ask("name", 1);
  const seam::answer again = ask("name", 1);
  EXPECT_EQ(again.result, ask_result::granted);
  EXPECT_EQ(again.granted.first, first.granted.first);
}

TEST_F(sqlite_ask_async, the_caller_does_not_wait_for_a_writer_of_this_process) {
  std::atomic<bool> in{false};
  std::atomic<bool> go_on{false};
  sqlite::member other{"other"};
  connection->enter(other);
  {
    const std::jthread writer{[&] {
      connection->write(other, sqlite::verb::ask, sqlite::rig::soon(), [&](seam::line_server&) {
        in = true;
        in.notify_all();
        go_on.wait(false);
      });
    }};
    in.wait(false);
    tested.ask_async(sqlite::claim_for("name", 1), sqlite::rig::soon());
    EXPECT_FALSE(heard.already());
    go_on = true;
    go_on.notify_all();
    EXPECT_EQ(heard.next().result, ask_result::granted);
  }
  connection->leave(other);
}

TEST_F(sqlite_ask_async, the_caller_does_not_wait_for_a_writer_of_another_process) {
  auto& gate = connection->wake()->words().gate;
  gate.state.store(1);  // as somebody has it who is inside
  tested.ask_async(sqlite::claim_for("name", 1), sqlite::rig::soon());
  EXPECT_EQ(heard.next().result, ask_result::granted);
  EXPECT_FALSE(heard.came_in_the_call());
}

TEST_F(sqlite_ask_async, the_caller_does_not_wait_for_a_foreign_writer) {
  sqlite::database foreign{path, sqlite::durability::normal, seam::real_clock()};
  foreign.run("BEGIN IMMEDIATE");
  tested.ask_async(sqlite::claim_for("name", 1), sqlite::rig::soon());
  EXPECT_FALSE(heard.already());
  foreign.run("ROLLBACK");
  EXPECT_EQ(heard.next().result, ask_result::granted);
  EXPECT_FALSE(heard.came_in_the_call());
}

TEST(sqlite_ask_async_full, the_caller_does_not_wait_for_the_disk) {
  const sqlite::scratch dir;
  answers heard;
  sqlite::engine tested{{.path = dir.file("locks.db"), .keeps = sqlite::durability::full},
                        {.text = "me"},
                        heard,
                        seam::real_clock()};
  tested.ask_async(sqlite::claim_for("name", 1), sqlite::rig::soon());
  EXPECT_EQ(heard.next().result, ask_result::granted);
  EXPECT_FALSE(heard.came_in_the_call());
}

}  // namespace
}  // namespace crosslock
