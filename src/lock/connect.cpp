// Which URL a client is made from when the program names none.
#include <crosslock/client.hpp>

#include "local/core.hpp"

#include <cstdlib>
#include <string>
#include <utility>

namespace crosslock {
namespace {

std::string default_url() {
  if (const char* const url = std::getenv("CROSSLOCK_URL"); url && *url) return url;
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  // The default place is made when it is not there; a place that somebody names is not.
  constexpr const char* make = "?mkdir=yes";
  if (state && *state) return seam::embedded_url(std::string{state} + "/crosslock/locks.db") + make;
  if (home && *home) {
    return seam::embedded_url(std::string{home} + "/.local/state/crosslock/locks.db") + make;
  }
  throw error{errc::invalid_url,
              "no URL was given, CROSSLOCK_URL is not set, and without a home directory the "
              "embedded engine has no default place: name a URL such as " +
                  seam::embedded_url("/path/locks.db")};
}

}  // namespace

client connect(std::string_view url, options options) {
  return client{inner::core::make(inner::plan_opening(url, options), seam::real_clock())};
}

client connect(options options) { return connect(default_url(), std::move(options)); }

}  // namespace crosslock
