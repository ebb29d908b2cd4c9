// A buffer filled by the clock's source of randomness and used up from the front.
#include "engine/owner_source.hpp"

#include <algorithm>
#include <cstring>

namespace crosslock::seam {

owner_id owner_source::draw() {
  owner_id::bytes_type bytes{};
  take(bytes.data(), bytes.size());
  return owner_id{bytes};
}

std::uint64_t owner_source::draw_bits() {
  std::array<std::uint8_t, sizeof(std::uint64_t)> bytes{};
  take(bytes.data(), bytes.size());
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), sizeof bits);
  return bits;
}

void owner_source::take(std::uint8_t* to, std::size_t count) {
  const seam::lock_guard guard{mutex_};
  if (bytes_.size() - used_ < count) {
    clock_.fill_random(bytes_);
    used_ = 0;
  }
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(used_), count, to);
  used_ += count;
}

}  // namespace crosslock::seam
