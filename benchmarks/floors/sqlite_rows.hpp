// A lock as it is written with SQLite's C interface by somebody who wants it fast: one prepared
// statement to lock and one to unlock, each a transaction of its own, on a table WITHOUT ROWID,
// which writes one page less.
#pragma once

#include "benchmarks/subject.hpp"

#include <sched.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace crosslock::bench {

/// Which table, and how it is written.
struct rows_table {
  std::string path;
  bool full = false;  ///< synchronous FULL, not NORMAL
  /// True: the row stays and keeps the highest fence. False: INSERT is lock and DELETE is unlock,
  /// which is as fast as it gets, and whatever was in the row is gone.
  bool fenced = false;
};

/// A connection and its two statements. Used by one thread at a time.
class rows_connection {
 public:
  explicit rows_connection(const rows_table& table) {
    constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(table.path.c_str(), &opened, flags, nullptr);
    database_.reset(opened);
    check(code);
    constexpr int patience_ms = 60'000;
    sqlite3_busy_timeout(opened, patience_ms);
    execute("PRAGMA journal_mode=WAL");
    execute("PRAGMA wal_autocheckpoint=4000");  // as the engine has it
    execute(table.full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    execute(
        "CREATE TABLE IF NOT EXISTS t "
        "(name TEXT PRIMARY KEY, owner BLOB, fence INTEGER, ends INTEGER) WITHOUT ROWID");
    take_ = prepare(table.fenced ? "UPDATE t SET owner = ?2, fence = ?3, ends = ?4 "
                                   "WHERE name = ?1 AND owner IS NULL AND fence < ?3"
                                 : "INSERT INTO t VALUES (?1, ?2, ?3, ?4)");
    give_back_ = prepare(table.fenced ? "UPDATE t SET owner = NULL WHERE name = ?1 AND owner = ?2"
                                      : "DELETE FROM t WHERE name = ?1 AND owner = ?2");
    extend_ = prepare("UPDATE t SET ends = ? WHERE name = ?");
    if (table.fenced) add_ = prepare("INSERT OR IGNORE INTO t VALUES (?, NULL, 0, 0)");
  }

  /// A row that stays must be there before it is taken.
  void add(std::string_view name) {
    if (!add_) return;
    bind(*add_, 1, name);
    run(*add_);
  }

  /// False if somebody has it.
  bool take(std::string_view name, std::int64_t fence, std::int64_t ends) {
    bind(*take_, 1, name);
    bind_owner(*take_);
    sqlite3_bind_int64(take_.get(), 3, fence);
    sqlite3_bind_int64(take_.get(), 4, ends);
    return run(*take_) == SQLITE_DONE && sqlite3_changes(database_.get()) == 1;
  }

  void give_back(std::string_view name) {
    bind(*give_back_, 1, name);
    bind_owner(*give_back_);
    run(*give_back_);
  }

  void extend(std::string_view name, std::int64_t ends) {
    sqlite3_bind_int64(extend_.get(), 1, ends);
    bind(*extend_, 2, name);
    run(*extend_);
  }

  void execute(const std::string& sql) {
    check(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
  }

 private:
  struct closing {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using prepared = std::unique_ptr<sqlite3_stmt, closing>;

  void check(int code) const {
    if (code != SQLITE_OK) throw std::runtime_error{sqlite3_errmsg(database_.get())};
  }

  prepared prepare(std::string_view sql) const {
    sqlite3_stmt* made = nullptr;
    check(sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                             SQLITE_PREPARE_PERSISTENT, &made, nullptr));
    return prepared{made};
  }

  static void bind(sqlite3_stmt& statement, int place, std::string_view text) {
    sqlite3_bind_text(&statement, place, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  }

  static void bind_owner(sqlite3_stmt& statement) {
    static constexpr std::array<char, 16> owner{"fifteen letters"};
    sqlite3_bind_blob(&statement, 2, owner.data(), owner.size(), SQLITE_STATIC);
  }

  /// SQLITE_DONE or SQLITE_CONSTRAINT; throws for everything else.
  int run(sqlite3_stmt& statement) const {
    const int code = sqlite3_step(&statement);
    sqlite3_reset(&statement);
    if (code != SQLITE_DONE && code != SQLITE_CONSTRAINT) check(code);
    return code;
  }

  std::unique_ptr<sqlite3, closing> database_;
  prepared take_, give_back_, extend_, add_;
};

/// Connects when it is first used: a lock that is never taken needs no connection.
class rows_party final : public party {
 public:
  rows_party(rows_table table, std::string name)
      : table_{std::move(table)}, name_{std::move(name)} {}

  std::int64_t lock() override {
    constexpr std::int64_t lasting = 1LL << 60;  // as large as a time
    if (!connection_) connect();
    fence_ = std::max(fence_ + 1, clock_ns());
    while (!connection_->take(name_, fence_, lasting)) {
      sched_yield();
      fence_ = clock_ns();
    }
    return 0;
  }
  void unlock() override { connection_->give_back(name_); }

 private:
  void connect() {
    connection_.emplace(table_);
    connection_->add(name_);
  }

  /// Fences are numbers as large as ours, and rise.
  static std::int64_t clock_ns() {
    return std::chrono::system_clock::now().time_since_epoch().count();
  }

  const rows_table table_;
  const std::string name_;
  std::optional<rows_connection> connection_;
  std::int64_t fence_ = 0;
};

/// One thread that extends all rows in one transaction, three times in a lease.
class held_rows final : public held_locks {
 public:
  held_rows(const rows_table& table, const std::string& prefix, std::size_t count,
            std::chrono::milliseconds lease)
      : lease_{lease}, connection_{table} {
    names_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      names_.push_back(prefix + std::to_string(i));
      connection_.take(names_.back(), 0, 0);
    }
    thread_ = std::jthread{[this](const std::stop_token& stop) { renew(stop); }};
  }

  ~held_rows() override {
    thread_.request_stop();
    thread_.join();
    for (const auto& name : names_) connection_.give_back(name);
  }

  std::uint64_t renewals() const override { return renewals_.load(); }

 private:
  void renew(const std::stop_token& stop) {
    std::unique_lock guard{mutex_};
    while (!wake_.wait_for(guard, stop, lease_ / 3, [&] { return stop.stop_requested(); })) {
      const auto end = std::chrono::steady_clock::now() + lease_;
      connection_.execute("BEGIN IMMEDIATE");
      for (const auto& name : names_) connection_.extend(name, end.time_since_epoch().count());
      connection_.execute("COMMIT");
      renewals_ += names_.size();
    }
  }

  const std::chrono::milliseconds lease_;
  std::vector<std::string> names_;
  rows_connection connection_;
  std::atomic<std::uint64_t> renewals_{0};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace crosslock::bench
