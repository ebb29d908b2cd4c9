// The first words on a new connection: who we are, and whether this server will do.
#pragma once

#include "engine/finding.hpp"
#include "engines/redis/address.hpp"
#include "engines/redis/protocol.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/stream.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::redis {

/// One request and its answer, whatever that is.
void exchange(stream& to, parser& from, const address& where, const command& what, reply& answer,
              time_point give_up);

/// User, password and database. Throws `denied` or `invalid_url`.
void introduce(stream& to, parser& from, const address& as, time_point give_up);

/// The server's own description of itself; empty when this user must not ask for it. Throws what
/// any other refusal means.
std::string ask_for_info(stream& to, parser& from, const address& where, time_point give_up,
                         std::string_view section = "default");

/// Throws the gravest refusal among the findings, if there is one.
void refuse_unfit(std::span<const seam::finding> findings, const address& where);

}  // namespace crosslock::redis
