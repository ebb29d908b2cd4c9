// Files and folders that are not as they should be: each gives an error that says why, and nothing
// is overwritten.
#include "engines/sqlite/file_system.hpp"
#include "faults/sqlite_case.hpp"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/magic.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace crosslock::faults {
namespace {

namespace fs = std::filesystem;

constexpr uid_t anne = 61'001;
constexpr uid_t bert = 61'002;
constexpr gid_t team = 61'100;
constexpr gid_t nobodys = 61'999;

std::string content_of(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string url_of(const fs::path& path) { return "sqlite://" + path.string(); }

/// What connecting says.
struct refusal {
  errc code{};
  std::string text;
};
refusal connect_to(const fs::path& path) {
  options how;
  how.retry.tries = 0;
  try {
    const client locks = crosslock::connect(url_of(path), how);
    mutex lock{locks, "name"};
    (void)lock.try_lock();
    return {};
  } catch (const error& why) {
    return {why.which(), why.what()};
  }
}

/// As other users than root.
class sqlite_places : public sqlite_case {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can act as somebody else";
    // For everybody to pass through, with the board and the resource.
    for (const auto& each : fs::directory_iterator{testbed().folder()}) {
      EXPECT_EQ(::chmod(each.path().c_str(), 0666), 0);
    }
    EXPECT_EQ(::chmod(testbed().folder().c_str(), 0777), 0);
  }
  fs::path folder(const std::string& name, mode_t mode, uid_t user, gid_t group) {
    const fs::path made = testbed().folder() / name;
    fs::create_directory(made);
    EXPECT_EQ(::chown(made.c_str(), user, group), 0);
    EXPECT_EQ(::chmod(made.c_str(), mode), 0);
    return made;
  }
  std::unique_ptr<real_actor> start_as(uid_t user, gid_t group, const fs::path& database) {
    return start("user-" + std::to_string(user), long_lease,
                 {.through = {"setpriv", "--reuid=" + std::to_string(user),
                              "--regid=" + std::to_string(group), "--clear-groups"},
                  .database = database});
  }
  void expect_welcome(uid_t user, gid_t group, const fs::path& database) {
    const auto guest = start_as(user, group, database);
    EXPECT_TRUE(guest->say("acquire name 20000").starts_with("held"));
    EXPECT_EQ(guest->say("release name"), "released");
  }
  void expect_denied(uid_t user, gid_t group, const fs::path& database, const fs::path& named) {
    const std::string why = start_as(user, group, database)->why_it_cannot_begin();
    EXPECT_NE(why.find(make_error_code(errc::denied).message()), std::string::npos) << why;
    EXPECT_NE(why.find("'" + named.string()), std::string::npos) << why;
  }
};

TEST_F(sqlite_places, a_folder_that_is_read_only_is_denied_by_name) {
  const fs::path closed = folder("closed", 0555, anne, team);
  expect_denied(anne, team, closed / "locks.db", closed);
  EXPECT_TRUE(fs::is_empty(closed));
}

TEST_F(sqlite_places, a_folder_that_is_missing_is_told_by_name) {
  const fs::path nowhere = testbed().folder() / "nowhere" / "locks.db";
  const refusal told = connect_to(nowhere);
  EXPECT_EQ(told.code, errc::invalid_url) << told.text;
  EXPECT_NE(told.text.find("nowhere"), std::string::npos) << told.text;
}

TEST_F(sqlite_places, a_database_that_is_read_only_for_a_user_is_denied_and_its_owner_goes_on) {
  const fs::path shared = folder("shared", 0777, anne, team);
  const auto owner = start_as(anne, team, shared / "locks.db");
  EXPECT_TRUE(owner->say("acquire kept 20000").starts_with("held"));
  expect_denied(bert, nobodys, shared / "locks.db", shared / "locks.db");
  EXPECT_EQ(owner->say("valid kept"), "yes");
  EXPECT_EQ(owner->say("release kept"), "released");
  expect_welcome(anne, team, shared / "locks.db");
}

TEST_F(sqlite_places, users_of_one_group_share_a_database_that_the_group_may_write) {
  const fs::path shared = folder("team", 02770, anne, team);
  const fs::path database = shared / "locks.db";
  expect_welcome(anne, team, database);
  for (const uid_t user : {bert, anne, bert}) {
    const auto one = start_as(user, team, database);
    EXPECT_TRUE(one->say("acquire name 20000").starts_with("held"));
    // Files that come and go beside it are for the group as well.
    for (const auto& each : fs::directory_iterator{shared}) {
      struct stat about {};
      EXPECT_EQ(::stat(each.path().c_str(), &about), 0);
      EXPECT_EQ(about.st_mode & 0666, 0660U) << each.path();
      EXPECT_EQ(about.st_gid, team) << each.path();
    }
    const auto two = start_as(user == anne ? bert : anne, team, database);
    two->send("acquire name 60000");
    EXPECT_EQ(one->say("work name 200"), "held");
    EXPECT_FALSE(two->has_answered());
    EXPECT_EQ(one->say("release name"), "released");
    const time_point released = now();
    EXPECT_LE(in_at(*two) - released, stall);
    // Neither may send the other a signal; its death is seen all the same.
    two->kill();
    const time_point killed = now();
    EXPECT_TRUE(one->say("acquire name 20000").starts_with("held"));
    EXPECT_LE(now() - killed, seen_dead);
    EXPECT_EQ(one->say("release name"), "released");
  }
  judge();
  expect_denied(bert, nobodys, database, shared);
}

TEST_F(sqlite_faults, a_file_that_is_no_database_is_refused_and_left_alone) {
  const fs::path path = testbed().folder() / "letter.db";
  const std::string text(20'000, 'a');
  std::ofstream{path} << text;
  const refusal told = connect_to(path);
  EXPECT_EQ(told.code, errc::conflict) << told.text;
  EXPECT_NE(told.text.find(path.string()), std::string::npos) << told.text;
  EXPECT_EQ(content_of(path), text);
}

TEST_F(sqlite_faults, a_damaged_database_gives_no_grant) {
  {
    const client locks = connect();
    for (int i = 0; i < 500; ++i) {
      mutex lock{locks, "a name that takes some room/" + std::to_string(i)};
      const std::scoped_lock held{lock};
    }
  }
  testbed().run_sql("PRAGMA wal_checkpoint(TRUNCATE)");
  {
    std::fstream file{testbed().database(), std::ios::in | std::ios::out | std::ios::binary};
    for (std::uintmax_t at = 4096; at < fs::file_size(testbed().database()); at += 64) {
      file.seekp(static_cast<std::streamoff>(at));
      file << "damage!!";
    }
  }
  options how;
  how.retry.tries = 0;
  how.timeout = 1s;
  try {
    mutex lock{testbed().connect(how), "a name that takes some room/7"};
    EXPECT_FALSE(lock.try_acquire());
    ADD_FAILURE() << "no error";
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::protocol) << why.what();
    EXPECT_NE(std::string{why.what()}.find(testbed().database().string()), std::string::npos)
        << why.what();
  }
}

TEST_F(sqlite_faults, the_database_of_another_program_is_refused_and_left_alone) {
  const fs::path path = testbed().folder() / "foreign.db";
  sqlite3* other = nullptr;
  ASSERT_EQ(::sqlite3_open(path.c_str(), &other), SQLITE_OK);
  EXPECT_EQ(::sqlite3_exec(other, "CREATE TABLE accounts (n); INSERT INTO accounts VALUES (7)",
                           nullptr, nullptr, nullptr),
            SQLITE_OK);
  ::sqlite3_close(other);
  const std::string before = content_of(path);
  const refusal told = connect_to(path);
  EXPECT_EQ(told.code, errc::conflict) << told.text;
  EXPECT_NE(told.text.find(path.string()), std::string::npos) << told.text;
  EXPECT_EQ(content_of(path), before);
}

TEST_F(sqlite_faults, a_newer_schema_is_refused_by_its_number) {
  connect().close();
  testbed().run_sql("PRAGMA user_version = 4711");
  const refusal told = connect_to(testbed().database());
  EXPECT_EQ(told.code, errc::unsupported) << told.text;
  EXPECT_NE(told.text.find("4711"), std::string::npos) << told.text;
  EXPECT_EQ(testbed().run_sql("PRAGMA user_version"), 4711);
}

TEST_F(sqlite_faults, a_file_of_something_else_where_the_wake_ups_belong_is_refused) {
  connect().close();
  const fs::path words = testbed().database().string() + "-crosslock";
  fs::remove(words);
  const std::string text(200'000, 'z');
  std::ofstream{words} << text;
  const refusal told = connect_to(testbed().database());
  EXPECT_EQ(told.code, errc::conflict) << told.text;
  EXPECT_NE(told.text.find(words.string()), std::string::npos) << told.text;
  EXPECT_EQ(content_of(words), text);
}

TEST_F(sqlite_faults, file_systems_of_networks_and_of_user_programs_are_unfit) {
  for (const std::uint64_t magic :
       {std::uint64_t{NFS_SUPER_MAGIC}, std::uint64_t{SMB_SUPER_MAGIC}, std::uint64_t{0xff534d42},
        std::uint64_t{0xfe534d42}, std::uint64_t{FUSE_SUPER_MAGIC}, std::uint64_t{V9FS_MAGIC},
        std::uint64_t{CEPH_SUPER_MAGIC}, std::uint64_t{AFS_SUPER_MAGIC}}) {
    EXPECT_FALSE(sqlite::unfit_file_system(magic).empty()) << std::hex << magic;
  }
  for (const std::uint64_t magic :
       {std::uint64_t{EXT4_SUPER_MAGIC}, std::uint64_t{TMPFS_MAGIC}, std::uint64_t{XFS_SUPER_MAGIC},
        std::uint64_t{BTRFS_SUPER_MAGIC}, std::uint64_t{OVERLAYFS_SUPER_MAGIC}}) {
    EXPECT_TRUE(sqlite::unfit_file_system(magic).empty()) << std::hex << magic;
  }
}

}  // namespace
}  // namespace crosslock::faults
