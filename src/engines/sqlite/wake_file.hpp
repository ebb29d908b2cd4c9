// The small mapped file beside the database, through which processes wake each other. Everything
// in it is a hint: it may be lost, wrong or removed at any moment, and only costs time then.
#pragma once

#include <crosslock/time.hpp>

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crosslock::sqlite {

/// What one client is told: that something happened to a name with that hash. Several clients may
/// share a mailbox; each then looks for nothing now and again.
struct mailbox {
  static constexpr std::uint32_t kept = 7;

  std::atomic<std::uint32_t> rings{0};  ///< a futex: whoever waits for news waits here
  std::atomic<std::uint32_t> posted{0};
  /// The last hashes, in turn, each below the number it was posted under: whoever finds another
  /// number there has missed something, or came before it was written.
  std::array<std::atomic<std::uint64_t>, kept> names{};
};
static_assert(sizeof(mailbox) == 64);

/// Which cells the clients of one mailbox watch: the hash of the name, and below it until when, in
/// seconds of the boot clock. Nobody takes an entry out; the next who watches may, when it is over.
struct watch_box {
  std::array<std::atomic<std::uint64_t>, 7> cells{};
  std::atomic<std::uint64_t> all{0};  ///< until when: there were more than there is room for
};
static_assert(sizeof(watch_box) == 64);

/// Where writers queue (gate.hpp).
struct alignas(64) gate_words {
  std::atomic<std::uint32_t> state{0};
  std::atomic<std::uint32_t> entries{0};
  std::atomic<std::uint32_t> impatient{0};
};

/// What the file consists of. All zero, as it is made, is a good beginning.
struct wake_layout {
  static constexpr std::uint64_t signature = 0x31656b61776b6c78;  // "xlkwake1"
  static constexpr std::size_t mailboxes = 1023;

  std::atomic<std::uint64_t> magic{0};
  std::atomic<std::uint64_t> commits{0};  ///< write transactions of all processes, for inspection
  alignas(64) gate_words gate;
  std::array<mailbox, mailboxes> mail;
  /// Until when anybody watches any cell: those who write one need not look further.
  alignas(64) std::atomic<std::uint64_t> watched_until{0};
  alignas(64) std::array<watch_box, mailboxes> watches;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The mapping. Thread-safe.
class wake_file {
 public:
  /// Made with the mode and the group of the database, as SQLite does with its own. Throws
  /// `denied`, `unreachable`, or `conflict` when it is something else.
  explicit wake_file(const std::string& database_path);
  ~wake_file();
  wake_file(const wake_file&) = delete;
  wake_file& operator=(const wake_file&) = delete;

  static std::string path_for(const std::string& database_path) {
    return database_path + "-crosslock";
  }
  static std::uint32_t hash_of(std::string_view name) noexcept;

  wake_layout& words() const noexcept { return *words_; }
  mailbox& mailbox_of(std::int64_t client) const noexcept {
    return words_->mail[static_cast<std::uint64_t>(client) % wake_layout::mailboxes];
  }
  /// Tells a client that something happened to a name.
  void post(std::int64_t client, std::uint32_t name_hash) const noexcept;
  /// Whoever writes a cell with that name tells the client from now on, for an hour at most.
  void watch(std::int64_t client, std::uint32_t name_hash, time_point until,
             time_point now) const noexcept;
  void tell_watchers(std::uint32_t name_hash, time_point now) const noexcept;
  /// The hash that was posted under that number, if it is still, or already, there.
  static std::optional<std::uint32_t> posted(const mailbox& box, std::uint32_t number) noexcept;
  /// Wakes whoever waits at a mailbox, without news.
  static void ring(mailbox& box) noexcept;
  std::uint64_t commits() const noexcept { return words_->commits.load(); }
  /// False when the file at that path is another one by now, or none.
  bool in_place() const noexcept;

 private:
  static void post_to(mailbox& box, std::uint32_t name_hash) noexcept;

  const std::string path_;
  wake_layout* words_ = nullptr;
  ::dev_t device_{};
  ::ino_t inode_{};
};

/// Waits while `word` has that value, for at most so many nanoseconds; may return early.
void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t ns) noexcept;
void wake_waiters(std::atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace crosslock::sqlite
