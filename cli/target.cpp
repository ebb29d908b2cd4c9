#include "cli/target.hpp"

#include "cli/command.hpp"
#include "cli/say.hpp"
#include "cli/times.hpp"
#include "client/opening.hpp"
#include "engine/url.hpp"

#include <algorithm>
#include <cstdlib>

namespace crosslock::cli {
namespace {

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

void choose_url(target& chosen, const target_flags& flags, const configuration& files) {
  if (flags.url) {
    chosen.url = *flags.url;
    chosen.source = "--url";
  } else if (is_set("CROSSLOCK_URL")) {
    chosen.url = std::getenv("CROSSLOCK_URL");
    chosen.source = "CROSSLOCK_URL";
  } else if (files.url) {
    chosen.url = files.url->value;
    chosen.source = files.url->where;
  } else if (is_set("XDG_STATE_HOME") || is_set("HOME")) {
    chosen.url = inner::default_url();
    chosen.source = "the default";
  } else {
    throw error{errc::invalid_url,
                "there is no home directory to keep locks in: say where, with --url (such as "
                "--url sqlite:///var/lib/jobs/locks.db) or CROSSLOCK_URL"};
  }
}

/// Who has the say about a lease or a prefix that no flag has given.
enum class source { library, environment, file };

seam::url parse_chosen(const target& chosen) {
  try {
    return seam::parse_url(chosen.url);
  } catch (const error& why) {
    throw error{why.which(), chosen.source + ": " + text_of(why)};
  }
}

/// A text that came from a file is at fault there.
duration configured_lease(const configured& lease) {
  try {
    return read_time("lease", lease.value);
  } catch (const usage_error& why) {
    throw error{errc::invalid_url, lease.where + ": " + why.what()};
  }
}

}  // namespace

void offer_target(command_words& words, target_flags& flags) {
  words.add_option("--url", flags.url, "Where locks are kept (see man crosslock)");
  words.add_option("--prefix", flags.prefix, "Put before every name");
}

void offer_lease(command_words& words, target_flags& flags) {
  words.add_option("--lease", flags.lease,
                   "How long the lock outlives a holder that vanished: 30s");
}

std::string target::shown() const { return seam::parse_url(url).redacted(); }

target find_target(const target_flags& flags, const configuration& files) {
  target chosen;
  choose_url(chosen, flags, files);
  const seam::url parsed = parse_chosen(chosen);
  const bool from_file = files.url && chosen.source == files.url->where;
  const auto choose = [&](std::string_view name, const char* variable,
                          const std::optional<configured>& line) {
    const bool in_url = std::any_of(parsed.parameters.begin(), parsed.parameters.end(),
                                    [&](const auto& each) { return each.first == name; });
    // What the library finds by itself, in the URL or in the environment, is not said again.
    if (is_set(variable)) return in_url && from_file ? source::environment : source::library;
    if (!line) return source::library;
    return !in_url || (from_file && line->order > files.url->order) ? source::file
                                                                    : source::library;
  };
  const source lease = choose("lease", "CROSSLOCK_LEASE", files.lease);
  if (flags.lease) {
    chosen.how.lease = read_time("--lease", *flags.lease);
  } else if (lease == source::environment) {
    chosen.how.lease = read_time("CROSSLOCK_LEASE", std::getenv("CROSSLOCK_LEASE"));
  } else if (lease == source::file) {
    chosen.how.lease = configured_lease(*files.lease);
  }
  const source prefix = choose("prefix", "CROSSLOCK_PREFIX", files.prefix);
  if (flags.prefix) {
    chosen.how.prefix = *flags.prefix;
  } else if (prefix == source::environment) {
    chosen.how.prefix = std::getenv("CROSSLOCK_PREFIX");
  } else if (prefix == source::file) {
    chosen.how.prefix = files.prefix->value;
  }
  return chosen;
}

target find_target(const target_flags& flags) {
  return find_target(flags, read_configuration(configuration_files()));
}

}  // namespace crosslock::cli
