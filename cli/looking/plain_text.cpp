// The UTF-8 rules are the table of well-formed byte sequences of the Unicode standard (3.9, table
// 3-7); how wide a character is, the C library knows.
#include "cli/looking/plain_text.hpp"

#include <clocale>
#include <cstdint>
#include <cwchar>
#include <optional>

namespace crosslock::cli {
namespace {

constexpr std::string_view dots = "\u2026";

struct character {
  std::size_t bytes = 1;
  std::optional<char32_t> code;  ///< empty: a byte that is no part of a character
};

character character_at(std::string_view text) {
  const auto lead = static_cast<std::uint8_t>(text[0]);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  char32_t code = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = (code << 6U) | (byte & 0x3fU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least[length] || surrogate || code > 0x10ffff) return {};
  return {length, code};
}

/// In the columns of a terminal; -1: not to be printed. A locale of our own, so that the user's
/// does not matter: names are UTF-8 everywhere.
int width_of(char32_t code) {
  if (code < 0x7f) return code < 0x20 ? -1 : 1;
  if (code < 0xa0) return -1;
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (unicode == nullptr) return 1;
  const locale_t before = uselocale(unicode);
  const int width = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return width;
}

/// What a terminal would show elsewhere than where it stands, and what it takes for a line's end.
bool misleads(char32_t code) {
  return code == 0x061c || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string hexadecimal(char32_t number, std::size_t digits_min) {
  std::string digits;
  while (number != 0 || digits.size() < digits_min) {
    digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
    number /= 16;
  }
  return digits;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (std::string_view rest = text; !rest.empty();) {
    const character next = character_at(rest);
    if (!next.code || *next.code < 0x80) {
      const auto byte = static_cast<std::uint8_t>(rest[0]);
      if (next.code && width_of(byte) == 1) {
        shown += rest[0];
      } else {
        shown += "\\x" + hexadecimal(byte, 2);
      }
    } else if (misleads(*next.code) || width_of(*next.code) < 0) {
      shown += "\\u{" + hexadecimal(*next.code, 4) + '}';
    } else {
      shown += rest.substr(0, next.bytes);
    }
    rest.remove_prefix(next.bytes);
  }
  return shown;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const character next = character_at(text);
    const int width = next.code ? width_of(*next.code) : 1;
    if (width > 0) columns += static_cast<std::size_t>(width);
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string{text};
  if (columns == 0) return {};
  std::size_t kept = 0;
  std::size_t used = 0;
  while (kept < text.size()) {
    const character next = character_at(text.substr(kept));
    const std::size_t width = columns_of(text.substr(kept, next.bytes));
    if (used + width > columns - 1) break;
    used += width;
    kept += next.bytes;
  }
  return std::string{text.substr(0, kept)} + std::string{dots};
}

std::string padded(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string{text} + std::string(columns > used ? columns - used : 0, ' ');
}

}  // namespace crosslock::cli
