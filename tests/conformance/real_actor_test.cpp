// The processes that cases play with: they do what they are told, and what is done to them is what
// the case says. Each has a `memory:` server to itself, so nothing here is about an engine.
#include "conformance/fixtures/real_actor.hpp"
#include "conformance/fixtures/mapped_numbers.hpp"
#include "conformance/fixtures/stage_folder.hpp"

#include <crosslock/client.hpp>

#include <gtest/gtest.h>

#include <signal.h>

#include <cerrno>
#include <memory>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;
using checker::fault;

const bool added = add_performance("memory", [](const role& mine) {
  const std::filesystem::path folder = mine.words.at(0);
  mapped_numbers numbers{folder / "numbers"};
  checker::recorder book{folder / (std::to_string(mine.number) + ".jsonl")};
  return play_at_pipe({.proc = mine.number,
                       .clock = &seam::real_clock(),
                       .sleep = sleep_for_real,
                       .resource = &numbers,
                       .book = &book},
                      [&] {
                        options how;
                        how.lease = mine.lease;
                        return connect("memory:", how);
                      });
});

class real_processes : public testing::Test {
 protected:
  std::unique_ptr<real_actor> start(std::int32_t number = 1) {
    return std::make_unique<real_actor>(role{.engine = "memory",
                                             .number = number,
                                             .name = "p" + std::to_string(number),
                                             .lease = 30s,
                                             .words = {folder_.path()}},
                                        book_, [](bool) {});
  }
  std::vector<fault> faults() const {
    std::vector<fault> found;
    for (const auto& each : book_.events()) found.push_back(each.kind);
    return found;
  }
  static bool exists(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

  stage_folder folder_;
  checker::recorder book_;
  mapped_numbers numbers_{folder_.path() / "numbers"};
};

TEST_F(real_processes, they_answer_in_order_and_leave_in_order) {
  auto one = start();
  one->send("acquire name 1000");
  one->send("write name 7");
  EXPECT_TRUE(one->answer().starts_with("held "));
  EXPECT_EQ(one->answer(), "accepted");
  EXPECT_EQ(numbers_.read("name"), 7);
  EXPECT_EQ(one->say("nonsense name"), "error nobody knows the command nonsense");
  const pid_t pid = one->pid();
  one.reset();
  EXPECT_FALSE(exists(pid));
  EXPECT_TRUE(book_.events().empty());
  const auto told = checker::read_file(folder_.path() / "1.jsonl");
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().f, checker::action::rel);  // it gave back what it had
}

TEST_F(real_processes, an_answer_is_seen_when_it_is_there) {
  const auto one = start();
  EXPECT_EQ(one->say("sleep 1"), "awake");
  EXPECT_FALSE(one->has_answered());
  one->send("sleep 1");
  while (!one->has_answered()) sleep_for_real(1ms);
  EXPECT_EQ(one->answer(), "awake");
}

TEST_F(real_processes, a_killed_one_is_dead_and_writes_nothing_any_more) {
  const auto one = start();
  one->send("loop name 1000000 0");
  while (numbers_.read("name") < 100) sleep_for_real(1ms);
  one->kill();
  const std::int64_t at_its_death = numbers_.read("name");
  EXPECT_FALSE(exists(one->pid()));
  EXPECT_EQ(one->answer(), "dead");
  EXPECT_EQ(faults(), (std::vector{fault::kill}));
  const auto told = checker::read_file(folder_.path() / "1.jsonl");
  EXPECT_LT(told.back().t, book_.events().at(0).t);
  EXPECT_EQ(numbers_.read("name"), at_its_death);
}

TEST_F(real_processes, a_frozen_one_does_nothing_until_it_is_thawed) {
  const auto one = start();
  one->send("loop name 1000000 0");
  while (numbers_.read("name") < 100) sleep_for_real(1ms);
  one->freeze();
  const std::int64_t frozen_at = numbers_.read("name");
  sleep_for_real(50ms);
  EXPECT_EQ(numbers_.read("name"), frozen_at);
  one->thaw();
  while (numbers_.read("name") == frozen_at) sleep_for_real(1ms);
  EXPECT_EQ(faults(), (std::vector{fault::pause, fault::thaw}));
  one->kill();
}

TEST_F(real_processes, a_slow_one_gets_a_fraction_of_the_time) {
  const auto quick = start(1);
  const auto slow = start(2);
  slow->slow_down();
  quick->send("loop quick 1000000 0");
  slow->send("loop slow 1000000 0");
  while (numbers_.read("quick") < 20000) sleep_for_real(1ms);
  EXPECT_LT(numbers_.read("slow"), 10000);
  quick->kill();
  slow->kill();
}

TEST_F(real_processes, one_that_was_not_buried_is_a_zombie) {
  const auto one = start();
  EXPECT_EQ(one->say("sleep 0"), "awake");
  one->kill_unburied();
  EXPECT_TRUE(exists(one->pid()));
  one->bury();
  EXPECT_FALSE(exists(one->pid()));
}

TEST_F(real_processes, what_a_tool_has_started_is_found_behind_it) {
  // The shell waits for it, as unshare(1) does.
  real_actor one{
      {.engine = "memory", .number = 1, .name = "behind", .lease = 30s, .words = {folder_.path()}},
      book_,
      [](bool) {},
      {"/bin/sh", "-c", "\"$@\"; exit $?", "sh"}};
  EXPECT_EQ(one.say("sleep 0"), "awake");
  const pid_t pid = one.pid();
  one.kill();
  EXPECT_FALSE(exists(pid));
}

TEST_F(real_processes, the_resource_refuses_an_older_fence_from_any_of_them) {
  EXPECT_TRUE(numbers_.write("name", fence{5}, 1));
  mapped_numbers same{folder_.path() / "numbers"};
  EXPECT_FALSE(same.write("name", fence{4}, 2));
  EXPECT_TRUE(same.write("name", fence{5}, 3));
  EXPECT_TRUE(same.write("other", fence{1}, 4));
  EXPECT_EQ(numbers_.read("name"), 3);
  EXPECT_EQ(numbers_.read("other"), 4);
  EXPECT_EQ(numbers_.read("third"), 0);
}

}  // namespace
}  // namespace crosslock::conformance
