// The mutex of a line as clang knows it.
#pragma once

#include "engine/guarded.hpp"

namespace crosslock::inner {

/// Stands for the mutex of any line. What it guards is spread over waiters, grants and critical
/// sections, which do not know the mutex of their line by a name that clang could compare; and no
/// thread ever has those of two lines.
inline constexpr class CROSSLOCK_CAPABILITY("mutex") {
} line_mutex{};

}  // namespace crosslock::inner
