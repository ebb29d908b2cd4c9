// The version this library was compiled as.
#include <crosslock/version.hpp>

namespace crosslock {

const char* version() noexcept { return CROSSLOCK_VERSION; }

}  // namespace crosslock
