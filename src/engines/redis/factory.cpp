// `redis://`, `rediss://`, `redis+unix://`: one Redis or Valkey server.
#include "engine/registry.hpp"
#include "engines/redis/engine.hpp"

namespace crosslock::redis {
namespace {

/// A parameter that has one value only.
bool take_choice(seam::url& url, std::string_view name, std::string_view value) {
  const auto said = url.take(name);
  if (!said) return false;
  if (*said == value) return true;
  throw make_error(errc::invalid_url, "the parameter '" + std::string{name} + "' can only be '" +
                                          std::string{value} + "'");
}

std::unique_ptr<seam::engine> open_redis(const seam::opening& opening) {
  seam::url& url = opening.url;
  const address where = read_address(url);
  const preferences how{.eviction_allowed = take_choice(url, "eviction", "allowed"),
                        .share_with_foreigners = take_choice(url, "foreign", "share")};
  seam::refuse_leftovers(url);
  return std::make_unique<engine>(where, how, opening.who, opening.timeout, opening.events,
                                  opening.clock, opening.log);
}

}  // namespace
}  // namespace crosslock::redis

CROSSLOCK_EXPORT_ENGINE(redis, crosslock::redis::open_redis, crosslock::redis::offered);
