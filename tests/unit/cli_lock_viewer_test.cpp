// Looking through the library, at locks of this process.
#include "cli/looking/lock_viewer.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace crosslock::cli {
namespace {

target_flags at(const std::string& url) {
  target_flags where;
  where.url = url;
  return where;
}

std::string names(const std::vector<lock_info>& locks) {
  std::string all;
  for (const lock_info& each : locks) all += each.name + ' ';
  return all;
}

TEST(cli_lock_viewer, leave_out_what_an_election_locks_unless_they_are_asked_for_it) {
  const std::string url = "memory:cli-lock_viewer";
  const client locks = connect(url + "?prefix=app/");
  const client others = connect(url);
  election office{locks, "boss"};
  const auto leading = office.try_campaign("me");
  ASSERT_TRUE(leading);
  mutex mine{locks, "job"};
  mutex theirs{others, "job"};
  const auto held = mine.acquire();
  const auto held_too = theirs.acquire();

  lock_viewer plain{at(url + "?prefix=app/")};
  EXPECT_EQ(names(plain.list("")), "job ");
  lock_viewer all{at(url + "?prefix=app/"), true};
  EXPECT_EQ(names(all.list("")), "crosslock:{election}:boss job ");
  EXPECT_EQ(names(all.list("b")), "crosslock:{election}:boss ");
  lock_viewer without_prefix{at(url), true};
  EXPECT_EQ(names(without_prefix.list("")), "app/job crosslock:{election}:app/boss job ");
}

TEST(cli_lock_viewer, see_whom_they_break) {
  const std::string url = "memory:cli-lock_viewer-break";
  const client locks = connect(url);
  mutex mine{locks, "job"};
  const auto held = mine.acquire();
  lock_viewer looking{at(url)};
  const lock_name name{"job"};
  EXPECT_EQ(looking.look(name).holders.at(0).owner, held.owner());
  EXPECT_FALSE(looking.break_lock(name, owner_id{owner_id::bytes_type{1}}));
  EXPECT_TRUE(looking.break_lock(name, held.owner()));
  EXPECT_TRUE(looking.look(name).holders.empty());
}

TEST(cli_lock_viewer, do_not_make_what_they_look_for) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("crosslock-lock_viewer-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  lock_viewer looking{at("sqlite://" + (folder / "a.db").string())};
  EXPECT_EQ(names(looking.list("")), "");
  EXPECT_TRUE(looking.look(lock_name{"x"}).holders.empty());
  EXPECT_FALSE(looking.break_lock(lock_name{"x"}, owner_id{owner_id::bytes_type{1}}));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace crosslock::cli
