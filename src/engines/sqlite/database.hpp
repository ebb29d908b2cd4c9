// One SQLite handle and its prepared statements, as far as this engine needs them.
#pragma once

#include "engine/clock.hpp"

#include <crosslock/error.hpp>
#include <crosslock/owner_id.hpp>
#include <crosslock/time.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace crosslock::sqlite {

/// How much of a crash a commit survives: that of a process always; with `full` also that of the
/// machine.
enum class durability { normal, full };

/// `native` is SQLite's extended result code.
error make_error(errc code, const std::string& text, int native = 0, bool outcome_unknown = false);
/// What a result code of SQLite means to a caller of ours.
errc meaning_of(int result) noexcept;

/// SQLite failed: the transaction it happened in is lost as a whole. Anything else that is thrown
/// inside of one is a refusal, and leaves it as it is.
class fault : public error {
 public:
  using error::error;
};

/// Throws `forked` where no database may be opened.
///
/// SQLite keeps its file locks for each process in a table of its own, which a forked child
/// inherits without the locks: a child that opens a file again believes that it has them, and the
/// parent then takes the log away under it. So where the parent had a database open nobody opens
/// one before exec.
void refuse_after_fork();

/// One that is open.
class handle_count {
 public:
  handle_count();
  ~handle_count();
  handle_count(const handle_count&) = delete;
  handle_count& operator=(const handle_count&) = delete;
};

/// One thread at a time.
class database {
 public:
  /// `path` exists or can be created. Throws `denied`, `unreachable` or `protocol`.
  database(const std::string& path, durability durability, seam::clock& clock);
  ~database();
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  /// Changes the file: only for a database that is known to be ours.
  void use_write_ahead_log();
  /// For statements without parameters and rows.
  void run(const char* sql);
  std::int64_t ask_number(const char* sql);
  /// How long a call may wait for other writers.
  void give_up_at(time_point moment) noexcept { give_up_ = moment; }
  bool in_transaction() const noexcept { return sqlite3_get_autocommit(handle_) == 0; }
  int changes() const noexcept { return sqlite3_changes(handle_); }
  /// In nanoseconds since 1970, with the exactness of SQLite's own: milliseconds.
  std::int64_t wall_clock() const noexcept;

  /// As long as it lives, commits do not copy the log back, which waits for the disk. The next one
  /// after it does.
  class hurry {
   public:
    explicit hurry(database& whose) : whose_{whose} { whose_.hurries_ = true; }
    ~hurry() { whose_.hurries_ = false; }
    hurry(const hurry&) = delete;
    hurry& operator=(const hurry&) = delete;

   private:
    database& whose_;
  };

  sqlite3* handle() const noexcept { return handle_; }
  const std::string& path() const noexcept { return path_; }
  [[noreturn]] void fail(int result, const char* doing) const;

 private:
  static int on_busy(void* self, int tries);
  static int on_commit(void* self, sqlite3* handle, const char* which, int pages);
  void set_up(durability durability);

  const handle_count counted_;
  const std::string path_;
  seam::clock& clock_;
  sqlite3* handle_ = nullptr;
  sqlite3_vfs* system_ = nullptr;  ///< through which SQLite sees the machine
  time_point give_up_{};
  bool hurries_ = false;
};

/// A prepared statement. Use it through `query`.
class statement {
 public:
  statement(database& database, const char* sql);
  ~statement() { sqlite3_finalize(handle_); }
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;

 private:
  friend class query;
  database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

/// One execution of a statement, which is ready for the next when this ends. What is bound must
/// live as long.
class query {
 public:
  explicit query(statement& statement) : statement_{statement} {}
  ~query() { sqlite3_reset(statement_.handle_); }
  query(const query&) = delete;
  query& operator=(const query&) = delete;

  query& bind(int index, std::int64_t number) {
    sqlite3_bind_int64(statement_.handle_, index, number);
    return *this;
  }
  query& bind(int index, std::string_view text) {
    sqlite3_bind_text(statement_.handle_, index, text.data(), static_cast<int>(text.size()),
                      SQLITE_STATIC);
    return *this;
  }
  query& bind(int index, const owner_id& owner) {
    const auto& bytes = owner.bytes();
    sqlite3_bind_blob(statement_.handle_, index, bytes.data(), static_cast<int>(bytes.size()),
                      SQLITE_STATIC);
    return *this;
  }
  query& bind_bytes(int index, std::string_view bytes) {
    sqlite3_bind_blob64(statement_.handle_, index, bytes.data() ? bytes.data() : "", bytes.size(),
                        SQLITE_STATIC);
    return *this;
  }
  query& bind_null(int index) {
    sqlite3_bind_null(statement_.handle_, index);
    return *this;
  }

  /// True: there is a row to read.
  bool step();
  /// Runs to its end; how many rows were changed.
  int run();

  std::int64_t number(int column) const { return sqlite3_column_int64(statement_.handle_, column); }
  bool is_null(int column) const {
    return sqlite3_column_type(statement_.handle_, column) == SQLITE_NULL;
  }
  std::string_view bytes(int column) const;
  owner_id owner(int column) const;

 private:
  statement& statement_;
};

}  // namespace crosslock::sqlite
