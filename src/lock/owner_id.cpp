// Owner ids as text: 32 lower-case hexadecimal digits, one spelling for each id.
#include <crosslock/owner_id.hpp>

namespace crosslock {
namespace {

constexpr std::string_view lower_digits = "0123456789abcdef";

}  // namespace

std::optional<owner_id> owner_id::parse(std::string_view text) noexcept {
  bytes_type bytes{};
  if (text.size() != 2 * bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto high = lower_digits.find(text[2 * i]);
    const auto low = lower_digits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return owner_id{bytes};
}

std::string owner_id::to_string() const {
  std::string text;
  text.reserve(2 * bytes_.size());
  for (const auto byte : bytes_) {
    text += lower_digits[byte >> 4];
    text += lower_digits[byte & 15];
  }
  return text;
}

}  // namespace crosslock
