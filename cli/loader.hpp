// Loads engine libraries on first use, so that the program itself links none of them.
#pragma once

#include "engine/registry.hpp"

#include <string_view>

namespace crosslock::cli {

/// Null when the library is not there or does not belong to this version.
const seam::engine_export* load_engine(std::string_view engine);

}  // namespace crosslock::cli
