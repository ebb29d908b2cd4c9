// Too many of everything: descriptors, bytes on the disk, waiters, names.
#include "engines/sqlite/clerk.hpp"
#include "faults/small_disk.hpp"
#include "faults/sqlite_case.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>

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
  small_disk disk{scene().folder() / "small"};
  if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount";
  const std::string url = "sqlite://" + (scene().folder() / "small" / "locks.db").string();
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
  small_disk disk{scene().folder() / "small"};
  if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount";
  disk.fill();
  const std::string url = "sqlite://" + (scene().folder() / "small" / "locks.db").string();
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

TEST_F(sqlite_faults, F32_a_full_line_refuses_and_serves_everybody_in_it_in_order) {
  constexpr auto waiters = static_cast<std::size_t>(sqlite::line_max);
  constexpr std::size_t clients = 64;
  const client holder = connect();
  mutex first{holder, "name"};
  auto held = first.acquire();
  const std::int64_t memory = resident_bytes();
  std::mutex guard;
  std::vector<std::size_t> order;  // which client was served
  options how;
  how.strict_fifo = true;  // everybody stands in the line of the database
  std::vector<std::unique_ptr<mutex>> locks;
  for (std::size_t i = 0; i < clients; ++i) {
    locks.push_back(std::make_unique<mutex>(connect(long_lease, how), "name"));
    for (std::size_t k = 0; k < waiters / clients; ++k) {
      locks[i]->acquire_async([&, i](acquire_result result) {
        const std::lock_guard locked{guard};
        if (result.hold) order.push_back(i);
      });
    }
    EXPECT_TRUE(eventually([&] {
      sleep_for_real(10ms);
      return holder.look("name").line.size() == (i + 1) * waiters / clients;
    }));
  }
  EXPECT_EQ(code_of([&] { (void)locks[0]->try_acquire_for(200ms); }), errc::queue_full);
  EXPECT_TRUE(sanitized || resident_bytes() - memory < (256 << 20));
  const std::uint64_t commits = scene().commits();
  held.release();
  const auto served = [&] {
    const std::lock_guard locked{guard};
    return order.size();
  };
  EXPECT_TRUE(eventually([&] { return served() == waiters; }, 120s));
  // One release serves one waiter: no herd. Places are refreshed now and again besides.
  EXPECT_LT(scene().commits() - commits, 4 * waiters);
  const std::lock_guard locked{guard};
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(sqlite_faults, F32_fifty_thousand_names_leave_nothing_behind) {
  const client locks = connect();
  const std::int64_t memory = resident_bytes();
  for (int i = 0; i < 50'000; ++i) {
    mutex lock{locks, "name/" + std::to_string(i)};
    const hold held = lock.acquire();
    EXPECT_GT(held.fence(), fence{});
  }
  EXPECT_TRUE(locks.list().empty());
  EXPECT_TRUE(sanitized || resident_bytes() - memory < (64 << 20));
  EXPECT_LT(fs::file_size(scene().database()), 32U << 20);
  EXPECT_LT(fs::file_size(scene().database().string() + "-wal"), 32U << 20);
}

TEST_F(sqlite_faults, F32_what_the_dead_have_left_is_swept) {
  {
    const auto holder = start("holder", lease);
    const auto waiter = start("waiter", lease);
    const client eyes = connect();
    for (const std::string name : {"once/1", "once/2", "once/3"}) {
      EXPECT_TRUE(holder->say("acquire " + name + " 20000").starts_with("held"));
    }
    waiter->send("acquire once/1 60000");
    EXPECT_TRUE(line_reaches(eyes, "once/1", 1));
    waiter->kill();
    holder->kill();
  }
  sleep_for_real(lease + 1s);  // all of it is over, and nobody will ask for these names again
  const client locks = connect();
  for (int i = 0; i < 10'000; ++i) {
    mutex lock{locks, "name"};
    const std::scoped_lock held{lock};
  }
  EXPECT_EQ(scene().run_sql("SELECT count(*) FROM locks WHERE name LIKE 'once/%' "
                            "AND owner IS NOT NULL"),
            0);
  EXPECT_EQ(scene().run_sql("SELECT count(*) FROM claims"), 0);
}

}  // namespace
}  // namespace crosslock::faults
