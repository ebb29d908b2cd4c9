// Which names others were met on lately: there the short way, one statement, would be in vain.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace crosslock::sqlite {

/// By the hash of the name, and only the last of those that share a slot. Thread-safe; a wrong
/// answer costs a little time.
class contention_hint {
 public:
  bool contended(std::uint32_t name_hash) const noexcept {
    return at(name_hash).load(std::memory_order_relaxed) == name_hash;
  }
  void note(std::uint32_t name_hash, bool contended) noexcept {
    if (contended == this->contended(name_hash)) return;
    at(name_hash).store(contended ? name_hash : 0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t slots = 256;

  std::atomic<std::uint32_t>& at(std::uint32_t hash) noexcept { return names_[hash % slots]; }
  const std::atomic<std::uint32_t>& at(std::uint32_t hash) const noexcept {
    return names_[hash % slots];
  }

  std::array<std::atomic<std::uint32_t>, slots> names_{};
};

}  // namespace crosslock::sqlite
