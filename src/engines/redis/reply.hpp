// What a Redis server answers: parsed by hiredis' reader into flat values that are used again and
// again, so that a call allocates nothing once it is warm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace crosslock::redis {

class reply {
 public:
  enum class kind : std::uint8_t { nil, integer, text, status, error, array };

  struct item {
    kind is = kind::nil;
    long long number = 0;  ///< of an integer; how many items an array has
    std::size_t from = 0;  ///< text, status, error: where its bytes are
    std::size_t length = 0;
  };

  void clear() noexcept;
  void add(kind is, long long number);
  void add(kind is, std::string_view bytes);

  std::size_t size() const noexcept { return items_.size(); }
  const item& at(std::size_t index) const noexcept { return items_[index]; }
  std::string_view bytes(const item& one) const noexcept {
    return std::string_view{text_}.substr(one.from, one.length);
  }
  bool failed() const noexcept { return !items_.empty() && items_[0].is == kind::error; }
  /// What the server said instead of an answer: `NOSCRIPT ...`.
  std::string_view failure() const noexcept { return bytes(items_[0]); }

 private:
  std::vector<item> items_;  ///< an array comes before what is in it
  std::string text_;
};

/// Reads a reply from its beginning to its end. Throws `protocol` when something else is there
/// than what is asked for.
class cursor {
 public:
  explicit cursor(const reply& from) noexcept : reply_{from} {}

  bool done() const noexcept { return next_ == reply_.size(); }
  reply::kind kind() const;
  long long number();
  /// A string that stands for a whole number.
  std::int64_t digits();
  std::string_view text();
  /// The number of items that follow.
  std::size_t array();
  void skip() noexcept { ++next_; }

 private:
  const reply::item& take(reply::kind expected);

  const reply& reply_;
  std::size_t next_ = 0;
};

/// Bytes in, replies out. Not thread-safe.
class parser {
 public:
  parser();
  ~parser();
  parser(const parser&) = delete;
  parser& operator=(const parser&) = delete;

  /// Throws `protocol` when far more is on its way than any reply of ours has.
  void feed(std::span<const char> bytes);
  /// True when a reply is complete: it is in `into` then. Throws `protocol` for what no Redis
  /// server says; nothing can be read from that connection any more.
  bool next(reply& into);
  /// Forgets everything: another connection begins.
  void reset();

 private:
  struct free_reader {
    void operator()(redisReader* reader) const noexcept;
  };

  reply building_;
  std::unique_ptr<redisReader, free_reader> reader_;
};

}  // namespace crosslock::redis
