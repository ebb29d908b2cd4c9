// `memory:` and `memory:NAME`: a server inside this process, on the clock the client is given. The
// name tells servers apart.
#include "engine/registry.hpp"
#include "engines/memory/engine.hpp"

namespace crosslock::memory {

namespace {

std::unique_ptr<seam::engine> open_memory(const seam::opening& opening) {
  const seam::url& url = opening.url;
  if (!url.hosts.empty() || !url.user.empty() || url.password) {
    throw make_error(errc::invalid_url, "the URL names no host: memory: or memory:NAME");
  }
  seam::refuse_leftovers(url);
  return std::make_unique<engine>(shared_network(url.path, opening.clock), opening.events,
                                  opening.clock, opening.who);
}

}  // namespace

}  // namespace crosslock::memory

CROSSLOCK_EXPORT_ENGINE(memory, crosslock::memory::open_memory, crosslock::memory::offered);
