// Where a database may lie, and which files are taken for one.
#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/file_system.hpp"
#include "engines/sqlite/schema.hpp"
#include "unit/sqlite_rig.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

namespace crosslock::sqlite {
namespace {

TEST(unfit_file_system, network_fuse_and_9p_are_named) {
  EXPECT_EQ(unfit_file_system(0x6969), "NFS");
  EXPECT_EQ(unfit_file_system(0x65735546), "FUSE");
  EXPECT_EQ(unfit_file_system(0x01021997), "9p");
  EXPECT_EQ(unfit_file_system(0xff534d42), "CIFS");
}

TEST(unfit_file_system, those_of_this_machine_are_not) {
  EXPECT_EQ(unfit_file_system(0xef53), "");      // ext4
  EXPECT_EQ(unfit_file_system(0x01021994), "");  // tmpfs
  EXPECT_EQ(unfit_file_system(0x58465342), "");  // xfs
  EXPECT_EQ(unfit_file_system(0x794c7630), "");  // overlayfs
}

TEST(make_directories, all_that_are_missing_are_made_for_this_user_alone) {
  const scratch dir;
  make_directories(dir.file("a/b/locks.db"));
  EXPECT_TRUE(std::filesystem::is_directory(dir.file("a/b")));
  EXPECT_EQ(std::filesystem::status(dir.file("a/b")).permissions(),
            std::filesystem::perms::owner_all);
  make_directories(dir.file("a/b/locks.db"));
}

TEST(require_fit_location, a_missing_directory_is_named) {
  const scratch dir;
  try {
    require_fit_location(dir.file("missing/locks.db"));
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::invalid_url);
    EXPECT_NE(std::string{why.what()}.find("missing"), std::string::npos);
  }
}

TEST(require_fit_location, what_is_not_a_file_is_not_opened) {
  const scratch dir;
  std::filesystem::create_directory(dir.file("directory"));
  ASSERT_EQ(::mkfifo(dir.file("pipe").c_str(), 0600), 0);
  for (const char* const name : {"directory", "pipe"}) {
    try {
      require_fit_location(dir.file(name));
      ADD_FAILURE() << name;
    } catch (const error& why) {
      EXPECT_EQ(why.which(), errc::invalid_url) << name;
      EXPECT_NE(std::string{why.what()}.find(dir.file(name)), std::string::npos) << why.what();
    }
  }
}

/// The rights of a file that make_shared_file makes in a directory of that mode.
mode_t mode_made(mode_t directory, mode_t mask) {
  const scratch dir;
  const std::string folder = dir.file("folder");
  EXPECT_EQ(::mkdir(folder.c_str(), 0700), 0);
  EXPECT_EQ(::chmod(folder.c_str(), directory), 0);
  const mode_t before = ::umask(mask);
  make_shared_file(folder + "/locks.db");
  ::umask(before);
  struct stat made {};
  EXPECT_EQ(::stat((folder + "/locks.db").c_str(), &made), 0);
  return made.st_mode & 0777;
}

TEST(make_shared_file, a_group_that_shares_the_directory_may_write_whatever_the_umask) {
  for (const mode_t mask : {0022U, 0077U, 0000U}) {
    EXPECT_EQ(mode_made(02770, mask), 0660U) << std::oct << mask;
  }
  EXPECT_EQ(mode_made(02775, 0022), 0664U);
  EXPECT_EQ(mode_made(02775, 0077), 0660U);
}

TEST(make_shared_file, elsewhere_the_umask_decides) {
  EXPECT_EQ(mode_made(0770, 0022), 0644U);   // new files are not of its group
  EXPECT_EQ(mode_made(02750, 0022), 0644U);  // the group may not write there
  EXPECT_EQ(mode_made(0700, 0077), 0600U);
}

TEST(make_shared_file, what_is_there_is_left_as_it_is) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  std::ofstream{path} << "precious";
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  make_shared_file(path);
  EXPECT_EQ(content_of(path), "precious");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0640});
}

TEST(prepare, a_database_of_another_program_is_left_as_it_is) {
  const scratch dir;
  const std::string path = dir.file("theirs.db");
  {
    database theirs{path, durability::normal, seam::real_clock()};
    theirs.run("CREATE TABLE precious (n INTEGER); INSERT INTO precious VALUES (42)");
  }
  const auto before = content_of(path);
  EXPECT_EQ(code_of_connecting(path), errc::conflict);
  EXPECT_EQ(content_of(path), before);
  EXPECT_FALSE(std::filesystem::exists(wake_file::path_for(path)));
}

TEST(prepare, a_newer_schema_is_refused_by_its_number) {
  const scratch dir;
  const std::string path = dir.file("newer.db");
  { const connection first{{.path = path}, seam::real_clock()}; }
  {
    database changed{path, durability::normal, seam::real_clock()};
    changed.run("PRAGMA user_version = 7");
  }
  try {
    const connection second{{.path = path}, seam::real_clock()};
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::unsupported);
    EXPECT_NE(std::string{why.what()}.find("schema version 7"), std::string::npos) << why.what();
  }
}

TEST(prepare, those_who_come_first_together_do_not_take_each_other_for_strangers) {
  for (int round = 0; round < 40; ++round) {
    const scratch dir;
    std::atomic<int> refused{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        if (code_of_connecting(dir.file("locks.db")) != errc{}) ++refused;
      });
    }
    threads.clear();
    ASSERT_EQ(refused, 0) << "round " << round;
  }
}

