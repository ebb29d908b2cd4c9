// Precedence: what the program says, then the URL, then the environment, then the default.
#include "client/opening.hpp"

#include "engine/backoff.hpp"
#include "engine/owner_source.hpp"
#include "engine/url_values.hpp"
#include "keeper/guarded_observer.hpp"
#include "keeper/observed_engine.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace crosslock::inner {
namespace {

std::optional<std::string> from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value ? std::optional<std::string>{value} : std::nullopt;
}

/// user@host pid program: what others see when they ask who holds a lock.
std::string describe_this_process(const std::string& more) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  std::string who = found ? entry.pw_name : std::to_string(geteuid());
  who += '@';
  who += host.data();
  who += " pid " + std::to_string(getpid()) + ' ' + program_invocation_short_name;
  if (!more.empty()) who += " (" + more + ')';
  return who;
}

/// What anybody has said.
std::optional<duration> find_said(const std::optional<duration>& said, seam::url& url,
                                  const char* parameter, const char* variable) {
  const auto in_url = seam::take_duration(url, parameter);
  if (said || in_url) return said ? said : in_url;
  const auto text = variable ? from_environment(variable) : std::nullopt;
  if (!text) return std::nullopt;
  const auto in_environment = seam::parse_duration(*text);
  if (in_environment) return in_environment;
  throw error{errc::invalid_lease,
              std::string{variable} + " is '" + *text + "': expected a time such as 30s or 500ms"};
}

duration choose(const std::optional<duration>& said, seam::url& url, const char* parameter,
                duration otherwise) {
  return find_said(said, url, parameter, nullptr).value_or(otherwise);
}

void require_positive(const char* what, duration value) {
  if (value > duration::zero()) return;
  throw error{errc::invalid_lease, std::string{what} + " is " + std::to_string(value.count()) +
                                       " ns: it must be more than zero"};
}

void read_password_file(seam::url& url) {
  const auto path = from_environment("CROSSLOCK_PASSWORD_FILE");
  if (!path || url.password || !seam::asks_for_password(url)) return;
  std::ifstream file{*path};
  std::string password;
  if (!std::getline(file, password)) {
    throw error{errc::denied, "CROSSLOCK_PASSWORD_FILE: cannot read a line from '" + *path + "'"};
  }
  url.password = std::move(password);
}

bool take_unlock_waits(seam::url& url) {
  const auto said = url.take("unlock");
  if (!said || *said == "posts") return false;
  if (*said == "waits") return true;
  throw error{errc::invalid_url, "unlock: expected waits or posts"};
}

settings choose_settings(const options& options, seam::url& url) {
  const settings defaults;
  settings chosen;
  const auto lease = find_said(options.lease, url, "lease", "CROSSLOCK_LEASE");
  chosen.lease = lease.value_or(defaults.lease);
  chosen.lease_said = lease.has_value();
  chosen.timeout = choose(options.timeout, url, "timeout", defaults.timeout);
  chosen.max_hold = choose(options.max_hold, url, "max_hold", defaults.max_hold);
  chosen.look_every = choose(options.look_every, url, "look_every", defaults.look_every);
  require_positive("lease", chosen.lease);
  require_positive("timeout", chosen.timeout);
  require_positive("max_hold", chosen.max_hold);
  require_positive("look_every", chosen.look_every);
  // Longer than anybody waits; so that adding them to the time never overflows.
  constexpr duration day = std::chrono::hours{24};
  chosen.timeout = std::min(chosen.timeout, day);
  chosen.look_every = std::min(chosen.look_every, day);
  if (chosen.max_hold > 36500 * day) chosen.max_hold = duration::max();
  const auto prefix_in_url = url.take("prefix");
  chosen.prefix = options.prefix  ? *options.prefix
                  : prefix_in_url ? *prefix_in_url
                                  : from_environment("CROSSLOCK_PREFIX").value_or("");
  chosen.strict_fifo = options.strict_fifo;
  chosen.unlock_waits = take_unlock_waits(url) || options.unlock_waits;
  chosen.retry = options.retry;
  chosen.pass = options.pass;
  chosen.log = options.log;
  chosen.observer = guarded(options.observer);
  chosen.executor = options.executor;
  return chosen;
}

}  // namespace

opening_plan plan_opening(std::string_view text, const options& options) {
  seam::url url = seam::parse_url(text);
  settings chosen = choose_settings(options, url);
  read_password_file(url);
  auto open = [url, who = describe_this_process(options.who), process = options.process,
               timeout = chosen.timeout,
               lease = chosen.lease_said ? std::optional{chosen.lease} : std::nullopt,
               log = chosen.log](seam::engine_events& events, seam::clock& clock) {
    seam::url own = url;  // an engine takes its parameters out, and may be opened again
    return seam::open_engine({.url = own,
                              .who = who,
                              .process = process,
                              .timeout = timeout,
                              .lease = lease,
                              .events = events,
                              .clock = clock,
                              .log = log});
  };
  return {std::move(chosen), std::move(open)};
}

std::string default_url() {
  if (const auto url = from_environment("CROSSLOCK_URL")) return *url;
  const auto state = from_environment("XDG_STATE_HOME");
  const auto home = from_environment("HOME");
  // The default place is made when it is not there; a place that somebody names is not.
  constexpr const char* make = "?mkdir=yes";
  if (state) return seam::embedded_url(*state + "/crosslock/locks.db") + make;
  if (home) return seam::embedded_url(*home + "/.local/state/crosslock/locks.db") + make;
  throw error{errc::invalid_url,
              "no URL was given, CROSSLOCK_URL is not set, and without a home directory the "
              "embedded engine has no default place: name a URL such as " +
                  seam::embedded_url("/path/locks.db")};
}

std::unique_ptr<seam::engine> open_engine(const opening_plan& plan, seam::engine_events& events,
                                          seam::clock& clock) {
  seam::owner_source random{clock};
  std::unique_ptr<seam::engine> engine;
  for (int failures = 0; !engine; ++failures) {
    try {
      engine = plan.open(events, clock);
    } catch (const error& why) {
      const retry_options& retry = plan.settings.retry;
      if (!why.retryable() || failures >= retry.tries) throw;
      const auto pause =
          seam::retry_delay(retry, static_cast<std::uint64_t>(failures), random.draw_bits());
      seam::rest(clock, clock.now() + pause);
    }
  }
  if (plan.settings.observer) {
    engine = observe(std::move(engine), plan.settings.observer, clock);
  }
  return engine;
}

}  // namespace crosslock::inner
