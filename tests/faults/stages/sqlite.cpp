// A database in a folder of a case's own. There is no server and no wire; a layer over the seam
// cuts processes off and loses answers.
#include "conformance/fixtures/sqlite_testbed.hpp"
#include "engines/sqlite/wake_file.hpp"
#include "faults/old_files.hpp"
#include "faults/suites.hpp"
#include "line_rules/line_server.hpp"

#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

namespace crosslock::faults {
namespace {

class sqlite_stage final : public stage_in<conformance::sqlite_testbed> {
 public:
  sqlite_stage() : stage_in{"?timeout="} {}

  const faults::bounds& bounds() const override {
    // Whoever would have watched the holder is dead with it: the last looks for itself.
    static const faults::bounds promised{
        .mortal = long_lease,
        .after_lease = after_lease,
        .after_death = 300ms,
        .after_line_death = look_cap,
        .frozen_head = 1s + after_lease,
        .frozen_line = 2s + after_lease,
        .settled = lease / 2,
        .moments = {0ms, 17ms, 34ms, 51ms, 68ms, 85ms, 102ms, 119ms},
        .calm = {.frozen_head = look_cap}};
    return promised;
  }
  void expect_sound() override {
    EXPECT_EQ(testbed().run_sql("SELECT count(*) FROM pragma_integrity_check "
                                "WHERE integrity_check <> 'ok'"),
              0);
  }

  void lose_next_answer(observer::verb to) override { testbed().board().set_loss(to); }
  std::vector<harm> removals() override {
    std::vector<harm> all;
    for (const std::string sql : {"UPDATE locks SET owner = NULL WHERE name = 'name'",
                                  "DELETE FROM locks WHERE name = 'name'"}) {
      all.push_back({.name = sql,
                     .begin = [this, sql](real_actor&) { testbed().run_sql(sql); },
                     .noticed = noticed,
                     .next_in = look_cap});
    }
    return all;
  }
  int remove_places() override {
    const std::int64_t before = testbed().run_sql("SELECT count(*) FROM claims");
    testbed().run_sql("DELETE FROM claims");
    return static_cast<int>(before);
  }
  std::vector<harm> wipes() override {
    const auto remove_rows = [this](real_actor&) {
      testbed().run_sql("DELETE FROM claims; DELETE FROM locks; DELETE FROM clients;");
    };
    const auto remove_files = [this](real_actor&) {
      for (const std::string& each : names()) std::filesystem::remove(testbed().folder() / each);
    };
    return {{.name = "rows", .begin = remove_rows, .noticed = noticed, .next_in = look_cap},
            {.name = "files",
             .begin = remove_files,
             .noticed = lease + stall,
             .next_in = lease + after_lease}};
  }
  std::vector<harm> news_harms() override {
    const auto overwrite = [this](real_actor&) {
      // In place: whoever has it mapped sees this.
      std::mt19937 random{7};
      std::fstream file{words(), std::ios::in | std::ios::out | std::ios::binary};
      for (auto left = std::filesystem::file_size(words()); left > 0; --left) {
        file.put(static_cast<char>(random()));
      }
    };
    const auto remove = [this](real_actor&) { std::filesystem::remove(words()); };
    return {{.name = "dropped",
             .begin = [this](real_actor&) { testbed().board().drop_wake_ups = 1; },
             .end = [this](real_actor&) { testbed().board().drop_wake_ups = 0; },
             .next_in = look_cap},
            {.name = "file removed", .begin = remove, .next_in = look_cap},
            {.name = "file overwritten",
             .begin = overwrite,
             .after = remove,  // nobody new could use it
             .next_in = look_cap}};
  }

  void remember() override {
    old_.emplace(testbed().folder(), names(), testbed().folder() / "snapshot");
    // Hints, and what the others map: a crash takes them.
    std::filesystem::remove(testbed().folder() / "snapshot" / "locks.db-shm");
    std::filesystem::remove(testbed().folder() / "snapshot" / "locks.db-crosslock");
  }
  void roll_back() override { old_->bring_back(); }
  bool clients_outlive_rollback() override { return false; }

  crowd_plan crowd() override {
    return {.waiters = static_cast<std::size_t>(seam::line_max), .with_lease = long_lease};
  }
  void expect_refusal(const client&, mutex& lock) override {
    EXPECT_EQ(code_of([&] { (void)lock.try_acquire_for(200ms); }), errc::queue_full);
  }
  std::uint64_t effort() override { return testbed().requests(); }
  std::uint64_t effort_for(std::size_t waiters, duration) override {
    return 4 * waiters - 1;  // places are refreshed now and again besides
  }
  void expect_little_is_stored() override {
    EXPECT_LT(std::filesystem::file_size(testbed().database()), 32U << 20);
    EXPECT_LT(std::filesystem::file_size(testbed().database().string() + "-wal"), 32U << 20);
  }

 private:
  static constexpr duration after_lease = 250ms + stall;
  static constexpr duration noticed = lease / 3 + stall;  // at the next renewal

  static std::vector<std::string> names() {
    return {"locks.db", "locks.db-wal", "locks.db-shm", "locks.db-crosslock"};
  }
  std::string words() { return sqlite::wake_file::path_for(testbed().database()); }

  std::optional<old_files> old_;
};

const bool sqlite_stages_added =
    offer_stage({.engine = "sqlite",
                 .variant = "one_file",
                 .can = {ability::everyday, ability::rollback, ability::crowds},
                 .make = [] { return std::make_unique<sqlite_stage>(); }});

PLAY_FAULTS_ON(sqlite);

}  // namespace
}  // namespace crosslock::faults
