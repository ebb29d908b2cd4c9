// malloc and its relatives as everything in this program finds them, libraries included: they
// count, and leave the work to those of the C library.
#include "benchmarks/allocations.hpp"

#include <cstddef>

namespace {

constinit thread_local std::uint64_t count = 0;

}  // namespace

extern "C" {

// The C library's own names for them.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++count;
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  ++count;
  return __libc_calloc(number, size);
}
void* realloc(void* memory, std::size_t size) {
  ++count;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++count;
  return __libc_memalign(alignment, size);
}

}  // extern "C"

namespace crosslock::bench {

std::uint64_t allocations_of_this_thread() noexcept { return count; }

}  // namespace crosslock::bench
