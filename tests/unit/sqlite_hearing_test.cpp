// Clients of one process on one database hear through one thread, and nobody notices.
#include "engines/sqlite/engine.hpp"
#include "servers/own_process.hpp"
#include "unit/sqlite_rig.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;

std::size_t hearing_threads() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream file{task.path() / "comm"};
    std::string comm;
    if (std::getline(file, comm) && comm == "crosslock-hear") ++count;
  }
  return count;
}

/// A thread that was joined stands in /proc for a moment longer.
bool are_hearing(std::size_t count) {
  return servers::eventually([&] { return hearing_threads() == count; });
}

/// Counts what a client is told, after what the test does on the thread that tells it.
class told final : public seam::engine_events {
 public:
  void answered(const seam::claim&, const seam::answer&) noexcept override { note(answers_); }
  void granted(const seam::grant&) noexcept override {
    if (when_granted) when_granted();
    note(grants_);
  }
  void look_again(seam::claim_key) noexcept override {}
  void wanted(seam::claim_key) noexcept override { note(wanted_); }
  void failed(seam::claim_key, const error&) noexcept override {}

  int grants() {
    const std::lock_guard guard{mutex_};
    return grants_;
  }
  bool await_grants(int count) { return await(grants_, count); }
  bool await_answers(int count) { return await(answers_, count); }
  bool await_wanted() { return await(wanted_, 1); }

  std::function<void()> when_granted;

 private:
  void note(int& what) {
    const std::lock_guard guard{mutex_};
    ++what;
    changed_.notify_all();
  }
  bool await(const int& what, int count) {
    std::unique_lock guard{mutex_};
    return changed_.wait_for(guard, 5s, [&] { return what >= count; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int grants_ = 0;
  int answers_ = 0;
  int wanted_ = 0;
};

/// One client of this process.
struct client_here {
  explicit client_here(const std::string& path)
      : engine{std::make_unique<sqlite::engine>(
            database_location{.path = path}, identity{.text = "me"}, heard, seam::real_clock())} {}
  seam::answer ask(const std::string& name, std::uint8_t owner, bool wait = false) const {
    return engine->ask(claim_for(name, owner, wait), rig::soon());
  }
  void wait_for(const std::string& name, std::uint8_t owner) const {
    ASSERT_EQ(ask(name, owner, true).result, ask_result::in_line);
  }

  told heard;
  std::unique_ptr<sqlite::engine> engine;
};

/// A client with a connection of its own is to the others as one of another process.
struct elsewhere : rig {
  using rig::rig;
  void hold(const std::string& name) {
    held.emplace_back(claim_for(name, 200), seam::ask_answer{});
    held.back().second = ask(held.back().first);
    ASSERT_EQ(held.back().second.result, ask_result::granted);
  }
  /// In one transaction.
  void let_go(std::size_t count) {
    connection->write(self, verb::release, soon(), [&](seam::line_server& line) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto& [claim, answer] = held[i];
        line.release(claim.name, claim.owner, answer.granted.first);
      }
    });
    held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::vector<std::pair<seam::claim, seam::ask_answer>> held;
};

struct sqlite_hearing : testing::Test {
  std::vector<std::unique_ptr<client_here>> clients(int count) const {
    std::vector<std::unique_ptr<client_here>> made;
    for (int i = 0; i < count; ++i) made.push_back(std::make_unique<client_here>(path));
    return made;
  }

  scratch dir;
  const std::string path = dir.file("locks.db");
  const std::size_t before = are_hearing(0) ? 0 : hearing_threads();
};

/// Something that whoever comes must wait for.
class barred_door {
 public:
  void wait() {
    reached_.set_value();
    opened_.wait();
  }
  void await_somebody() { reached_.get_future().wait(); }
  void open() { opening_.set_value(); }

 private:
  std::promise<void> reached_;
  std::promise<void> opening_;
  std::shared_future<void> opened_{opening_.get_future()};
};

TEST_F(sqlite_hearing, twenty_clients_have_one_thread_which_ends_with_the_last) {
  elsewhere other{path};
  {
    const auto all = clients(20);
    EXPECT_TRUE(are_hearing(before));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string name = "n" + std::to_string(i);
      other.hold(name);
      all[i]->wait_for(name, 1);
    }
    EXPECT_TRUE(are_hearing(before + 1));
    for (const auto& each : all) {
      other.let_go(1);
      EXPECT_TRUE(each->heard.await_grants(1));
    }
    EXPECT_TRUE(are_hearing(before + 1));
  }
  EXPECT_TRUE(are_hearing(before));
}

TEST_F(sqlite_hearing, more_news_at_once_than_a_mailbox_keeps_reaches_everybody) {
  elsewhere other{path};
  const auto all = clients(20);
  for (std::size_t i = 0; i < all.size(); ++i) {
    other.hold("n" + std::to_string(i));
    all[i]->wait_for("n" + std::to_string(i), 1);
  }
  other.let_go(all.size());
  for (const auto& each : all) EXPECT_TRUE(each->heard.await_grants(1));
}

TEST_F(sqlite_hearing, whoever_comes_back_when_all_have_gone_is_heard_again) {
  elsewhere other{path};
  // It keeps the connection.
  const auto shared = connection::to({.path = path}, seam::real_clock());
  for (int i = 0; i < 3; ++i) {
    const client_here client{path};
    EXPECT_EQ(client.ask("mine", 1).result, ask_result::granted);
    EXPECT_TRUE(are_hearing(before + 1));
    client.engine->close();
    EXPECT_TRUE(are_hearing(before));
    other.connection->write(other.self, verb::break_lock, rig::soon(), [](seam::line_server& line) {
      line.break_lock(std::make_shared<const lock_name>("mine"), owner_number(1));
    });
  }
}

TEST_F(sqlite_hearing, a_process_has_a_mailbox_and_another_process_another) {
  const auto ours = connection::to({.path = path}, seam::real_clock());
  const auto box = [](const member& one) { return one.number() % 1023; };
  member first{"first"};
  member second{"second"};
  member third{"third"};
  ours->enter(first);
  rig other{path};
  ours->enter(second);
  rig another{path};
  ours->enter(third);
  EXPECT_EQ(box(second), box(first));
  EXPECT_EQ(box(third), box(first));
  EXPECT_GT(third.number(), second.number());
  EXPECT_NE(box(other.self), box(first));
  EXPECT_NE(box(another.self), box(first));
  EXPECT_NE(box(another.self), box(other.self));
  for (member* const each : {&first, &second, &third}) ours->leave(*each);
}

struct sqlite_hearing_hangs : sqlite_hearing {
  /// The thread is with it until the door opens.
  void SetUp() override {
    other.hold("a");
    other.hold("b");
    other.hold("a2");
    stuck.heard.when_granted = [this] {
      if (!std::exchange(came, true)) door.wait();
    };
    stuck.wait_for("a", 1);
    next.wait_for("b", 2);
    stuck.wait_for("a2", 3);
    other.let_go(1);
    door.await_somebody();
  }

