// How the program speaks: to people on standard error, to programs in lines of JSON.
#pragma once

#include <crosslock/error.hpp>
#include <crosslock/inspect.hpp>

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace crosslock::cli {

/// The text without what may be a secret: passwords in URLs, and receipts.
std::string without_secrets(std::string_view text);

/// One line on standard error, behind the program's name and without secrets.
void complain(std::string_view text);

/// What an error has to say, without the general words that its code adds: there may be no server.
std::string text_of(const error& failure);

/// One line; bytes that are no UTF-8 are replaced. Written out at once.
void print_line(std::ostream& out, const nlohmann::ordered_json& object);

/// exclusive, shared or permit.
std::string_view mode_word(claim_mode mode) noexcept;

enum class colour { plain, bold, dim, red, green, yellow };

/// Whether colours may be used on this descriptor: a terminal, NO_COLOR not set, TERM not dumb.
bool likes_colours(int descriptor);
/// The text as it is, or in that colour.
std::string painted(std::string_view text, colour colour, bool wanted);

}  // namespace crosslock::cli
