// CRC16 is linear: the checksum of three bytes is the XOR of what each gives at its place, so that
// trying all tags is cheap. They are tried once, and each slot keeps the first that leads to it.
#include "engines/redis/slot.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace crosslock::redis {
namespace {

constexpr std::size_t slots = 16384;
constexpr std::size_t tag_length = 3;
constexpr std::string_view letters =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U) ? (crc << 1) ^ 0x1021U : crc << 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

constexpr std::uint16_t crc16(std::string_view bytes) noexcept {
  std::uint16_t crc = 0;
  for (const char byte : bytes) {
    const auto index = static_cast<std::uint8_t>((crc >> 8) ^ static_cast<std::uint8_t>(byte));
    crc = static_cast<std::uint16_t>((crc << 8) ^ crc_table[index]);
  }
  return crc;
}

using tag = std::array<char, tag_length>;

std::vector<tag> find_tags() {
  std::vector<tag> tags(slots);
  std::size_t missing = slots;
  for (const char a : letters) {
    for (const char b : letters) {
      for (const char c : letters) {
        const tag candidate{a, b, c};
        tag& known = tags[crc16({candidate.data(), tag_length}) % slots];
        if (known[0] != 0) continue;
        known = candidate;
        if (--missing == 0) return tags;
      }
    }
  }
  return tags;
}

}  // namespace

std::uint16_t slot_of(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return crc16(key) % slots;
}

std::string_view tag_of(std::uint16_t slot) noexcept {
  static const std::vector<tag> tags = find_tags();
  return {tags[slot % slots].data(), tag_length};
}

}  // namespace crosslock::redis
