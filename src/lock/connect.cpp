#include <crosslock/client.hpp>

#include "client/core.hpp"

#include <utility>

namespace crosslock {

client connect(std::string_view url, options options) {
  return client{inner::core::make(inner::plan_opening(url, options), seam::real_clock())};
}

client connect(options options) { return connect(inner::default_url(), std::move(options)); }

}  // namespace crosslock
