// Mapping, and shared futexes: those are found by file and offset, so they work over containers
// too.
#include "engines/sqlite/wake_file.hpp"

#include "engines/sqlite/database.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>

namespace crosslock::sqlite {
namespace {

/// Closes a descriptor at the end of a scope.
class open_file {
 public:
  explicit open_file(int number) : number_{number} {}
  ~open_file() {
    if (number_ >= 0) ::close(number_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  int number() const noexcept { return number_; }

 private:
  const int number_;
};

[[noreturn]] void fail(const std::string& path, const char* doing) {
  const int code = errno;
  const bool rights = code == EACCES || code == EPERM || code == EROFS || code == ELOOP;
  throw make_error(rights ? errc::denied : errc::unreachable,
                   "'" + path + "': " + doing + ": " +
                       std::error_code{code, std::generic_category()}.message() +
                       "; it lies beside the database and must be writable for all its users",
                   code);
}

/// Whoever may use the database must be able to use this file: same mode, same group.
void share_as(const struct stat& database, int file) {
  static_cast<void>(::fchmod(file, database.st_mode & 0666));
  struct stat own {};
  if (::fstat(file, &own) == 0 && own.st_gid != database.st_gid) {
    static_cast<void>(!::fchown(file, static_cast<uid_t>(-1), database.st_gid));
  }
  // A database that root has made for somebody else: SQLite hands its files over as well.
  if (::geteuid() == 0 && own.st_uid != database.st_uid) {
    static_cast<void>(!::fchown(file, database.st_uid, database.st_gid));
  }
}

/// Before anything is written: all zero, or nothing at all, is one that is being made.
void refuse_foreign(const std::string& path, int file) {
  std::uint64_t found = 0;
  if (::pread(file, &found, sizeof found, 0) < 0) fail(path, "read");
  if (found == 0 || found == wake_layout::signature) return;
  throw make_error(errc::conflict, "'" + path +
                                       "' is something else than the file crosslock keeps beside "
                                       "its database: move it away");
}

int open_or_make(const std::string& path, const std::string& database_path) {
  constexpr int how = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  for (;;) {
    if (const int file = ::open(path.c_str(), how); file >= 0) return file;
    if (errno != ENOENT) fail(path, "open");
    struct stat database {};
    if (::stat(database_path.c_str(), &database) != 0) fail(database_path, "stat");
    const int made = ::open(path.c_str(), how | O_CREAT | O_EXCL, database.st_mode & 0666);
    if (made >= 0) {
      share_as(database, made);
      return made;
    }
    if (errno != EEXIST) fail(path, "create");
  }
}

/// What lasts longer was written before the machine was restarted.
constexpr std::uint32_t longest_watch = 3600;

std::uint32_t seconds(time_point moment) noexcept {
  constexpr std::int64_t most = INT32_MAX;
  const auto since_boot = std::chrono::floor<std::chrono::seconds>(moment.time_since_epoch());
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(since_boot.count(), 0, most));
}

bool lasts(std::uint64_t entry, std::uint32_t now) noexcept {
  const auto until = static_cast<std::uint32_t>(entry);
  return until >= now && until <= now + longest_watch;
}

void raise(std::atomic<std::uint64_t>& word, std::uint32_t until, std::uint32_t now) noexcept {
  std::uint64_t found = word.load();
  while (!lasts(found, now) || found < until) {
    if (word.compare_exchange_weak(found, until)) return;
  }
}

}  // namespace

wake_file::wake_file(const std::string& database_path) : path_{path_for(database_path)} {
  const open_file file{open_or_make(path_, database_path)};
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) fail(path_, "stat");
  struct stat database {};
  const bool opened_up = ::stat(database_path.c_str(), &database) == 0 &&
                         about.st_uid == ::geteuid() &&
                         (about.st_mode & 0666) != (database.st_mode & 0666);
  if (opened_up) share_as(database, file.number());  // somebody has changed the database's rights
  if (!S_ISREG(about.st_mode)) {
    throw make_error(errc::conflict, "'" + path_ + "' is not a file of crosslock's");
  }
  refuse_foreign(path_, file.number());
  constexpr auto size = static_cast<off_t>(sizeof(wake_layout));
  // Room is reserved now: a mapped page that finds the disk full later would end the process.
  if (const int code = ::posix_fallocate(file.number(), 0, size); code != 0) {
    errno = code;
    fail(path_, "make room");
  }
  void* const mapped =
      ::mmap(nullptr, sizeof(wake_layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (mapped == MAP_FAILED) fail(path_, "map");
  words_ = static_cast<wake_layout*>(mapped);
  device_ = about.st_dev;
  inode_ = about.st_ino;
  words_->magic.store(wake_layout::signature);
}

wake_file::~wake_file() { ::munmap(words_, sizeof(wake_layout)); }

std::uint32_t wake_file::hash_of(std::string_view name) noexcept {
  // FNV-1a: every process must find the same number.
  std::uint32_t hash = 2166136261U;
  for (const char each : name) {
    hash = (hash ^ static_cast<std::uint8_t>(each)) * 16777619U;
  }
  return hash;
}

void wake_file::post(std::int64_t client, std::uint32_t name_hash) const noexcept {
  post_to(mailbox_of(client), name_hash);
}

void wake_file::post_to(mailbox& box, std::uint32_t name_hash) noexcept {
  const std::uint32_t number = box.posted.fetch_add(1);
  box.names[number % mailbox::kept].store(std::uint64_t{number} << 32U | name_hash);
  ring(box);
}

std::optional<std::uint32_t> wake_file::posted(const mailbox& box, std::uint32_t number) noexcept {
  const std::uint64_t found = box.names[number % mailbox::kept].load();
  if (found >> 32U != number) return std::nullopt;
  return static_cast<std::uint32_t>(found);
}

void wake_file::watch(std::int64_t client, std::uint32_t name_hash, time_point until,
                      time_point now) const noexcept {
  const std::uint32_t now_s = seconds(now);
  const std::uint32_t until_s = std::min(seconds(until) + 1, now_s + longest_watch);
  const std::uint64_t mine = std::uint64_t{name_hash} << 32U | until_s;
  watch_box& box = words_->watches[static_cast<std::uint64_t>(client) % wake_layout::mailboxes];
  for (;;) {
    std::atomic<std::uint64_t>* slot = nullptr;
    std::uint64_t there = 0;
    for (auto& each : box.cells) {
      const std::uint64_t found = each.load();
      const bool same = found >> 32U == name_hash;
      if (!same && (slot != nullptr || lasts(found, now_s))) continue;
      slot = &each;
      there = found;
      if (same) break;
    }
    if (slot == nullptr) {
      raise(box.all, until_s, now_s);
      break;
    }
    const bool enough = there >> 32U == name_hash && lasts(there, now_s) && there >= mine;
    if (enough || slot->compare_exchange_strong(there, mine)) break;
  }
  raise(words_->watched_until, until_s, now_s);
}

void wake_file::tell_watchers(std::uint32_t name_hash, time_point now) const noexcept {
  const std::uint32_t now_s = seconds(now);
  if (!lasts(words_->watched_until.load(), now_s)) return;
  for (std::size_t i = 0; i < wake_layout::mailboxes; ++i) {
    const watch_box& box = words_->watches[i];
    const bool watches = lasts(box.all.load(), now_s) ||
                         std::any_of(box.cells.begin(), box.cells.end(), [&](const auto& each) {
                           const std::uint64_t found = each.load();
                           return found >> 32U == name_hash && lasts(found, now_s);
                         });
    if (watches) post_to(words_->mail[i], name_hash);
  }
}

void wake_file::ring(mailbox& box) noexcept {
  box.rings.fetch_add(1);
  wake_waiters(box.rings, INT_MAX);
}

bool wake_file::in_place() const noexcept {
  struct stat about {};
  return ::stat(path_.c_str(), &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
}

void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t ns) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  if (ns <= 0) return;
  const timespec timeout{static_cast<time_t>(ns / second), static_cast<long>(ns % second)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

void wake_waiters(std::atomic<std::uint32_t>& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace crosslock::sqlite
