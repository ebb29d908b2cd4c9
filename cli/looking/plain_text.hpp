// Texts that other people have chosen, made fit for a terminal and its columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crosslock::cli {

/// The text with whatever is no printable character written as an escape (`\x1b`, `\u{202e}`):
/// control characters, what turns the direction of writing, and bytes that are no UTF-8. A name
/// must not be able to move the reader's cursor.
std::string printable(std::string_view text);

/// How many columns of a terminal a printable text takes.
std::size_t columns_of(std::string_view text);

/// A printable text in at most so many columns; a dot-dot-dot stands for what is left out.
std::string cut(std::string_view text, std::size_t columns);

/// A printable text, filled up with blanks to so many columns.
std::string padded(std::string_view text, std::size_t columns);

}  // namespace crosslock::cli
