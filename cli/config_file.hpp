// What the program is told by files: /etc/crosslock.conf, then crosslock.conf of the user. Read by
// the program only, never by the library.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::cli {

/// A value and where it stands, for error texts.
struct configured {
  std::string value;
  std::string where;  ///< FILE:LINE
  int order = 0;      ///< of the file among those that were read
};

struct configuration {
  std::optional<configured> url;
  std::optional<configured> lease;
  std::optional<configured> prefix;
};

/// Lines KEY=VALUE, blank ones, and comments that begin with #; around both words blanks are left
/// out. Throws `invalid_url` naming the line, for an unknown key, one that is given twice, and a
/// url or lease without a value.
configuration parse_configuration(std::string_view text, const std::string& file);

/// What is in these files, the later ones over the earlier. One that is not there is no error; one
/// that cannot be read is `denied`: what it would have said might be where the locks are.
configuration read_configuration(const std::vector<std::string>& files);

/// Those of the machine and of this user.
std::vector<std::string> configuration_files();

}  // namespace crosslock::cli
