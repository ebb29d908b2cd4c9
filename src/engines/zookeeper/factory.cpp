// `zk://`, `zookeeper://`: an ensemble of ZooKeeper servers.
#include "engine/registry.hpp"
#include "engine/url_values.hpp"
#include "engines/zookeeper/engine.hpp"

#include <chrono>

namespace crosslock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr duration session_by_default = 10s;
constexpr duration tick_by_default = 2s;
/// What the wire has room for, in milliseconds.
constexpr duration session_longest = 24h;

/// One of two words.
bool take_second(seam::url& url, std::string_view name, std::string_view first,
                 std::string_view second) {
  const auto said = url.take(name);
  if (!said || *said == first) return false;
  if (*said == second) return true;
  throw make_error(errc::invalid_url, "the parameter '" + std::string{name} + "' is neither '" +
                                          std::string{first} + "' nor '" + std::string{second} +
                                          "'");
}

std::string read_root(const std::string& path) {
  std::string root = path;
  while (root.ends_with('/')) root.pop_back();
  for (std::string_view rest = root; !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view segment = rest.substr(0, rest.find('/'));
    const bool of_the_server = segment == "zookeeper" && rest.data() == root.data() + 1;
    if (segment.empty() || segment == "." || segment == ".." || of_the_server) {
      throw make_error(errc::invalid_url, "the path '" + path +
                                              "' cannot be a chroot: it has an empty segment, "
                                              "'.' or '..', or is ZooKeeper's own");
    }
    rest.remove_prefix(segment.size());
  }
  return root;
}

connection_settings read_settings(const seam::opening& opening) {
  seam::url& url = opening.url;
  seam::require_hosts(url);
  connection_settings how;
  for (const seam::url::host& each : url.hosts) {
    if (!how.hosts.empty()) how.hosts += ',';
    const bool v6 = each.name.find(':') != std::string::npos;
    how.hosts += v6 ? '[' + each.name + ']' : each.name;
    how.hosts += ':' + std::to_string(each.port.value_or(2181));
  }
  how.root = read_root(url.path);
  how.shown = "zk://" + how.hosts + how.root;
  how.user = url.user;
  how.password = url.password.value_or("");
  if (how.user.empty() && url.password) {
    throw make_error(errc::invalid_url, "a password without a user: zk://user:password@host");
  }
  if (how.user.find(':') != std::string::npos) {
    throw make_error(errc::invalid_url, "the user's name has a colon");
  }
  how.tick = seam::take_duration(url, "tick").value_or(tick_by_default);
  const auto in_url = seam::take_duration(url, "session");
  how.session = in_url.value_or(opening.lease.value_or(session_by_default));
  if (how.tick < 1ms || how.tick > 1h) {
    throw make_error(errc::invalid_url, "the parameter 'tick' must be between 1ms and 1h");
  }
  if (how.session < 4 * how.tick || how.session > session_longest) {
    const std::string what = in_url || !opening.lease
                                 ? "a session of "
                                 : "the lease is that of the session here, and one of ";
    throw make_error(in_url || !opening.lease ? errc::invalid_url : errc::invalid_lease,
                     what + std::to_string(how.session / 1ms) +
                         " ms does not do: it must last four ticks of " +
                         std::to_string(how.tick / 1ms) +
                         " ms at least, and 24 h at most; choose another one, or say tick= if the "
                         "servers' tickTime is not that");
  }
  return how;
}

std::unique_ptr<seam::engine> open_zookeeper(const seam::opening& opening) {
  connection_settings where = read_settings(opening);
  const preferences how{.names = take_second(opening.url, "naming", "curator", "kazoo")
                                     ? naming::kazoo
                                     : naming::curator,
                        .single = take_second(opening.url, "strategy", "line", "single")};
  seam::refuse_leftovers(opening.url);
  return std::make_unique<engine>(std::move(where), how, opening.who, opening.timeout,
                                  opening.events, opening.clock, opening.log);
}

}  // namespace
}  // namespace crosslock::zookeeper

CROSSLOCK_EXPORT_ENGINE(zookeeper, crosslock::zookeeper::open_zookeeper,
                        crosslock::zookeeper::offered);
