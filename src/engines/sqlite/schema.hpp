// What stands in the database file, and how a client enters it.
#pragma once

#include "engines/sqlite/database.hpp"
#include "engines/sqlite/process.hpp"

#include <cstdint>
#include <string_view>

namespace crosslock::sqlite {

/// Stored as PRAGMA user_version. A database of a newer version is refused by name, one of an older
/// version is brought up to date.
inline constexpr std::int64_t schema_version = 2;

/// Makes what is missing. Throws `conflict` for a database of somebody else's, `unsupported` for a
/// newer schema. Nothing is changed then.
void prepare(database& database);

/// What a process does first: after a restart of the machine drops every hold and place in line of
/// before, takes clients that have died off the list, sweeps if nobody has lately. Throws
/// `unsupported` when others use the file from another time namespace.
void arrive(database& database, const surroundings& here, time_point now);

/// The list of clients. A number is never given twice. Other than 0, `neighbour` is a number that
/// shall have the same mailbox; else it is one that no living client has, if there is any. In the
/// caller's transaction.
std::int64_t add_client(database& database, const process_id& self, std::string_view who,
                        time_point now, std::int64_t neighbour = 0);
void remove_client(database& database, const process_id& self, std::int64_t client);

/// Removes what is over and was cleaned up by nobody, because nobody came to that name again, and
/// the rows of names that have not been used for a minute: their fences go on from the floor. In
/// the caller's transaction.
void sweep(database& database, time_point now);

}  // namespace crosslock::sqlite
