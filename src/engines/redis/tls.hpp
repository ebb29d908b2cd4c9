// TLS over the socket of a stream.
#pragma once

#include "engines/redis/stream.hpp"

namespace crosslock::redis {

/// Takes the descriptor over, and shakes hands. Version 1.2 at least; the server's certificate must
/// come from an authority we trust, be valid now, and be for address::certified_name().
std::unique_ptr<stream> connect_tls(int descriptor, const address& to, seam::clock& clock,
                                    time_point give_up);

}  // namespace crosslock::redis
