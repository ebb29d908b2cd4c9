// The version of the headers; the library's own is what version() returns.
#pragma once

#define CROSSLOCK_VERSION_MAJOR 0
#define CROSSLOCK_VERSION_MINOR 1
#define CROSSLOCK_VERSION_PATCH 0
#define CROSSLOCK_VERSION "0.1.0"

namespace crosslock {

/// The version of the library that was linked, as "0.1.0".
const char* version() noexcept;

}  // namespace crosslock
