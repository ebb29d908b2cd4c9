// Locks for programs: the JSON objects that man crosslock describes.
#pragma once

#include <crosslock/inspect.hpp>

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace crosslock::cli {

/// Who it is: who, user, host, pid, program, note, foreign; what is not known is null.
void add_identity(nlohmann::ordered_json& object, const claim_info& claim);
/// Which claim it is: owner_id and mode, of permits also how many of how many.
void add_claim(nlohmann::ordered_json& object, const claim_info& claim);
/// A fence as text, for numbers of JSON are too small; null where there is none.
nlohmann::ordered_json fence_json(const claim_info& claim);

/// The whole lock: name, kind, holders, line.
nlohmann::ordered_json lock_json(const lock_info& lock);

/// One line, written out at once. What a terminal would obey is escaped even where JSON allows it.
void print_object(std::ostream& out, const nlohmann::ordered_json& object);

}  // namespace crosslock::cli
