// The table of engines. Every export is a weak reference, so the core depends on no engine: the
// program's own link line decides which of them are there, and a loader may add more at run time.
#include "engine/registry.hpp"

#include <crosslock/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>

extern "C" {
using crosslock::seam::engine_export;
[[gnu::weak]] extern const engine_export crosslock_engine_memory;
[[gnu::weak]] extern const engine_export crosslock_engine_sqlite;
[[gnu::weak]] extern const engine_export crosslock_engine_redis;
[[gnu::weak]] extern const engine_export crosslock_engine_redlock;
[[gnu::weak]] extern const engine_export crosslock_engine_zookeeper;
[[gnu::weak]] extern const engine_export crosslock_engine_etcd;
[[gnu::weak]] extern const engine_export crosslock_engine_mariadb;
[[gnu::weak]] extern const engine_export crosslock_engine_postgres;
}

namespace crosslock::seam {
namespace {

std::atomic<loader> load_engine{nullptr};

std::string known_schemes() {
  std::string text;
  for (const registered& row : registry()) {
    if (!text.empty()) text += ", ";
    text += row.scheme;
  }
  return text;
}

/// Schemes that are spoken for, so that nobody looks for a mistake in the spelling.
constexpr std::array<std::string_view, 2> not_yet{"redis+sentinel", "redis+cluster"};

[[noreturn]] void refuse_scheme(const std::string& scheme) {
  if (std::ranges::find(not_yet, scheme) != not_yet.end()) {
    throw error{errc::unsupported, "the scheme '" + scheme +
                                       "': Sentinel and Cluster are not supported yet: name the "
                                       "primary itself by redis://"};
  }
  throw error{errc::invalid_url,
              "no engine serves the scheme '" + scheme + "'; the schemes are " + known_schemes()};
}

}  // namespace

std::span<const registered> registry() noexcept {
  // Built at the first call, not before main: only then is every engine library initialised.
  static const std::array table{
      registered{"memory", "memory", "crosslock::memory", &crosslock_engine_memory},
      registered{"sqlite", "sqlite", "crosslock::sqlite", &crosslock_engine_sqlite},
      registered{"redis", "redis", "crosslock::redis", &crosslock_engine_redis},
      registered{"redis", "rediss", "crosslock::redis", &crosslock_engine_redis},
      registered{"redis", "redis+unix", "crosslock::redis", &crosslock_engine_redis},
      registered{"redlock", "redlock", "crosslock::redlock", &crosslock_engine_redlock},
      registered{"zookeeper", "zk", "crosslock::zookeeper", &crosslock_engine_zookeeper},
      registered{"zookeeper", "zookeeper", "crosslock::zookeeper", &crosslock_engine_zookeeper},
      registered{"etcd", "etcd", "crosslock::etcd", &crosslock_engine_etcd},
      registered{"etcd", "etcds", "crosslock::etcd", &crosslock_engine_etcd},
      registered{"mariadb", "mariadb", "crosslock::mariadb", &crosslock_engine_mariadb},
      registered{"mariadb", "mysql", "crosslock::mariadb", &crosslock_engine_mariadb},
      registered{"postgres", "postgresql", "crosslock::postgres", &crosslock_engine_postgres},
      registered{"postgres", "postgres", "crosslock::postgres", &crosslock_engine_postgres},
  };
  return table;
}

std::string embedded_url(std::string_view path) {
  url embedded;
  embedded.scheme = "sqlite";
  embedded.path = path;
  return embedded.redacted();
}

bool asks_for_password(const url& url) noexcept {
  // A socket is a server without a host.
  return !url.hosts.empty() || url.scheme == "redis+unix";
}

void set_loader(loader load) noexcept { load_engine.store(load); }

const engine_export* find_engine(const registered& row) {
  if (row.linked != nullptr) return row.linked;
  const loader load = load_engine.load();
  return load == nullptr ? nullptr : load(row.engine);
}

const engine_export& require_engine(const url& url) {
  const auto rows = registry();
  const auto row = std::ranges::find(rows, url.scheme, &registered::scheme);
  if (row == rows.end()) refuse_scheme(url.scheme);
  const engine_export* const found = find_engine(*row);
  if (found == nullptr) {
    const std::string name{row->engine};
    throw error{errc::unsupported,
                "the engine '" + name + "' is not in this program: link " +
                    std::string{row->library} + " (or install libcrosslock-" + name +
                    " where engines are loaded at run time)",
                {.engine = name}};
  }
  return *found;
}

std::unique_ptr<engine> open_engine(const opening& opening) {
  return require_engine(opening.url).open(opening);
}

}  // namespace crosslock::seam
