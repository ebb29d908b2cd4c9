#include "cli/say.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

namespace crosslock::cli {

std::string without_secrets(std::string_view text) {
  // Of a URL what stands between the user and the last @ of a word, and what follows password=.
  static const std::regex url{R"((://[^\s:/@']*):[^\s']*@)"};
  static const std::regex parameter{R"((password=)[^\s&']*)"};
  static const std::regex receipt{R"((crosslock1:[^\s:']*:)[^\s']*)"};
  std::string safe = std::regex_replace(std::string{text}, url, "$1:***@");
  safe = std::regex_replace(safe, parameter, "$1***");
  return std::regex_replace(safe, receipt, "$1***");
}

void complain(std::string_view text) {
  // In one piece: others write there, too.
  std::cerr << "crosslock: " + without_secrets(text) + '\n';
}

std::string text_of(const error& failure) {
  std::string text = failure.what();
  const std::string code = ": " + failure.code().message();
  if (text.ends_with(code)) text.resize(text.size() - code.size());
  return text;
}

void print_line(std::ostream& out, const nlohmann::ordered_json& object) {
  out << object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

std::string_view mode_word(claim_mode mode) noexcept {
  switch (mode) {
    case claim_mode::shared:
      return "shared";
    case claim_mode::permit:
      return "permit";
    case claim_mode::exclusive:
      break;
  }
  return "exclusive";
}

bool likes_colours(int descriptor) {
  const char* const no = std::getenv("NO_COLOR");
  const char* const kind = std::getenv("TERM");
  if (no != nullptr && *no != '\0') return false;
  return isatty(descriptor) == 1 && kind != nullptr && std::string_view{kind} != "dumb";
}

std::string painted(std::string_view text, colour colour, bool wanted) {
  constexpr std::array<const char*, 6> codes{"0", "1", "2", "31", "32", "33"};
  if (!wanted || colour == colour::plain) return std::string{text};
  return "\x1b[" + std::string{codes.at(static_cast<std::size_t>(colour))} + "m" +
         std::string{text} + "\x1b[0m";
}

}  // namespace crosslock::cli
