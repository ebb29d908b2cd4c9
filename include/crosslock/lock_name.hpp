// The name of a lock: the same rule on every engine.
#pragma once

#include <compare>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace crosslock {

/// 1 to 512 bytes of valid UTF-8 without control characters that do not begin with `crosslock:{`.
/// Checked once, here: a lock_name that exists is legal on every engine, and two different
/// names never meet on any of them.
class lock_name {
 public:
  static constexpr std::size_t max_bytes = 512;

  /// Throws `invalid_name`, saying what is wrong and at which byte.
  explicit lock_name(std::string_view text);
  /// For the library's own use: a name that no program can give, `crosslock:{kind}:rest`. Names of
  /// different kinds, or with different rests, are different.
  static lock_name reserved(std::string_view kind, std::string_view rest);
  /// For the library's own use: a name that a server has sent, given by a program or reserved.
  /// Throws `invalid_name` for anything else.
  static lock_name stored(std::string_view text);

  const std::string& str() const noexcept { return text_; }
  std::string_view view() const noexcept { return text_; }

  friend bool operator==(const lock_name&, const lock_name&) = default;
  friend auto operator<=>(const lock_name&, const lock_name&) = default;

 private:
  lock_name() = default;

  std::string text_;
};

std::ostream& operator<<(std::ostream& out, const lock_name& shown);

}  // namespace crosslock
