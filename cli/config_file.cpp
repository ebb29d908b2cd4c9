#include "cli/config_file.hpp"

#include <crosslock/error.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace crosslock::cli {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::optional<configured>* member_for(configuration& all, std::string_view key) {
  if (key == "url") return &all.url;
  if (key == "lease") return &all.lease;
  if (key == "prefix") return &all.prefix;
  return nullptr;
}

/// A key as it may be shown: what is no word might be a part of a URL, with a password in it.
std::string shown_key(std::string_view key) {
  const bool word = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '_' || each == '-';
  });
  return word ? "there is no key '" + std::string{key} + "': " : "";
}

/// The value is not shown: a URL may have a password.
void read_line(configuration& all, std::string_view line, const std::string& where) {
  const std::size_t equals = line.find('=');
  const std::string_view key = trimmed(line.substr(0, equals));
  auto* const member = member_for(all, key);
  if (equals == std::string_view::npos || member == nullptr) {
    const std::string about = equals == std::string_view::npos ? "" : shown_key(key);
    throw error{errc::invalid_url,
                where + ": " + about + "expected url=, lease= or prefix=, or a comment (#)"};
  }
  if (*member) {
    throw error{errc::invalid_url, where + ": " + std::string{key} + "= was given before, at " +
                                       (*member)->where + "; keep one of them"};
  }
  const std::string_view value = trimmed(line.substr(equals + 1));
  if (value.empty() && key != "prefix") {
    throw error{errc::invalid_url, where + ": " + std::string{key} +
                                       "= has no value: give it one, or remove the line"};
  }
  *member = configured{std::string{value}, where};
}

bool is_directory(const std::string& file) {
  std::error_code unseen;
  return std::filesystem::is_directory(file, unseen);
}

/// Also false in a home that is not ours to look into: it is somebody else's.
bool is_there(const std::string& file) {
  std::error_code unseen;
  return std::filesystem::exists(file, unseen);
}

}  // namespace

configuration parse_configuration(std::string_view text, const std::string& file) {
  configuration all;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.front() != '#') {
      read_line(all, line, file + ':' + std::to_string(number));
    }
  }
  return all;
}

configuration read_configuration(const std::vector<std::string>& files) {
  configuration all;
  int order = 0;
  const auto take = [&order](std::optional<configured>& into, std::optional<configured>& found) {
    if (!found) return;
    into = std::move(found);
    into->order = order;
  };
  for (const std::string& file : files) {
    ++order;
    std::ifstream in{file};
    const int why = errno;
    std::ostringstream text;
    if (in) text << in.rdbuf();
    if (!in && !is_there(file)) continue;
    if (is_directory(file)) {
      throw error{errc::invalid_url, file + " is a directory: put a file in its place, or nothing"};
    }
    if (!in || in.bad()) {
      throw error{errc::denied, file + " cannot be read: " + std::strerror(why) +
                                    "; let this user read it (chmod), or move it away"};
    }
    configuration here = parse_configuration(text.str(), file);
    take(all.url, here.url);
    take(all.lease, here.lease);
    take(all.prefix, here.prefix);
  }
  return all;
}

std::vector<std::string> configuration_files() {
  std::vector<std::string> files{"/etc/crosslock.conf"};
  const char* const own = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  if (own != nullptr && *own != '\0') {
    files.push_back(std::string{own} + "/crosslock.conf");
  } else if (home != nullptr && *home != '\0') {
    files.push_back(std::string{home} + "/.config/crosslock.conf");
  }
  return files;
}

}  // namespace crosslock::cli
