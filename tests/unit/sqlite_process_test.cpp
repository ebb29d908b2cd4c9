// When a process counts as dead: only when there can be no doubt.
#include "engines/sqlite/process.hpp"

#include <crosslock/error.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace crosslock::sqlite {
namespace {

constexpr process_id self{.pid = 100, .start = 5000, .pid_ns = 7};
constexpr process_id other{.pid = 200, .start = 6000, .pid_ns = 7};

sighting seen(char state, std::int64_t threads, std::int64_t start) {
  return {true, process_state{state, threads, start}};
}

TEST(surely_dead, it_is_when_no_such_process_is_there) {
  EXPECT_TRUE(surely_dead(other, self, {false, std::nullopt}));
}

TEST(surely_dead, it_lives_when_the_start_time_is_the_same) {
  EXPECT_FALSE(surely_dead(other, self, seen('S', 1, 6000)));
  EXPECT_FALSE(surely_dead(other, self, seen('T', 1, 6000)));
}

TEST(surely_dead, a_pid_that_is_used_again_does_not_keep_it_alive) {
  EXPECT_TRUE(surely_dead(other, self, seen('S', 1, 6001)));
}

TEST(surely_dead, a_zombie_is_dead_unless_it_still_has_threads) {
  EXPECT_TRUE(surely_dead(other, self, seen('Z', 1, 6000)));
  EXPECT_TRUE(surely_dead(other, self, seen('X', 0, 6000)));
  EXPECT_FALSE(surely_dead(other, self, seen('Z', 2, 6000)));
}

TEST(surely_dead, in_another_namespace_nobody_can_tell) {
  process_id far = other;
  far.pid_ns = 8;
  EXPECT_FALSE(surely_dead(far, self, {false, std::nullopt}));
  far.pid_ns = 0;
  EXPECT_FALSE(surely_dead(far, self, {false, std::nullopt}));
}

TEST(surely_dead, what_cannot_be_read_is_no_proof) {
  EXPECT_FALSE(surely_dead(other, self, {true, std::nullopt}));
  process_id unknown_start = other;
  unknown_start.start = 0;
  EXPECT_FALSE(surely_dead(unknown_start, self, seen('S', 1, 9999)));
}

TEST(surely_dead, bound_to_no_process_it_never_is) {
  EXPECT_FALSE(surely_dead(process_id{}, self, {false, std::nullopt}));
}

TEST(surely_dead, a_child_that_was_killed_is_seen_before_and_after_it_is_buried) {
  const surroundings here = read_surroundings();
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto state = look_at(child).state;
  ASSERT_TRUE(state);
  const process_id whom{child, state->start, here.self.pid_ns};
  EXPECT_FALSE(surely_dead(whom, here.self));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(surely_dead(whom, here.self)) << "as a zombie";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(surely_dead(whom, here.self)) << "when it is gone";
}

TEST(read_surroundings, this_process_is_alive_and_has_a_boot) {
  const surroundings here = read_surroundings();
  EXPECT_EQ(here.self.pid, ::getpid());
  EXPECT_NE(here.self.start, 0);
  EXPECT_NE(here.self.pid_ns, 0);
  EXPECT_EQ(here.boot_id.size(), 36U);
  EXPECT_FALSE(surely_dead(here.self, here.self));
}

TEST(read_boot_id, a_file_that_is_laid_over_the_kernels_is_refused) {
  EXPECT_EQ(read_boot_id("/proc/sys/kernel/random/boot_id").size(), 36U);
  for (const char* path : {"/etc/hostname", "/does/not/exist"}) {
    try {
      read_boot_id(path);
      FAIL() << path;
    } catch (const error& why) {
      EXPECT_EQ(why.which(), errc::unsupported);
    }
  }
}

TEST(parse_stat, a_name_with_parentheses_and_spaces_does_no_harm) {
  const auto read = parse_stat(
      "1234 (a) Z 1 (b)) S 1 1234 1234 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 8521 0 0\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->state, 'S');
  EXPECT_EQ(read->threads, 3);
  EXPECT_EQ(read->start, 8521);
}

TEST(parse_stat, what_makes_no_sense_is_nothing) {
  for (const char* text : {"", "1234", "1234 (a", "1234 (a)", "1234 (a) S", "1 (a) S x x",
                           "1 (a) S 1 1 1 0 -1 4 1 0 0 0 0 0 0 0 20 0 3 0 x 0"}) {
    EXPECT_FALSE(parse_stat(text)) << text;
  }
}

}  // namespace
}  // namespace crosslock::sqlite
