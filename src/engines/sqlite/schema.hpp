// What stands in the database file, and how a client enters it.
#pragma once

#include "engines/sqlite/database.hpp"
#include "engines/sqlite/process.hpp"

#include <cstdint>
#include <string>

namespace crosslock::sqlite {

/// Stored as PRAGMA user_version. A database of a newer version is refused by name.
inline constexpr std::int64_t schema_version = 1;

/// Makes what is missing. Throws `conflict` for a database of somebody else's, `unsupported` for a
/// newer schema. Nothing is changed then.
void prepare(database& database);

/// Enters this process into the list of clients; returns its number, which is never given twice.
/// After a restart of the machine it first drops every hold and place in line of before. Throws
/// `unsupported` when others use the file from another time namespace.
std::int64_t enter(database& database, const surroundings& here, const std::string& who,
                   time_point now);
void leave(database& database, std::int64_t client);

/// Removes what is over and was cleaned up by nobody, because nobody came to that name again, and
/// the rows of names that have not been used for a minute: their fences go on from the floor.
void sweep(database& database, time_point now);

}  // namespace crosslock::sqlite
