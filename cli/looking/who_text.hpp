// The text by which a client says who it is (src/client/opening.cpp), taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crosslock::cli {

/// `user@host pid 4711 program (note)`.
struct who_parts {
  std::string user;
  std::string host;
  std::int64_t pid = 0;
  std::string program;
  std::string note;  ///< what the program has added; empty when it has not

  friend bool operator==(const who_parts&, const who_parts&) = default;
};

/// Empty when the text is no such thing: a foreign lock, or a client that says something else.
/// A user may have an `@` in his name, and a note may have brackets; where a program's name has
/// them, too, the note begins at the first.
std::optional<who_parts> parse_who(std::string_view text);

}  // namespace crosslock::cli
