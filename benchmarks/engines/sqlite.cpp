// The sqlite engine: its databases lie beside this program, on the disk the build is on, because a
// file system in memory would make every sync free.
#include "benchmarks/engines/engine.hpp"
#include "benchmarks/floors/in_process.hpp"
#include "benchmarks/floors/sqlite_rows.hpp"

#include <crosslock/crosslock.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace crosslock::bench {
namespace {

constexpr std::string_view full = "full";

/// A fresh directory, removed with everything in it.
class workshop {
 public:
  workshop() {
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    std::string pattern = (program.parent_path() / "sqlite-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::system_error{errno, std::generic_category(), pattern};
    path_ = pattern;
  }
  ~workshop() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  workshop(const workshop&) = delete;
  workshop& operator=(const workshop&) = delete;

  std::string file(std::string_view name) const { return (path_ / name).string(); }

  bool in_memory() const {
    struct statfs system {};
    return statfs(path_.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC;
  }

 private:
  std::filesystem::path path_;
};

/// How many transactions were committed to a database: SQLite counts them in bytes 8 to 11 of the
/// WAL index (sqlite.org/walformat.html), for all processes. A client stays, because the last one
/// to go removes that file. The descriptor is closed after it: that drops all locks which SQLite
/// has on the file in this process.
class transaction_counter {
 public:
  transaction_counter(const std::string& url, const std::string& database)
      : client_{connect(url)}, index_{open((database + "-shm").c_str(), O_RDONLY | O_CLOEXEC)} {
    if (index_ < 0) throw std::system_error{errno, std::generic_category(), database + "-shm"};
  }
  ~transaction_counter() {
    client_.reset();
    close(index_);
  }
  transaction_counter(const transaction_counter&) = delete;
  transaction_counter& operator=(const transaction_counter&) = delete;

  std::uint64_t count() const {
    std::uint32_t count = 0;
    constexpr off_t place = 8;
    if (pread(index_, &count, sizeof count, place) != sizeof count) {
      throw std::system_error{errno, std::generic_category(), "the WAL index"};
    }
    return count;
  }

 private:
  std::optional<client> client_;
  const int index_;
};

/// Rows in a database of their own.
class rows_subject final : public subject {
 public:
  rows_subject(std::string_view name, rows_table table)
      : name_{name}, table_{std::move(table)}, stays_{table_} {}

  std::string_view name() const override { return name_; }
  std::string address() const override { return (table_.full ? "full:" : "normal:") + table_.path; }

  parties assemble(const setting& setting) override {
    parties made;
    const auto inside = std::make_shared<fifo_futex_lock>();
    for (std::size_t i = 0; i < setting.count; ++i) {
      if (setting.who == setting::kind::threads) {
        made.push_back(std::make_unique<futex_party>(inside));
        continue;
      }
      const bool own_name = setting.apart();
      made.push_back(std::make_unique<rows_party>(
          table_, own_name ? setting.name + "/" + std::to_string(i) : setting.name));
    }
    return made;
  }

  std::unique_ptr<reentrant> enter(const std::string&) override {
    return std::make_unique<standard_reentrant>();
  }

  std::unique_ptr<held_locks> hold_many(const std::string& prefix, std::size_t count,
                                        std::chrono::milliseconds lease) override {
    return std::make_unique<held_rows>(table_, prefix, count, lease);
  }

 private:
  const std::string name_;
  const rows_table table_;
  /// Whoever closes the last connection writes everything back and removes the log: here nobody.
  const rows_connection stays_;
};

class sqlite_engine final : public engine {
 public:
  std::vector<std::string_view> variants() const override { return {full}; }

  std::string url(std::string_view variant) const override {
    return "sqlite://" + database(variant) + (variant == full ? "?sync=full" : "?sync=normal");
  }

  std::unique_ptr<subject> floor(std::string_view variant) override {
    return rows("floor", variant);
  }

  std::vector<std::unique_ptr<subject>> rivals(std::string_view workload,
                                               std::string_view variant) override {
    std::vector<std::unique_ptr<subject>> made;
    if (workload.starts_with("own_name_1")) made.push_back(rows("fenced", variant));
    if (workload == "handover_processes_4" || workload == "waiters_8") {
      made.push_back(rows("rows", variant));
    }
    return made;
  }

  setting staged(const setting& asked, std::string_view subject) const override {
    using enum setting::kind;
    const bool contended = asked.who == processes || asked.who == clients;
    if (contended && subject == "floor") return {own_names, 1, asked.name};
    return asked;
  }

  std::uint64_t requests() const override { return normal_count_.count() + full_count_.count(); }

  std::string_view note(std::string_view workload) const override {
    if (workload.ends_with("_full") && workshop_.in_memory()) {
      return "a request is a transaction; this file system is in memory: its syncs cost nothing";
    }
    if (workload.starts_with("own_name_1")) {
      return "a request is a transaction; fenced: rows that stay and keep their fence";
    }
    if (workload.starts_with("handover_processes") || workload.starts_with("waiters")) {
      return "floor: one client that has the lock to itself; rows: the floor's rows, contended";
    }
    return {};
  }

 private:
  std::string database(std::string_view variant) const {
    return workshop_.file(variant == full ? "full.db" : "normal.db");
  }

  std::unique_ptr<subject> rows(const std::string& name, std::string_view variant) const {
    const std::string file = name + (variant == full ? "-full.db" : "-normal.db");
    return std::make_unique<rows_subject>(
        name, rows_table{workshop_.file(file), variant == full, name == "fenced"});
  }

  const workshop workshop_;
  const transaction_counter normal_count_{url({}), database({})};
  const transaction_counter full_count_{url(full), database(full)};
};

std::unique_ptr<subject> join_rows(std::string_view name, const std::string& address) {
  const auto colon = address.find(':');
  return std::make_unique<rows_subject>(
      name, rows_table{address.substr(colon + 1), address.starts_with(full), name == "fenced"});
}

const offer sqlite_offer{
    "sqlite", []() -> std::unique_ptr<engine> { return std::make_unique<sqlite_engine>(); },
    join_rows};

}  // namespace
}  // namespace crosslock::bench
