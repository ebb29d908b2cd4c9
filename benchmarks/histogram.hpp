// Latencies in little memory.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace crosslock::bench {

/// Log-linear: every power of two of nanoseconds is cut into 32 equal parts, so that a value is
/// known to 3 % whatever its size. One thread at a time.
class histogram {
 public:
  void add(std::chrono::nanoseconds span) noexcept {
    const auto ns = span.count() < 0 ? 0 : static_cast<std::uint64_t>(span.count());
    ++counts_[slot_of(ns)];
    ++total_;
  }

  void add(const histogram& other) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
  }

  bool empty() const noexcept { return total_ == 0; }

  /// The value that `part` (0 to 1) of all values do not exceed, in microseconds.
  double percentile_us(double part) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(part * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > wanted || seen == total_) return static_cast<double>(middle_of(i)) / 1000.0;
    }
    return 0;
  }

 private:
  static constexpr unsigned part_bits = 5;
  static constexpr std::uint64_t parts = 1U << part_bits;

  static std::size_t slot_of(std::uint64_t ns) noexcept {
    if (ns < parts) return ns;
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - part_bits - 1;
    return (shift + 1) * parts + ((ns >> shift) - parts);
  }

  static std::uint64_t middle_of(std::size_t slot) noexcept {
    if (slot < parts) return slot;
    const auto shift = static_cast<unsigned>(slot / parts) - 1;
    return ((parts + slot % parts) << shift) + ((std::uint64_t{1} << shift) >> 1);
  }

  std::array<std::uint64_t, (64 - part_bits + 1) * parts> counts_{};
  std::uint64_t total_ = 0;
};

}  // namespace crosslock::bench
