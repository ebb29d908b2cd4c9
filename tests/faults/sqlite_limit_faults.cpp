// Too few descriptors, too small a disk, and what the dead have left.
#include "faults/small_disk.hpp"
#include "faults/sqlite_case.hpp"

#include <unistd.h>

#include <filesystem>

namespace crosslock::faults {
namespace {

namespace fs = std::filesystem;

TEST_F(sqlite_faults, F21_without_descriptors_there_is_an_error_and_others_go_on) {
  if (sanitized) GTEST_SKIP() << "the sanitizer itself fails without descriptors";
  const client locks = connect();
  mutex lock{locks, "name"};
  const hold held = lock.acquire();
  for (const std::string limit : {"4", "5", "6", "7", "8"}) {
    const auto poor = start("poor", lease, {.through = {"prlimit", "--nofile=" + limit}});
    std::string why;
    try {
      EXPECT_EQ(poor->say("acquire name 0"), "busy") << limit;  // it could do with so few
    } catch (const std::exception& failed) {
      why = failed.what();
    }
    if (limit == "4") {
      EXPECT_NE(why.find("cannot begin: "), std::string::npos) << why;
    }
    poor->may_have_failed();
  }
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(locks.look("name").holders.at(0).owner, held.owner());
}

TEST_F(sqlite_faults, F22_a_full_disk_is_an_error_and_nothing_is_lost) {
  small_disk disk{testbed().folder() / "small"};
  if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount";
  const std::string url = "sqlite://" + (testbed().folder() / "small" / "locks.db").string();
  options how;
  how.timeout = 1s;
  how.retry.tries = 0;
  const client locks = crosslock::connect(url, how);
  mutex kept{locks, "kept"};
  auto held = kept.acquire();
  const fence first = held.fence();
  disk.fill();
  // Every commit takes room in the log. Sooner or later there is none.
  std::optional<errc> failure;
  for (int i = 0; i < 20'000 && !failure; ++i) {
    mutex lock{locks, "name/" + std::to_string(i)};
    try {
      const auto mine = lock.try_acquire();
      EXPECT_TRUE(mine);
    } catch (const error& why) {
      failure = why.which();
      EXPECT_NE(std::string{why.what()}.find("full"), std::string::npos) << why.what();
    }
  }
  ASSERT_TRUE(failure);
  EXPECT_TRUE(*failure == errc::unreachable || *failure == errc::denied) << int(*failure);
  EXPECT_TRUE(held.valid());
  disk.make_room();
  EXPECT_TRUE(eventually([&] {
    try {
      return locks.list().size() == 1;  // what failed has left nothing
    } catch (const error&) {
      return false;
    }
  }));
  EXPECT_EQ(locks.look("kept").holders.at(0).owner, held.owner());
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_GT(kept.acquire().fence(), first);
}

TEST_F(sqlite_faults, F22_a_client_cannot_begin_on_a_full_disk) {
  small_disk disk{testbed().folder() / "small"};
  if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount";
  disk.fill();
  const std::string url = "sqlite://" + (testbed().folder() / "small" / "locks.db").string();
  options how;
  how.retry.tries = 0;
  try {
    (void)crosslock::connect(url, how);
    ADD_FAILURE() << "connected";
  } catch (const error& why) {
    EXPECT_NE(std::string{why.what()}.find("small"), std::string::npos) << why.what();
  }
  disk.make_room();
  mutex lock{crosslock::connect(url, how), "name"};
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST_F(sqlite_faults, F32_what_the_dead_have_left_is_swept) {
  {
    const auto holder = start("holder", lease);
    const auto waiter = start("waiter", lease);
    const client viewer = connect();
    for (const std::string name : {"once/1", "once/2", "once/3"}) {
      EXPECT_TRUE(holder->say("acquire " + name + " 20000").starts_with("held"));
    }
    waiter->send("acquire once/1 60000");
    EXPECT_TRUE(line_reaches(viewer, "once/1", 1));
    waiter->kill();
    holder->kill();
  }
  sleep_for_real(lease + 1s);  // all of it is over, and nobody will ask for these names again
  const client locks = connect();
  for (int i = 0; i < 10'000; ++i) {
    mutex lock{locks, "name"};
    const std::scoped_lock held{lock};
  }
  EXPECT_EQ(testbed().run_sql("SELECT count(*) FROM locks WHERE name LIKE 'once/%' "
                              "AND owner IS NOT NULL"),
            0);
  EXPECT_EQ(testbed().run_sql("SELECT count(*) FROM claims"), 0);
}

}  // namespace
}  // namespace crosslock::faults
