// The fencing token.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>

namespace crosslock {

/// A positive 63-bit integer that only grows, per name, among conflicting grants. Store it beside
/// what the lock protects and refuse a write that brings a smaller one: that is what makes a late
/// write of a former holder harmless.
class fence {
 public:
  static constexpr std::int64_t max_value = std::numeric_limits<std::int64_t>::max();

  constexpr fence() noexcept = default;  ///< no fence; smaller than every real one
  constexpr explicit fence(std::int64_t value) noexcept : value_{value} {}

  constexpr std::int64_t value() const noexcept { return value_; }
  constexpr explicit operator std::int64_t() const noexcept { return value_; }
  std::string to_string() const { return std::to_string(value_); }

  friend constexpr bool operator==(fence, fence) noexcept = default;
  friend constexpr auto operator<=>(fence, fence) noexcept = default;

 private:
  std::int64_t value_ = 0;
};

std::ostream& operator<<(std::ostream& out, fence shown);

}  // namespace crosslock
