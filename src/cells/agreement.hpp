// What all clients of a server agree on without ever meeting.
#pragma once

#include "client/core.hpp"

#include <string>

namespace crosslock::inner {

/// Whoever comes first writes its proposal into the cell; everybody, then and later, gets what
/// stands there. Blocks the caller; tries again as retry_options say. Throws `unsupported` where
/// the engine has no cells.
std::string agree(core& home, const seam::name_ref& cell, const std::string& proposal);

/// Says which server this is, whatever its URL: random, and written there by the first client that
/// asked. One round trip, the first time. Throws what agree() throws.
std::string server_id(core& home);

}  // namespace crosslock::inner
