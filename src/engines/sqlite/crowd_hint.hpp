// Which names others were met on lately: there the short way, one statement, would be in vain.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace crosslock::sqlite {

/// By the hash of the name, and only the last of those that share a place. Thread-safe; a wrong
/// answer costs a little time.
class crowd_hint {
 public:
  bool crowded(std::uint32_t name_hash) const noexcept {
    return at(name_hash).load(std::memory_order_relaxed) == name_hash;
  }
  void note(std::uint32_t name_hash, bool crowded) noexcept {
    if (crowded == this->crowded(name_hash)) return;
    at(name_hash).store(crowded ? name_hash : 0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t places = 256;

  std::atomic<std::uint32_t>& at(std::uint32_t hash) noexcept { return names_[hash % places]; }
  const std::atomic<std::uint32_t>& at(std::uint32_t hash) const noexcept {
    return names_[hash % places];
  }

  std::array<std::atomic<std::uint32_t>, places> names_{};
};

}  // namespace crosslock::sqlite
