// One walk over the bytes decides whether a name is legal. The UTF-8 rules are the table of
// well-formed byte sequences of the Unicode standard (3.9, table 3-7).
#include <crosslock/error.hpp>
#include <crosslock/lock_name.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace crosslock {
namespace {

constexpr std::string_view reserved_beginning = "crosslock:{";

// Names in error texts come from anywhere: shown as plain ASCII, and not longer than a line.
std::string shown(std::string_view text) {
  constexpr std::size_t enough = 64;
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, enough)) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  out += '"';
  if (text.size() > enough) out += "...";
  return out;
}

// The bounds of the second byte refuse overlong forms, surrogates and what lies above U+10FFFF.
struct sequence {
  std::size_t length = 0;  // 0: no character begins with this byte
  std::uint8_t second_min = 0x80;
  std::uint8_t second_max = 0xbf;
  const char* otherwise = "a broken UTF-8 character";  // what a second byte out of bounds is
};

sequence begun_by(std::uint8_t lead) noexcept {
  if (lead < 0x80) return {.length = 1};
  if (lead < 0xc2 || lead > 0xf4) return {};
  if (lead < 0xe0) return {.length = 2};
  if (lead == 0xe0) return {3, 0xa0, 0xbf, "an overlong UTF-8 form"};
  if (lead == 0xed) return {3, 0x80, 0x9f, "a surrogate (not a character)"};
  if (lead < 0xf0) return {.length = 3};
  if (lead == 0xf0) return {4, 0x90, 0xbf, "an overlong UTF-8 form"};
  if (lead == 0xf4) return {4, 0x80, 0x8f, "a code point above U+10FFFF"};
  return {.length = 4};
}

// What no character can begin with, by its reason.
const char* why_no_lead(std::uint8_t lead) noexcept {
  if (lead < 0xc0) return "a UTF-8 continuation byte without a beginning";
  if (lead < 0xc2) return "an overlong UTF-8 form";
  return lead < 0xf8 ? "a code point above U+10FFFF" : "a byte that is never part of UTF-8";
}

// Null when a legal character begins at `at`, which then moves behind it; else what stands there.
const char* step(std::string_view text, std::size_t& at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
  const auto lead = byte(0);
  if (lead < 0x20 || lead == 0x7f) return "a control character";
  const auto expected = begun_by(lead);
  if (expected.length == 0) return why_no_lead(lead);
  for (std::size_t i = 1; i < expected.length; ++i) {
    if (at + i == text.size()) return "a UTF-8 character cut off by the end";
    if ((byte(i) & 0xc0) != 0x80) return "a UTF-8 character that is not complete";
    if (i == 1 && (byte(1) < expected.second_min || byte(1) > expected.second_max)) {
      return expected.otherwise;
    }
  }
  if (lead == 0xc2 && byte(1) < 0xa0) return "a control character";  // U+0080 to U+009F
  at += expected.length;
  return nullptr;
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw error{errc::invalid_name, "lock name " + shown(text) + " " + why};
}

void check(std::string_view text) {
  if (text.empty()) refuse(text, "is empty: give 1 to 512 bytes");
  if (text.size() > lock_name::max_bytes) {
    refuse(text, "is too long: " + std::to_string(text.size()) +
                     " bytes, and byte offset 512 is the first too many");
  }
  for (std::size_t at = 0; at < text.size();) {
    if (const char* what = step(text, at)) {
      refuse(text, "has " + std::string{what} + " at byte offset " + std::to_string(at));
    }
  }
  if (text.starts_with(reserved_beginning)) {
    refuse(text, "has at byte offset 0 the beginning that is reserved for crosslock itself");
  }
}

}  // namespace

lock_name::lock_name(std::string_view text) {
  check(text);
  text_ = text;
}

lock_name lock_name::reserved(std::string_view kind, std::string_view rest) {
  lock_name made;
  made.text_.append(reserved_beginning).append(kind).append("}:").append(rest);
  return made;
}

lock_name lock_name::stored(std::string_view text) {
  if (!text.starts_with(reserved_beginning)) return lock_name{text};
  const std::string_view inside = text.substr(reserved_beginning.size());
  const std::size_t end =
      std::min(inside.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), inside.size());
  if (end == 0 || !inside.substr(end).starts_with("}:")) {
    refuse(text, "is neither a name that programs can give nor one of crosslock itself");
  }
  const std::string_view rest = inside.substr(end + 2);
  check(rest);
  return reserved(inside.substr(0, end), rest);
}

}  // namespace crosslock
