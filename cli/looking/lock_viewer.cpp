#include "cli/looking/lock_viewer.hpp"

#include "cli/looking/kind.hpp"
#include "cli/signals.hpp"
#include "client/opening.hpp"
#include "engine/registry.hpp"
#include "engine/url.hpp"
#include "engine/url_values.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace crosslock::cli {
namespace {

void drop_internal(std::vector<lock_info>& locks) {
  std::erase_if(locks, [](const lock_info& each) { return kind_of(each.name).is_internal(); });
}

bool is_embedded(const seam::url& url) {
  return url.scheme == seam::parse_url(seam::embedded_url("/x")).scheme;
}

}  // namespace

lock_viewer::lock_viewer(const target_flags& where, bool internal)
    : target_{find_target(where)}, internal_{internal} {
  if (!internal_) return;
  // The library puts the prefix before the whole name, but an internal one has it inside.
  prefix_ = inner::plan_opening(target_.url, target_.how).settings.prefix;
  target_.how.prefix = "";
}

lock_viewer::~lock_viewer() {
  if (locks_) locks_->close();
}

/// A directory that is missing is an error, unless it would be made: it may be a slip of the pen.
bool lock_viewer::nothing_there() const {
  seam::url url = seam::parse_url(target_.url);
  if (!is_embedded(url) || url.path.empty() || url.path.back() == '/') return false;
  std::error_code wrong;
  const std::filesystem::path path = std::filesystem::absolute(url.path, wrong);
  if (std::filesystem::exists(path, wrong) || wrong) return false;
  const bool makes = seam::take_bool(url, "mkdir").value_or(false);
  return makes || std::filesystem::is_directory(path.parent_path(), wrong);
}

const client* lock_viewer::locks() {
  if (!locks_ && !nothing_there()) locks_ = connect(target_.url, target_.how);
  return locks_ ? &*locks_ : nullptr;
}

std::vector<lock_info> lock_viewer::list(std::string_view beginning) {
  const client* const there = locks();
  if (there == nullptr) return {};
  if (internal_) {
    std::vector<lock_info> all = there->list();
    // Two looks: what changes in between may be seen by neither, as with any look.
    for (lock_info& each : there->list("crosslock:{")) all.push_back(std::move(each));
    return within_prefix(std::move(all), prefix_, beginning);
  }
  std::vector<lock_info> found = there->list(beginning);
  drop_internal(found);
  return found;
}

lock_info lock_viewer::look(const lock_name& name) {
  const client* const there = locks();
  if (there == nullptr) return {.name = name.str(), .holders = {}, .line = {}};
  return there->look(name.view());
}

bool lock_viewer::break_lock(const lock_name& name, const owner_id& owner) {
  const client* const there = locks();
  return there != nullptr && there->break_lock(name.view(), owner);
}

std::vector<lock_info> within_prefix(std::vector<lock_info> all, std::string_view prefix,
                                     std::string_view beginning) {
  std::vector<lock_info> found;
  for (lock_info& each : all) {
    kind_and_name parts = kind_of(each.name);
    if (!parts.name.starts_with(prefix)) continue;
    parts.name.remove_prefix(prefix.size());
    if (!parts.name.starts_with(beginning)) continue;
    each.name = stored_name(parts);
    found.push_back(std::move(each));
  }
  std::ranges::sort(found, {}, &lock_info::name);
  return found;
}

void sleep_between_looks(duration interval) {
  using namespace std::chrono_literals;
  const time_point until = boot_clock::now() + interval;
  for (;;) {
    const duration left = until - boot_clock::now();
    if (left <= 0ms) return;
    pollfd output{STDOUT_FILENO, 0, 0};
    const auto rest = static_cast<int>(std::min<duration>(left, 1h) / 1ms) + 1;
    if (poll(&output, 1, rest) > 0) die_of(SIGPIPE);  // all there can be are errors
  }
}

}  // namespace crosslock::cli