TEST(prepare, what_is_no_database_is_said_to_be_none) {
  const scratch dir;
  const std::string path = dir.file("letter.txt");
  std::ofstream{path} << std::string(5000, 'x');
  const auto before = content_of(path);
  EXPECT_EQ(code_of_connecting(path), errc::conflict);
  EXPECT_EQ(content_of(path), before);
}

TEST(prepare, a_foreign_file_beside_it_is_not_written_into) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  std::ofstream{wake_file::path_for(path)} << std::string(7000, 'x');
  EXPECT_EQ(code_of_connecting(path), errc::conflict);
  EXPECT_EQ(content_of(wake_file::path_for(path)), std::string(7000, 'x'));
}

TEST(arrive, another_boot_frees_what_was_held_and_keeps_the_fences) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  rig before{path};
  const auto held = before.ask("name", 1);
  ASSERT_EQ(held.result, seam::ask_result::granted);
  {
    database changed{path, durability::normal, seam::real_clock()};
    changed.run("UPDATE about SET boot_id = 'an earlier one'");
  }
  rig after{path};
  const auto again = after.ask("name", 2);
  ASSERT_EQ(again.result, seam::ask_result::granted);
  EXPECT_GT(again.granted.first, held.granted.last);
}

TEST(arrive, another_time_namespace_is_refused_as_long_as_anybody_is_there) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  {
    rig there{path};
    database changed{path, durability::normal, seam::real_clock()};
    changed.run("UPDATE about SET time_ns = 1");
    EXPECT_EQ(code_of_connecting(path), errc::unsupported);
    there.connection->leave(there.self);
  }
  EXPECT_EQ(code_of_connecting(path), errc{});
}

TEST(arrive, a_stranger_from_another_time_changes_nothing) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  rig client{path};
  ASSERT_EQ(client.ask("name", 1).result, seam::ask_result::granted);
  database base{path, durability::normal, seam::real_clock()};
  surroundings elsewhere = read_surroundings();
  ++elsewhere.time_ns;
  try {
    arrive(base, elsewhere, seam::real_clock().now() + std::chrono::hours{1});
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::unsupported);
  }
  EXPECT_EQ(client.look("name").holders.size(), 1U);
}

TEST(arrive, a_client_that_lives_is_not_taken_for_dead_from_another_time) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  const rig client{path};
  database base{path, durability::normal, seam::real_clock()};
  // As /proc shows start times in a namespace whose clock is ahead.
  base.run("UPDATE clients SET start = start + 8640000");
  surroundings elsewhere = read_surroundings();
  ++elsewhere.time_ns;
  ++elsewhere.self.start;  // not the very process that is on the list
  EXPECT_THROW(arrive(base, elsewhere, seam::real_clock().now()), error);
  EXPECT_EQ(base.ask_number("SELECT count(*) FROM clients"), 1);
}

TEST(prepare, a_file_of_the_first_schema_is_brought_up_to_date_with_what_it_holds) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  {
    rig client{path};
    ASSERT_EQ(client.ask("stock", 1).result, seam::ask_result::granted);
  }
  {
    database older{path, durability::normal, seam::real_clock()};
    older.run("DROP VIEW held; ALTER TABLE locks RENAME TO newer");
    older.run(
        "CREATE TABLE locks (name TEXT PRIMARY KEY, top INTEGER NOT NULL, crowd INTEGER NOT NULL, "
        "owner BLOB, client INTEGER, first INTEGER, last INTEGER, lease INTEGER, ends INTEGER, "
        "since INTEGER, offer INTEGER -- what it meant\n) WITHOUT ROWID");
    older.run(
        "INSERT INTO locks SELECT name, top, crowd, owner, client, first, last, lease, ends, "
        "since, offer FROM newer; DROP TABLE newer");
    older.run("CREATE VIEW held AS SELECT name FROM locks");
    older.run("PRAGMA user_version = 1");
  }
  rig client{path};
  EXPECT_EQ(client.look("stock").holders.size(), 1U);
  EXPECT_EQ(client.ask("stock", 2).result, seam::ask_result::busy);
  database now{path, durability::normal, seam::real_clock()};
  EXPECT_EQ(now.ask_number("SELECT user_version FROM pragma_user_version"), schema_version);
  EXPECT_EQ(now.ask_number("SELECT count(*) FROM held WHERE mode = 'exclusive'"), 1);
}

TEST(held, the_view_shows_holders_for_the_shell) {
  const scratch dir;
  rig client{dir.file("locks.db")};
  ASSERT_EQ(client.ask("stock", 1).result, seam::ask_result::granted);
  ASSERT_EQ(client.ask("stock", 2, true).result, seam::ask_result::in_line);
  database shell{dir.file("locks.db"), durability::normal, seam::real_clock()};
  statement asked{shell, "SELECT name, mode, holder, lease_left, fence, line FROM held"};
  query row{asked};
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.bytes(0), "stock");
  EXPECT_EQ(row.bytes(1), "exclusive");
  EXPECT_EQ(row.bytes(2), "somebody");
  EXPECT_NEAR(static_cast<double>(row.number(3)), 30.0, 3.0);
  EXPECT_GT(row.number(4), 0);
  EXPECT_EQ(row.number(5), 1);
  EXPECT_FALSE(row.step());
}

}  // namespace
}  // namespace crosslock::sqlite
