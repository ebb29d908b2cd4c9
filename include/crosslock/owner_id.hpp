// Who owns a claim: 128 random bits, one for each claim that goes to a server.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace crosslock {

/// A type of its own so that it cannot be mistaken for a name.
class owner_id {
 public:
  using bytes_type = std::array<std::uint8_t, 16>;

  constexpr owner_id() noexcept = default;  ///< nobody: all zero
  constexpr explicit owner_id(bytes_type bytes) noexcept : bytes_{bytes} {}

  /// Reads 32 lower-case hexadecimal digits; empty when the text is anything else.
  static std::optional<owner_id> parse(std::string_view text) noexcept;

  std::string to_string() const;
  constexpr const bytes_type& bytes() const noexcept { return bytes_; }
  constexpr bool nobody() const noexcept { return bytes_ == bytes_type{}; }

  friend constexpr bool operator==(const owner_id&, const owner_id&) noexcept = default;
  friend constexpr auto operator<=>(const owner_id&, const owner_id&) noexcept = default;

 private:
  bytes_type bytes_{};
};

std::ostream& operator<<(std::ostream& out, const owner_id& shown);

}  // namespace crosslock
