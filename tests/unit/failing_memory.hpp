// Memory that runs out on one thread, for as long as a test says so.
#pragma once

#include <cstdint>

namespace crosslock::unit {

/// While it lives, every operator new of this thread throws std::bad_alloc, but for the first so
/// many. One at a time on a thread.
class out_of_memory {
 public:
  explicit out_of_memory(std::int64_t left = 0) noexcept;
  ~out_of_memory();
  out_of_memory(const out_of_memory&) = delete;
  out_of_memory& operator=(const out_of_memory&) = delete;

  /// How often it was refused so far, on this thread.
  std::int64_t refused() const noexcept;
};

}  // namespace crosslock::unit
