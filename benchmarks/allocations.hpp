// Counting what is taken from the heap.
#pragma once

#include <cstdint>

namespace crosslock::bench {

/// How often the calling thread has asked the heap for memory so far, whoever's code it ran.
std::uint64_t allocations_of_this_thread() noexcept;

}  // namespace crosslock::bench
