// Looking again and again: --watch of list and show.
#pragma once

#include "cli/looking/table.hpp"

#include <crosslock/inspect.hpp>
#include <crosslock/time.hpp>

#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::cli {

using seen_locks = std::vector<lock_info>;

struct repeated {
  std::function<seen_locks()> look;
  std::function<std::vector<std::string>(const seen_locks&, const canvas&)> lines;  ///< for people
  std::function<nlohmann::ordered_json(const seen_locks&)> object;  ///< for programs
  duration interval{};
  bool json = false;
};

/// The interval that was given, or the other one. Throws usage_error below 10 ms.
duration read_interval(const std::optional<std::string>& given, duration otherwise);

/// On a terminal draws the lines anew after each look; elsewhere, and as JSON, prints when
/// something has changed other than times. A server that goes away is said once, and tried again;
/// only the first look throws. Returns when the output cannot be written.
void repeat(const repeated& what, std::ostream& out);

}  // namespace crosslock::cli
