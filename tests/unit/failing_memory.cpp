// Takes the place of the standard operator new in the whole test program. The forms that are not
// here (arrays, nothrow, sized delete) come to these in the standard library.
#include "failing_memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace crosslock::unit {
namespace {

constexpr std::int64_t plenty = std::numeric_limits<std::int64_t>::max();

thread_local constinit std::int64_t memory_left = plenty;
thread_local constinit std::int64_t memory_refused = 0;

void* given(void* memory) {
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

void refuse_if_out() {
  if (memory_left == plenty || memory_left-- > 0) return;
  memory_left = 0;
  ++memory_refused;
  throw std::bad_alloc{};
}

}  // namespace

out_of_memory::out_of_memory(std::int64_t left) noexcept {
  memory_refused = 0;
  memory_left = left;
}

out_of_memory::~out_of_memory() { memory_left = plenty; }

std::int64_t out_of_memory::refused() const noexcept { return memory_refused; }

}  // namespace crosslock::unit

void* operator new(std::size_t size) {
  crosslock::unit::refuse_if_out();
  return crosslock::unit::given(std::malloc(size == 0 ? 1 : size));
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  crosslock::unit::refuse_if_out();
  const auto step = static_cast<std::size_t>(alignment);
  return crosslock::unit::given(std::aligned_alloc(step, (size + step - 1) / step * step));
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
