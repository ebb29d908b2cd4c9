// The random numbers of a simulated world. Own arithmetic throughout: the distributions of the
// standard library may differ between versions, and a failing seed must replay anywhere.
#pragma once

#include <crosslock/time.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace crosslock::world {

/// xoshiro256** by Blackman and Vigna, seeded by splitmix64. Not thread-safe: the baton guards it.
class random_stream {
 public:
  using result_type = std::uint64_t;

  explicit random_stream(std::uint64_t seed) noexcept {
    for (auto& part : state_) {
      seed += 0x9e3779b97f4a7c15U;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
      part = z ^ (z >> 31U);
    }
  }

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return UINT64_MAX; }

  result_type operator()() noexcept {
    const std::uint64_t result = turn_left(state_[1] * 5U, 7U) * 9U;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = turn_left(state_[3], 45U);
    return result;
  }

  /// From 0 to `bound` - 1; 0 when `bound` is 0. The bias of the modulo does not matter here.
  std::uint64_t below(std::uint64_t bound) noexcept { return bound < 2 ? 0 : (*this)() % bound; }

  /// From `low` to `high`, both included.
  template <std::integral T>
  T uniform(T low, T high) noexcept {
    const auto range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t step = range == UINT64_MAX ? (*this)() : below(range + 1);
    return static_cast<T>(static_cast<std::uint64_t>(low) + step);
  }
  duration uniform(duration low, duration high) noexcept {
    return duration(uniform(low.count(), high.count()));
  }

  /// True with this probability; draws nothing when it is 0 or less.
  bool chance(double probability) noexcept {
    return probability > 0 && static_cast<double>((*this)() >> 11U) * 0x1p-53 < probability;
  }

  /// One of the elements of a range that is not empty.
  template <class Range>
  decltype(auto) pick(Range&& range) noexcept {
    const auto index = static_cast<std::ptrdiff_t>(below(std::size(range)));
    return *std::next(std::begin(range), index);
  }

 private:
  static constexpr std::uint64_t turn_left(std::uint64_t value, unsigned bits) noexcept {
    return (value << bits) | (value >> (64U - bits));
  }

  std::uint64_t state_[4];
};

}  // namespace crosslock::world
