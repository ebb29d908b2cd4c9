// Where owner ids come from.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"

#include <crosslock/owner_id.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace crosslock::seam {

/// Draws owner ids from a buffer of random bytes, so that an acquire seldom costs a system call.
/// Thread-safe. A forked child never draws from it: its client is refused before that.
class owner_source {
 public:
  explicit owner_source(clock& clock) noexcept : clock_{clock} {}

  owner_id draw();
  std::uint64_t draw_bits();  ///< for jitter

 private:
  void take(std::uint8_t* to, std::size_t count);

  clock& clock_;
  seam::mutex mutex_;
  std::array<std::uint8_t, 1024> bytes_ CROSSLOCK_GUARDED_BY(mutex_){};
  std::size_t used_ CROSSLOCK_GUARDED_BY(mutex_) = bytes_.size();
};

}  // namespace crosslock::seam
