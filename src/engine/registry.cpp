// The table of engines. Every factory is a weak reference, so the core depends on no engine: the
// program's own link line decides which of them are there, and a loader may add more at run time.
#include "engine/registry.hpp"

#include <crosslock/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>

extern "C" {
using crosslock::seam::factory;
[[gnu::weak]] extern const factory crosslock_engine_memory;
[[gnu::weak]] extern const factory crosslock_engine_sqlite;
[[gnu::weak]] extern const factory crosslock_engine_redis;
[[gnu::weak]] extern const factory crosslock_engine_redlock;
[[gnu::weak]] extern const factory crosslock_engine_zookeeper;
[[gnu::weak]] extern const factory crosslock_engine_etcd;
[[gnu::weak]] extern const factory crosslock_engine_mariadb;
[[gnu::weak]] extern const factory crosslock_engine_postgres;
}

namespace crosslock::seam {
namespace {

factory linked(const factory* exported) noexcept {
  return exported == nullptr ? nullptr : *exported;
}

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
      registered{"memory", "memory", "crosslock::memory", linked(&crosslock_engine_memory)},
      registered{"sqlite", "sqlite", "crosslock::sqlite", linked(&crosslock_engine_sqlite)},
      registered{"redis", "redis", "crosslock::redis", linked(&crosslock_engine_redis)},
      registered{"redis", "rediss", "crosslock::redis", linked(&crosslock_engine_redis)},
      registered{"redis", "redis+unix", "crosslock::redis", linked(&crosslock_engine_redis)},
      registered{"redlock", "redlock", "crosslock::redlock", linked(&crosslock_engine_redlock)},
      registered{"zookeeper", "zk", "crosslock::zookeeper", linked(&crosslock_engine_zookeeper)},
      registered{"zookeeper", "zookeeper", "crosslock::zookeeper",
                 linked(&crosslock_engine_zookeeper)},
      registered{"etcd", "etcd", "crosslock::etcd", linked(&crosslock_engine_etcd)},
      registered{"etcd", "etcds", "crosslock::etcd", linked(&crosslock_engine_etcd)},
      registered{"mariadb", "mariadb", "crosslock::mariadb", linked(&crosslock_engine_mariadb)},
      registered{"mariadb", "mysql", "crosslock::mariadb", linked(&crosslock_engine_mariadb)},
      registered{"postgres", "postgresql", "crosslock::postgres",
                 linked(&crosslock_engine_postgres)},
      registered{"postgres", "postgres", "crosslock::postgres", linked(&crosslock_engine_postgres)},
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

factory find_factory(const registered& row) {
  if (row.open != nullptr) return row.open;
  const loader load = load_engine.load();
  return load == nullptr ? nullptr : load(row.engine);
}

std::unique_ptr<engine> open_engine(const opening& opening) {
  const auto rows = registry();
  const auto row = std::ranges::find(rows, opening.url.scheme, &registered::scheme);
  if (row == rows.end()) refuse_scheme(opening.url.scheme);
  const factory open = find_factory(*row);
  if (open == nullptr) {
    const std::string name{row->engine};
    throw error{errc::unsupported,
                "the engine '" + name + "' is not in this program: link " +
                    std::string{row->library} + " (or install libcrosslock-" + name +
                    " where engines are loaded at run time)",
                {.engine = name}};
  }
  return open(opening);
}

}  // namespace crosslock::seam
