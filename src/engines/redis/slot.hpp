// Which slot of a Redis Cluster a key belongs to, and a tag that leads side keys to the same slot.
#pragma once

#include <cstdint>
#include <string_view>

namespace crosslock::redis {

/// As Redis counts it: CRC16 of what stands between the first `{` and the next `}`, if anything
/// does, else of the whole key.
std::uint16_t slot_of(std::string_view key) noexcept;

/// Three letters or digits whose slot is that one; always the same ones. A key `...{tag}...` lies
/// where the name itself lies, even if the name has braces of its own.
std::string_view tag_of(std::uint16_t slot) noexcept;

}  // namespace crosslock::redis
