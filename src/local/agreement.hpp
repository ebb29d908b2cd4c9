// What all clients of a server agree on without ever meeting.
#pragma once

#include "keeper/keeper.hpp"

#include <string>

namespace crosslock::inner {

class core;

/// Whoever comes first writes its proposal into the cell; everybody, then and later, gets what
/// stands there. Blocks the caller; tries again as retry_options say. Throws `unsupported` where
/// the engine has no cells.
std::string agree(core& home, const seam::name_ref& cell, const std::string& proposal);

}  // namespace crosslock::inner
