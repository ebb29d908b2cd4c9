// The URL that chooses an engine: one strict parser for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock::seam {

/// A parsed URL; every part percent-decoded. Never print `password`: use redacted().
struct url {
  struct host {
    std::string name;  ///< an IPv6 address without its brackets
    std::optional<std::uint16_t> port;
    friend bool operator==(const host&, const host&) = default;
  };

  std::string scheme;  ///< lower case
  std::string user;
  std::optional<std::string> password;
  std::vector<host> hosts;  ///< empty for `sqlite:` and `memory:`
  std::string path;         ///< with its leading slash if it has one
  std::vector<std::pair<std::string, std::string>> parameters;  ///< in order, no name twice

  /// Removes a parameter and returns its value. Whoever opens an engine takes what it knows;
  /// what is left at the end is an error (refuse_leftovers).
  std::optional<std::string> take(std::string_view name);
  /// The URL as it may be shown: the password replaced by `***`.
  std::string redacted() const;
};

/// Throws `invalid_url` that names the position and what was expected, never the password.
url parse_url(std::string_view text);

/// Throws `invalid_url` naming the first parameter nobody took.
void refuse_leftovers(const url& url);

}  // namespace crosslock::seam
