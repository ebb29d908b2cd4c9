// SQLite's C interface, wrapped once. Every failure becomes an error that names the file.
#include "engines/sqlite/database.hpp"

#include "engine/fork_guard.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>

namespace crosslock::sqlite {

error make_error(errc code, const std::string& text, int native, bool outcome_unknown) {
  return error{code,
               "sqlite: " + text,
               {.engine = "sqlite", .native_code = native, .outcome_unknown = outcome_unknown}};
}

errc meaning_of(int result) noexcept {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return errc::timed_out;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
      return errc::unreachable;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return errc::denied;
    case SQLITE_NOTADB:
      return errc::conflict;
    default:
      return errc::protocol;
  }
}

namespace {

const char* advice(int result) noexcept {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "; another process keeps a write transaction open";
    case SQLITE_FULL:
      return "; make room on its disk";
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "; its file, and the directory it lies in, must be writable for this user";
    case SQLITE_CORRUPT:
      return "; it is damaged: when nobody uses it any more, move it away with the files beside it "
             "(the next run makes a new one), or name another file";
    case SQLITE_NOTADB:
      return "; it was left as it is: move it away, or name another file";
    default:
      return "";
  }
}

// How many are open in the lower half, in which generation of forks in the upper: one word, because
// a mutex could be inherited locked.
std::atomic<std::uint64_t> handles{0};
constexpr std::uint64_t count_mask = 0xffffffff;

}  // namespace

void refuse_after_fork() {
  const std::uint64_t seen = handles.load();
  if ((seen & count_mask) == 0 || seen >> 32U == seam::fork_generation()) return;
  throw make_error(errc::forked,
                   "this process was forked from one that had a database open, and SQLite cannot "
                   "open one safely here: connect after the fork, or exec first");
}

handle_count::handle_count() {
  refuse_after_fork();
  const std::uint64_t generation = std::uint64_t{seam::fork_generation()} << 32U;
  std::uint64_t seen = handles.load();
  while (!handles.compare_exchange_weak(seen, generation | ((seen & count_mask) + 1))) {
  }
}

handle_count::~handle_count() { handles.fetch_sub(1); }

database::database(const std::string& path, durability durability, seam::clock& clock)
    : path_{path}, clock_{clock}, give_up_{clock.now() + std::chrono::seconds{5}} {
  constexpr int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                      SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(path.c_str(), &handle_, how, nullptr);
  try {
    if (result != SQLITE_OK) fail(result, "open");
    sqlite3_busy_handler(handle_, on_busy, this);
    sqlite3_file_control(handle_, "main", SQLITE_FCNTL_VFS_POINTER, &system_);
    set_up(durability);
  } catch (...) {
    sqlite3_close_v2(handle_);
    throw;
  }
}

database::~database() { sqlite3_close_v2(handle_); }

void database::set_up(durability durability) {
  run("PRAGMA trusted_schema = OFF");
  // An upsert that returns its row keeps a journal of the statement; in a file that would halve
  // the speed of every acquire.
  run("PRAGMA temp_store = MEMORY");
  sqlite3_wal_hook(handle_, on_commit, this);
  run(durability == durability::full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

/// Our own writers queue at the gate; what is met here are foreign ones, and recovery.
int database::on_busy(void* self, int) {
  auto& mine = *static_cast<database*>(self);
  const time_point now = mine.clock_.now();
  if (now >= mine.give_up_) return 0;
  seam::park_word nobody_rings{0};
  const time_point next = now + std::chrono::milliseconds{1};
  mine.clock_.park(nobody_rings, 0, std::min(mine.give_up_, next));
  return 1;
}

/// What SQLite does by itself, for those who have the time.
int database::on_commit(void* self, sqlite3* handle, const char* which, int pages) {
  // The pages of locks are few, so a long log is copied back as fast as a short one, and the wait
  // for the disk that comes with it meets fewer callers.
  constexpr int long_log = 4000;
  const auto& mine = *static_cast<const database*>(self);
  if (pages >= long_log && !mine.hurries_) sqlite3_wal_checkpoint(handle, which);
  return SQLITE_OK;  // if it failed the next commit tries again
}

void database::use_write_ahead_log() {
  // Two who switch at once get in each other's way, and SQLite does not ask the busy handler then.
  statement change{*this, "PRAGMA journal_mode = WAL"};
  for (;;) {
    try {
      query mode{change};
      if (mode.step() && mode.bytes(0) == "wal") return;
      throw make_error(errc::unsupported,
                       "'" + path_ + "': no write-ahead log can be used on this file system");
    } catch (const fault& why) {
      if (why.which() != errc::timed_out || on_busy(this, 0) == 0) throw;
    }
  }
}

void database::fail(int result, const char* doing) const {
  // SQLite keeps the last one: it means something only where the system was asked.
  const int kind = result & 0xff;
  const bool by_system = kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN;
  const int system = handle_ && by_system ? sqlite3_system_errno(handle_) : 0;
  errc code = meaning_of(result);
  const bool out_of_files = system == EMFILE || system == ENFILE;
  if (out_of_files) code = errc::unreachable;
  std::string text = "'" + path_ + "': " + doing + ": " + sqlite3_errstr(result);
  if (system != 0) text += " (" + std::error_code{system, std::generic_category()}.message() + ")";
  if (!out_of_files) text += advice(result);
  // A commit that could not be written to its end may, or may not, be found after a crash.
  const bool unknown = kind == SQLITE_IOERR;
  throw fault{code,
              "sqlite: " + text,
              {.engine = "sqlite", .native_code = result, .outcome_unknown = unknown}};
}

void database::run(const char* sql) {
  const int result = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail(result, sql);
}

std::int64_t database::ask_number(const char* sql) {
  statement asked{*this, sql};
  query answer{asked};
  return answer.step() ? answer.number(0) : 0;
}

std::int64_t database::wall_clock() const noexcept {
  constexpr sqlite3_int64 year_1970 = 210'866'760'000'000;  // its milliseconds are Julian days
  constexpr sqlite3_int64 nanoseconds = 1'000'000;
  constexpr sqlite3_int64 latest = INT64_MAX / nanoseconds / 2;
  sqlite3_int64 now = 0;
  if (system_->iVersion >= 2 && system_->xCurrentTimeInt64 != nullptr) {
    system_->xCurrentTimeInt64(system_, &now);
  } else {
    double days = 0;
    system_->xCurrentTime(system_, &days);
    now = static_cast<sqlite3_int64>(days * 86'400'000.0);
  }
  return std::clamp<sqlite3_int64>(now - year_1970, 0, latest) * nanoseconds;
}

statement::statement(database& database, const char* sql) : database_{database} {
  const int result =
      sqlite3_prepare_v3(database.handle(), sql, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
  if (result != SQLITE_OK) database.fail(result, sqlite3_errmsg(database.handle()));
}

bool query::step() {
  const int result = sqlite3_step(statement_.handle_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) statement_.database_.fail(result, sqlite3_sql(statement_.handle_));
  return false;
}

int query::run() {
  while (step()) {
  }
  return statement_.database_.changes();
}

std::string_view query::bytes(int column) const {
  const void* const data = sqlite3_column_blob(statement_.handle_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.handle_, column));
  return {static_cast<const char*>(data), data == nullptr ? 0 : size};
}

owner_id query::owner(int column) const {
  const std::string_view raw = bytes(column);
  owner_id::bytes_type taken{};
  if (raw.size() == taken.size()) std::copy(raw.begin(), raw.end(), taken.begin());
  return owner_id{taken};
}

}  // namespace crosslock::sqlite
