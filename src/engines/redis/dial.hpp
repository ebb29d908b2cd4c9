// Opening a socket to a server.
#pragma once

#include "engine/clock.hpp"
#include "engines/redis/address.hpp"

#include <netdb.h>

#include <string>

namespace crosslock::redis {

/// A connected, blocking socket that is closed at exec, and notices within about ten seconds that
/// the other side is gone. See stream::connect.
int dial(const address& to, seam::clock& clock, time_point give_up);

/// Tries the addresses of one name in turn, each for its share of the time that is left. Returns
/// the socket, or the negative of the last one's errno.
int dial_any(const addrinfo* list, seam::clock& clock, time_point give_up);

/// poll() for one descriptor: true when something is to be seen there, false at `until`.
bool poll_until(int descriptor, short events, seam::clock& clock, time_point until);

/// What errno means, for people.
std::string errno_text(int code);

}  // namespace crosslock::redis
