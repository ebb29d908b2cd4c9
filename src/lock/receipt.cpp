// A receipt as text: crosslock1:ENGINE:OWNER:FENCE:NAME, with engine and name percent-encoded, so
// that it is one word for a shell, a log or an environment variable. Behind the fence of a shared
// hold stands an `s`, of permits a `p`. Each receipt has exactly one
// spelling, and parse accepts no other. Error texts quote nothing of it: whoever reads a receipt
// in a log could use it.
#include <crosslock/error.hpp>
#include <crosslock/receipt.hpp>

#include <charconv>
#include <optional>

namespace crosslock {
namespace {

constexpr std::string_view tag = "crosslock1";
constexpr std::size_t max_bytes = 4096;  // over twice what the longest name can need
constexpr std::string_view upper_digits = "0123456789ABCDEF";

bool plain(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~' || c == '/';
}

std::string encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (plain(c)) {
      out += c;
    } else {
      const auto byte = static_cast<std::uint8_t>(c);
      out += {'%', upper_digits[byte >> 4], upper_digits[byte & 15]};
    }
  }
  return out;
}

std::optional<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const auto high = upper_digits.find(text[i + 1]);
    const auto low = upper_digits.find(text[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
    i += 2;
  }
  if (encode(out) != text) return std::nullopt;
  return out;
}

// Hands out the fields from left to right, and knows where each began.
class fields {
 public:
  explicit fields(std::string_view text) : rest_{text} {}

  std::string_view next() {
    begun_ += passed_;
    const auto end = rest_.find(':');
    const auto field = rest_.substr(0, end);
    if (end == std::string_view::npos) refuse("':' after this field");
    rest_.remove_prefix(end + 1);
    passed_ = end + 1;
    return field;
  }

  std::string_view last() {
    begun_ += passed_;
    return rest_;
  }

  [[noreturn]] void refuse(const std::string& expected) const {
    throw error{errc::protocol,
                "receipt, byte offset " + std::to_string(begun_) + ": expected " + expected};
  }

 private:
  std::string_view rest_;
  std::size_t begun_ = 0;
  std::size_t passed_ = 0;
};

std::string_view letter_of(claim_mode mode) noexcept {
  switch (mode) {
    case claim_mode::exclusive:
      return "";
    case claim_mode::shared:
      return "s";
    case claim_mode::permit:
      return "p";
  }
  return "";
}

// Takes the letter off the field.
claim_mode read_mode(std::string_view& text) noexcept {
  for (const claim_mode mode : {claim_mode::shared, claim_mode::permit}) {
    if (!text.ends_with(letter_of(mode))) continue;
    text.remove_suffix(1);
    return mode;
  }
  return claim_mode::exclusive;
}

fence read_fence(std::string_view text, const fields& from) {
  std::int64_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  const bool whole = read.ec == std::errc{} && read.ptr == end;
  if (!whole || value < 1 || text.front() == '0') {
    from.refuse("a fence from 1 to " + std::to_string(fence::max_value));
  }
  return fence{value};
}

lock_name read_name(std::string_view text, const fields& from) {
  const auto name = decode(text);
  if (!name) from.refuse("a name, percent-encoded as crosslock writes it");
  try {
    return lock_name{*name};
  } catch (const error&) {
    from.refuse("a legal lock name");
  }
}

}  // namespace

std::string receipt::to_string() const {
  std::string text{tag};
  const std::string number = fence.to_string().append(letter_of(mode));
  for (const auto& field : {encode(engine), owner.to_string(), number, encode(name.view())}) {
    text += ':';
    text += field;
  }
  return text;
}

receipt receipt::parse(std::string_view text) {
  fields from{text};
  if (text.size() > max_bytes) from.refuse("at most 4096 bytes in all");
  if (!text.starts_with(tag) || from.next() != tag) from.refuse("\"crosslock1:\"");
  const auto engine = decode(from.next());
  if (!engine || engine->empty()) from.refuse("the name of an engine");
  const auto owner = owner_id::parse(from.next());
  if (!owner || owner->nobody()) from.refuse("32 lower-case hexadecimal digits, not all zero");
  std::string_view field = from.next();
  const claim_mode mode = read_mode(field);
  const auto number = read_fence(field, from);
  return {*engine, read_name(from.last(), from), *owner, number, mode};
}

}  // namespace crosslock
