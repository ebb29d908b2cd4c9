// `sqlite:PATH` with the options `sync=normal|full` and `mkdir=yes`.
#include "engine/registry.hpp"
#include "engine/url_values.hpp"
#include "engines/sqlite/engine.hpp"
#include "engines/sqlite/file_system.hpp"

#include <filesystem>
#include <system_error>

namespace crosslock::sqlite {
namespace {

durability take_durability(seam::url& url) {
  const auto given = url.take("sync");
  if (!given || *given == "normal") return durability::normal;
  if (*given == "full") return durability::full;
  throw make_error(errc::invalid_url, "the option sync is neither normal nor full");
}

/// One database has one path, however it is named: the files beside it are found by it. Also when
/// it is named by a link, and not made yet.
std::string one_path(const std::string& path) {
  std::filesystem::path whole = std::filesystem::absolute(path);
  std::error_code wrong;
  for (int links = 0; links < 40; ++links) {
    auto known = std::filesystem::weakly_canonical(whole, wrong);
    if (wrong) break;
    whole = std::move(known);
    const auto target = std::filesystem::read_symlink(whole, wrong);
    if (wrong) break;  // as it mostly is: no link
    whole = whole.parent_path() / target;
  }
  return whole.string();
}

std::unique_ptr<seam::engine> open_sqlite(const seam::opening& opening) {
  seam::url& url = opening.url;
  if (!url.hosts.empty() || !url.user.empty() || url.password) {
    throw make_error(errc::invalid_url,
                     "the URL names no host: sqlite:relative.db or sqlite:///absolute.db");
  }
  if (url.path.empty() || url.path.back() == '/') {
    throw make_error(errc::invalid_url,
                     "the URL names no file: sqlite:relative.db or sqlite:///absolute.db");
  }
  database_location there{.path = {}, .keeps = take_durability(url)};
  const bool make = seam::take_bool(url, "mkdir").value_or(false);
  seam::refuse_leftovers(url);
  if (make) make_directories(url.path);
  there.path = one_path(url.path);
  require_fit_location(there.path);
  return std::make_unique<engine>(there, identity{opening.who, opening.process}, opening.events,
                                  opening.clock);
}

}  // namespace
}  // namespace crosslock::sqlite

CROSSLOCK_EXPORT_ENGINE(sqlite, crosslock::sqlite::open_sqlite, crosslock::sqlite::offered);
