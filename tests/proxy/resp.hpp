// The protocol of Redis, as far as tests need it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock::proxy {

struct resp_value {
  char type = 0;  ///< the byte it began with
  bool null = false;
  std::string text;               ///< of everything that has no items
  std::vector<resp_value> items;  ///< of arrays, maps, sets and pushes

  bool is_error() const noexcept { return type == '-'; }
};

/// The first whole value of `bytes`, and how many bytes it has; empty when some are still missing.
/// Throws std::runtime_error when they are no RESP.
std::optional<std::pair<resp_value, std::size_t>> parse_resp(std::string_view bytes);

/// A request: an array of bulk strings.
std::string resp_request(const std::vector<std::string>& words);

}  // namespace crosslock::proxy
