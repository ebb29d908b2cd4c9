// An allocator that keeps what is given back for the next one of its kind on the same thread, so
// that a lock that is taken again and again costs no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace crosslock::seam {

// The address sanitizer finds more when every object has an address of its own.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool recycles = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool recycles = false;
#else
inline constexpr bool recycles = true;
#endif
#else
inline constexpr bool recycles = true;
#endif

/// For single objects of type T; arrays are allocated as ever.
template <class T>
class recycling {
 public:
  using value_type = T;

  recycling() noexcept = default;
  template <class Other>
  recycling(const recycling<Other>&) noexcept {}

  T* allocate(std::size_t count) {
    if (recycles && count == 1 && shelf_.filled > 0) {
      return static_cast<T*>(shelf_.blocks[--shelf_.filled]);
    }
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{alignof(T)}));
  }

  void deallocate(T* block, std::size_t count) noexcept {
    if (recycles && count == 1 && !shelf_.closed && shelf_.filled < shelf_.blocks.size()) {
      static_cast<void>(&cleared_at_end_);  // a thread that keeps something clears up behind it
      shelf_.blocks[shelf_.filled++] = block;
      return;
    }
    ::operator delete (block, std::align_val_t{alignof(T)});
  }

  friend bool operator==(const recycling&, const recycling&) noexcept { return true; }

 private:
  /// Has no destructor: it may still be asked when the thread has ended all others.
  struct shelf {
    std::array<void*, 8> blocks{};
    std::size_t filled = 0;
    bool closed = false;
  };
  struct clearer {
    ~clearer() {
      shelf_.closed = true;
      while (shelf_.filled > 0) {
        ::operator delete (shelf_.blocks[--shelf_.filled], std::align_val_t{alignof(T)});
      }
    }
  };

  static inline thread_local constinit shelf shelf_{};
  static inline thread_local clearer cleared_at_end_{};
};

}  // namespace crosslock::seam
