// What the last to close a database leaves behind, and how often it waits for the disk.
#include "engines/sqlite/connection.hpp"
#include "unit/sqlite_rig.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <string>

namespace crosslock::sqlite {
namespace {

using open_directory = int(const char*, int*);

/// Counts, as long as it lives, how often SQLite opens a directory. It does so only to sync it.
class directory_syncs {
 public:
  directory_syncs() {
    counted = 0;
    original = reinterpret_cast<open_directory*>(files_->xGetSystemCall(files_, name));
    files_->xSetSystemCall(files_, name, reinterpret_cast<sqlite3_syscall_ptr>(count));
  }
  ~directory_syncs() { files_->xSetSystemCall(files_, name, nullptr); }
  directory_syncs(const directory_syncs&) = delete;
  directory_syncs& operator=(const directory_syncs&) = delete;

  int so_far() const { return counted; }

 private:
  static int count(const char* path, int* descriptor) {
    ++counted;
    return original(path, descriptor);
  }

  static constexpr const char* name = "openDirectory";
  static inline std::atomic<int> counted{0};
  static inline open_directory* original = nullptr;
  sqlite3_vfs* const files_ = ::sqlite3_vfs_find("unix");
};

/// All that a short run does: it comes, and it goes.
void come_and_go(const std::string& path) {
  connection once{{.path = path}, seam::real_clock()};
  member client{"who"};
  once.enter(client);
  once.leave(client);
}

TEST(closing, a_short_run_syncs_the_directory_once) {
  const scratch dir;
  come_and_go(dir.file("locks.db"));
  const directory_syncs syncs;
  come_and_go(dir.file("locks.db"));
  EXPECT_EQ(syncs.so_far(), 1);  // the log is new; its removal needs none
}

// A log that stayed would be taken for that of any file that is put in the database's place.
TEST(closing, an_older_copy_that_is_put_back_is_read_by_itself) {
  const scratch dir;
  const std::string path = dir.file("locks.db");
  come_and_go(path);
  const std::string early = content_of(path);
  {
    rig client{path};
    for (int i = 0; i < 200; ++i) client.ask("a name that takes some room/" + std::to_string(i), 1);
  }
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path + "-shm"));
  std::ofstream{path, std::ios::binary} << early;
  come_and_go(path);
  database after{path, durability::normal, seam::real_clock()};
  EXPECT_EQ(after.ask_number("SELECT count(*) FROM locks"), 0);
  EXPECT_EQ(after.ask_number("SELECT count(*) FROM pragma_integrity_check WHERE "
                             "integrity_check <> 'ok'"),
            0);
}

}  // namespace
}  // namespace crosslock::sqlite
