// What `crosslock run` decides before it does anything.
#include "cli/commands/run.hpp"
#include "cli/running/stop_plan.hpp"
#include "cli/signals.hpp"
#include "cli/times.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;
using words = std::vector<std::string>;

constexpr time_point noon{12h};

TEST(stop_plan, a_command_is_asked_in_time_and_killed_before_the_deadline) {
  const stop_times times = plan_stop(noon, noon + 30s, 5s);
  EXPECT_EQ(times.kill_at, noon + 30s - 250ms);
  EXPECT_EQ(times.ask_at, times.kill_at - 5s);
}

TEST(stop_plan, a_short_lease_shrinks_everything) {
  const stop_times times = plan_stop(noon, noon + 1s, 5s);
  EXPECT_LT(times.kill_at, noon + 1s);
  EXPECT_GE(times.ask_at, noon + 550ms);  // renewals come every third of it
}

TEST(stop_plan, when_nothing_is_left_both_are_now) {
  const stop_times times = plan_stop(noon, noon - 3s, 5s);
  EXPECT_LE(times.kill_at, noon);
  EXPECT_LE(times.ask_at, times.kill_at);
}

TEST(stop_plan, a_loss_before_its_time_leaves_no_more_than_the_grace) {
  EXPECT_EQ(plan_stop_now(noon, noon + 20s, 5s), (stop_times{noon, noon + 5s}));
  EXPECT_EQ(plan_stop_now(noon, noon + 20s, 0s), (stop_times{noon, noon}));
  EXPECT_LT(plan_stop_now(noon, noon + 2s, 5s).kill_at, noon + 2s);
}

TEST(stop_plan, the_grace_is_never_more_than_a_third_of_the_lease) {
  for (const duration lease : {100ms, 1000ms, 6000ms, 30000ms, 3600000ms}) {
    EXPECT_LE(usual_kill_after(lease), longest_kill_after(lease));
    EXPECT_LE(usual_kill_after(lease), 5s);
  }
}

run_request read(const words& before, const behind_dashes& behind = {},
                 const std::optional<std::string>& shell = {}) {
  return read_run_words(before, behind, shell);
}

TEST(run_words, the_words_of_the_command_are_its_own) {
  EXPECT_EQ(read({"a", "ls", "-n", "--help"}).command, (words{"ls", "-n", "--help"}));
  EXPECT_EQ(read({"a"}, words{"ls", "--", "-x"}).command, (words{"ls", "--", "-x"}));
  EXPECT_EQ(read({"a", "ls"}, words{"x"}).command, (words{"ls", "--", "x"}));
  EXPECT_EQ(read({}, words{"-a", "ls"}).name, "-a");
  EXPECT_EQ(read({}, words{"a", "--", "ls"}).command, (words{"ls"}));
}

TEST(run_words, a_shell_is_asked_for_before_or_behind_the_name) {
  const words expected{"/bin/sh", "-c", "echo x"};
  EXPECT_EQ(read({"a"}, {}, "echo x").command, expected);
  EXPECT_EQ(read({"a", "-c", "echo x"}).command, expected);
  EXPECT_THROW(read({"a", "-c", "echo x"}, {}, "echo y"), usage_error);
  EXPECT_THROW(read({"a", "-c"}), usage_error);
  EXPECT_THROW(read({"a", "ls"}, {}, "echo x"), usage_error);
}

TEST(run_words, what_is_missing_is_said) {
  EXPECT_THROW(read({}), usage_error);
  EXPECT_THROW(read({"a"}), usage_error);
  EXPECT_THROW(read({"a"}, words{}), usage_error);
  EXPECT_THROW(read({"-z", "a", "ls"}), usage_error);
  EXPECT_THROW(read({"a", "-z", "ls"}), usage_error);
}

TEST(signal_number, names_numbers_and_nothing_else) {
  EXPECT_EQ(signal_number("term"), SIGTERM);
  EXPECT_EQ(signal_number("SIGUSR1"), SIGUSR1);
  EXPECT_EQ(signal_number("9"), SIGKILL);
  for (const char* wrong : {"", "0", "SIG", "wink", "-1", "9x", "999"}) {
    EXPECT_EQ(signal_number(wrong), 0) << wrong;
  }
}

TEST(times, people_write_them_in_many_ways) {
  EXPECT_EQ(read_time("-w", "2"), 2s);
  EXPECT_EQ(read_time("-w", "0.25"), 250ms);
  EXPECT_EQ(read_time("-w", ".5s"), 500ms);
  EXPECT_EQ(read_time("-w", "1.5h"), 90min);
  EXPECT_EQ(read_time("-w", "500ms"), 500ms);
  for (const char* wrong : {"", ".", "1.", "1.x", "-1", "soon", "1 s", "1d", "99999999999h",
                            "1.0000000001", "1.5.5", "9223372036.9s", "876001h"}) {
    EXPECT_THROW(read_time("-w", wrong), usage_error) << wrong;
  }
}

TEST(times, people_read_them_rounded_down) {
  EXPECT_EQ(show_time(-1s), "0ms");
  EXPECT_EQ(show_time(999ms), "999ms");
  EXPECT_EQ(show_time(4299ms), "4.2s");
  EXPECT_EQ(show_time(59s), "59s");
  EXPECT_EQ(show_time(192s), "3m12s");
  EXPECT_EQ(show_time(5h + 7min), "5h07m");
  EXPECT_EQ(show_time(51h), "2d03h");
}

}  // namespace
}  // namespace crosslock::cli