  elsewhere other{path};
  client_here stuck{path};
  client_here next{path};
  barred_door door;
  bool came = false;
};

TEST_F(sqlite_hearing_hangs, a_client_that_keeps_the_thread_keeps_it_from_nobody_else) {
  other.let_go(2);
  // Another thread takes over for whoever asks after a while.
  const time_point until = rig::soon();
  while (hearing_threads() == before + 1 && seam::real_clock().now() < until) {
    EXPECT_EQ(next.ask("c", 4).result, ask_result::granted);
  }
  EXPECT_TRUE(next.heard.await_grants(1));
  EXPECT_TRUE(are_hearing(before + 2));
  door.open();
  EXPECT_TRUE(stuck.heard.await_grants(2));  // what it has missed meanwhile
  other.hold("d");
  next.wait_for("d", 5);
  other.let_go(1);
  EXPECT_TRUE(next.heard.await_grants(2));
}

TEST_F(sqlite_hearing_hangs, asks_of_others_do_not_wait_for_it) {
  const time_point until = rig::soon();
  while (hearing_threads() == before + 1 && seam::real_clock().now() < until) {
    EXPECT_EQ(next.ask("c", 4).result, ask_result::granted);
  }
  stuck.engine->ask_async(claim_for("b", 5), rig::soon());
  next.engine->ask_async(claim_for("b", 6), rig::soon());
  EXPECT_TRUE(next.heard.await_answers(1));
  door.open();
  EXPECT_TRUE(stuck.heard.await_answers(1));
}

TEST_F(sqlite_hearing_hangs, closing_waits_for_the_clients_own_news_and_for_no_other) {
  next.engine->close();  // back, while the other is still kept
  EXPECT_EQ(stuck.heard.grants(), 0);
  const std::jthread opener{[this] { door.open(); }};
  stuck.engine->close();
  EXPECT_EQ(stuck.heard.grants(), 1);
  EXPECT_TRUE(are_hearing(before));
}

TEST_F(sqlite_hearing, only_the_client_that_is_told_something_must_not_be_closed_by_that_thread) {
  elsewhere other{path};
  client_here one{path};
  auto second = std::make_unique<client_here>(path);
  other.hold("a");
  bool own = false;
  bool others = true;
  one.heard.when_granted = [&] {
    own = one.engine->on_own_thread();
    others = second->engine->on_own_thread();
    second.reset();  // by the thread that hears for both
  };
  EXPECT_EQ(second->ask("mine", 7).result, ask_result::granted);
  one.wait_for("a", 1);
  other.let_go(1);
  ASSERT_TRUE(one.heard.await_grants(1));
  EXPECT_TRUE(own);
  EXPECT_FALSE(others);
  EXPECT_FALSE(one.engine->on_own_thread());
  EXPECT_TRUE(are_hearing(before + 1));
}

TEST_F(sqlite_hearing, a_client_that_comes_while_the_thread_naps_is_not_slept_through) {
  elsewhere other{path};
  const client_here first{path};
  EXPECT_EQ(first.ask("mine", 1).result, ask_result::granted);
  for (std::uint8_t i = 2; i < 40; ++i) {
    client_here fresh{path};
    EXPECT_EQ(fresh.ask("n", i).result, ask_result::granted);
    // Heard within the second that the thread naps for the sake of holders.
    seam::ask_answer waits = other.ask(claim_for("n", 100, true));
    ASSERT_EQ(waits.result, ask_result::in_line);
    EXPECT_TRUE(fresh.heard.await_wanted());
    other.connection->write(other.self, verb::withdraw, rig::soon(), [&](seam::line_server& line) {
      line.withdraw(std::make_shared<const lock_name>("n"), owner_number(100), {});
    });
    fresh.engine->withdraw(claim_for("n", i), rig::soon());
  }
}

}  // namespace
}  // namespace crosslock::sqlite
