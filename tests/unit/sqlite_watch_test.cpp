// Watched cells: writes by other processes are told through the mapped file.
#include "engines/sqlite/engine.hpp"
#include "unit/sqlite_rig.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;

/// Counts what it is told of each cell.
class counted_events final : public seam::engine_events {
 public:
  void answered(const seam::claim&, const seam::answer&) noexcept override {}
  void granted(const seam::grant&) noexcept override {}
  void look_again(seam::claim_key) noexcept override {}
  void wanted(seam::claim_key) noexcept override {}
  void failed(seam::claim_key, const error&) noexcept override {}
  void cell_changed(const lock_name& name) noexcept override {
    const std::lock_guard guard{mutex_};
    ++told_[name.str()];
    changed_.notify_all();
  }

  bool hears(const std::string& name, int times, duration within = 10s) {
    std::unique_lock guard{mutex_};
    return changed_.wait_for(guard, within, [&] { return told_[name] >= times; });
  }
  int told(const std::string& name) {
    const std::lock_guard guard{mutex_};
    return told_[name];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> told_;
};

class sqlite_watch : public testing::Test {
 protected:
  /// By another connection, as another process has one.
  void write(const std::string& name) {
    const auto cell = std::make_shared<const lock_name>(name);
    others_.connection->write(others_.self, verb::cell, rig::soon(), [&](seam::line_server& line) {
      const auto swapped = line.swap_cell({.name = cell,
                                           .expected = versions_[name],
                                           .value = "v",
                                           .writer = owner_number(++writer_)});
      EXPECT_EQ(swapped.outcome, seam::swap_answer::result::swapped);
      versions_[name] = swapped.now.version;
    });
  }
  void watch(const std::string& name, duration span = 60s) {
    EXPECT_EQ(watcher_.watch_cell(lock_name{name}, span, rig::soon()).version, versions_[name]);
  }

  scratch dir_;
  rig others_{dir_.file("locks.db")};
  counted_events events_;
  engine watcher_{{.path = dir_.file("locks.db")}, {"watcher"}, events_, seam::real_clock()};
  std::map<std::string, std::uint64_t> versions_;
  std::uint8_t writer_ = 0;
};

TEST_F(sqlite_watch, a_write_by_another_process_is_told) {
  EXPECT_TRUE(watcher_.about().watches_cells);
  watch("a");
  write("a");
  EXPECT_TRUE(events_.hears("a", 1));
  watch("a");
  write("a");
  EXPECT_TRUE(events_.hears("a", 2));
}

TEST_F(sqlite_watch, a_write_by_this_process_is_told_too) {
  watch("a");
  watcher_.swap_cell({.name = std::make_shared<const lock_name>("a"),
                      .expected = 0,
                      .value = "v",
                      .writer = owner_number(1)},
                     rig::soon());
  EXPECT_TRUE(events_.hears("a", 1));
}

TEST_F(sqlite_watch, showing_a_higher_fence_is_told) {
  watch("a");
  others_.connection->write(others_.self, verb::cell, rig::soon(), [](seam::line_server& line) {
    line.open_cell(std::make_shared<const lock_name>("a"), fence{3});
  });
  EXPECT_TRUE(events_.hears("a", 1));
}

TEST_F(sqlite_watch, other_cells_are_not_told_and_more_than_there_is_room_for_are) {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back("cell " + std::to_string(i));
  for (const std::string& each : names) watch(each);
  for (const std::string& each : names) write(each);
  write("other");
  for (const std::string& each : names) EXPECT_TRUE(events_.hears(each, 1)) << each;
  EXPECT_EQ(events_.told("other"), 0);
}

TEST_F(sqlite_watch, the_file_beside_the_database_may_be_removed_while_somebody_watches) {
  watch("a");
  std::filesystem::remove(wake_file::path_for(dir_.file("locks.db")));
  EXPECT_TRUE(events_.hears("a", 1)) << "it cannot know whether it missed something";
  watch("a");
  const int before = events_.told("a");
  // The writer finds out within a second that the file is another one; then it tells again.
  bool told = false;
  for (int i = 0; i < 50 && !told; ++i) {
    write("a");
    told = events_.hears("a", before + 1, 100ms);
  }
  EXPECT_TRUE(told);
}

TEST(sqlite_watch_file,
     a_watch_ends_after_its_span_and_those_of_an_earlier_boot_count_for_nothing) {
  const scratch dir;
  const rig made{dir.file("locks.db")};
  const wake_file file{dir.file("locks.db")};
  const time_point now = time_point{} + 24h;
  const auto posted = [&] { return file.mailbox_of(1).posted.load(); };
  file.watch(1, 77, now + 5s, now);
  file.tell_watchers(78, now);
  EXPECT_EQ(posted(), 0U);
  file.tell_watchers(77, now + 5s);
  EXPECT_EQ(posted(), 1U);
  file.tell_watchers(77, now + 7s);
  EXPECT_EQ(posted(), 1U) << "over";
  file.tell_watchers(77, now - 20h);
  EXPECT_EQ(posted(), 1U) << "of an earlier boot";
  file.watch(1, 77, now - 20h + 5s, now - 20h);
  file.tell_watchers(77, now - 20h);
  EXPECT_EQ(posted(), 2U);
}

}  // namespace
}  // namespace crosslock::sqlite
