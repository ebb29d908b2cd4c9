#include "cli/looking/who_text.hpp"

#include <charconv>

namespace crosslock::cli {
namespace {

constexpr std::string_view before_pid = " pid ";

/// The number at the beginning, and the blank behind it, are taken off.
std::optional<std::int64_t> take_pid(std::string_view& text) {
  std::int64_t pid = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), pid);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (wrong != std::errc{} || pid <= 0 || !text.substr(digits).starts_with(' ')) {
    return std::nullopt;
  }
  text.remove_prefix(digits + 1);
  return pid;
}

void read_program(std::string_view text, who_parts& into) {
  const std::size_t bracket = text.find(" (");
  if (bracket == std::string_view::npos || !text.ends_with(')')) {
    into.program = text;
    return;
  }
  into.program = text.substr(0, bracket);
  into.note = text.substr(bracket + 2, text.size() - bracket - 3);
}

}  // namespace

std::optional<who_parts> parse_who(std::string_view text) {
  for (std::size_t at = text.find(before_pid); at != std::string_view::npos;
       at = text.find(before_pid, at + 1)) {
    const std::string_view origin = text.substr(0, at);
    const std::size_t sign = origin.rfind('@');
    std::string_view rest = text.substr(at + before_pid.size());
    const auto pid = take_pid(rest);
    if (!pid || sign == std::string_view::npos || sign == 0) continue;
    who_parts found{.user = std::string{origin.substr(0, sign)},
                    .host = std::string{origin.substr(sign + 1)},
                    .pid = *pid,
                    .program = {},
                    .note = {}};
    read_program(rest, found);
    return found;
  }
  return std::nullopt;
}

}  // namespace crosslock::cli
