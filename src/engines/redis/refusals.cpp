// What a server says instead of an answer, and what that means for whoever asked.
#include "line_rules/refusals.hpp"
#include "engines/redis/protocol.hpp"

#include <algorithm>
#include <array>

namespace crosslock::redis {
namespace {

struct meaning {
  std::string_view begins;
  errc code;
  std::string_view what_to_do;  ///< appended to what the server said
};

/// Retryable ones (`unreachable`) may be over when the same call is made again.
constexpr std::array meanings{
    meaning{"LOADING", errc::unreachable, "; it is reading its data, try again soon"},
    meaning{"READONLY", errc::unreachable, "; this is a replica: name the primary"},
    meaning{"MASTERDOWN", errc::unreachable, "; this is a replica: name the primary"},
    meaning{"OOM", errc::unreachable, "; raise maxmemory or remove data"},
    meaning{"MISCONF", errc::unreachable, "; it cannot write to its disk: make room there"},
    meaning{"NOREPLICAS", errc::unreachable, "; see min-replicas-to-write"},
    meaning{"BUSY", errc::unreachable, "; somebody's script runs for too long: SCRIPT KILL"},
    meaning{"TRYAGAIN", errc::unreachable, ""},
    meaning{"CLUSTERDOWN", errc::unreachable, ""},
    meaning{"ERR max number of clients", errc::unreachable, "; raise maxclients"},
    meaning{"NOAUTH", errc::denied, "; give user and password in the URL"},
    meaning{"WRONGPASS", errc::denied, "; user or password are wrong"},
    meaning{"ERR invalid password", errc::denied, "; the password is wrong"},
    meaning{"ERR AUTH", errc::denied, "; this server expects no password"},
    meaning{"ERR Client sent AUTH", errc::denied, "; this server expects no password"},
    meaning{"NOPERM", errc::denied, "; see docs/engines/redis.md for the rights that are needed"},
    meaning{"ERR The user executing the script", errc::denied,
            "; see docs/engines/redis.md for the rights that are needed"},
    meaning{"DENIED", errc::denied, ""},
    meaning{"WRONGTYPE", errc::conflict, "; one of the keys beside the lock is somebody else's"},
    meaning{"MOVED", errc::unsupported, "; Redis Cluster is not supported yet"},
    meaning{"ASK ", errc::unsupported, "; Redis Cluster is not supported yet"},
    meaning{"CROSSSLOT", errc::unsupported, "; Redis Cluster is not supported yet"},
    meaning{"ERR DB index", errc::invalid_url, "; choose another database number in the URL"},
    meaning{"ERR invalid DB index", errc::invalid_url, "; choose another database number"},
};

/// Our scripts' own refusals: `CROSSLOCK word more`.
error refusal_of_ours(std::string_view words, std::string_view name) {
  const std::size_t space = words.find(' ');
  const std::string_view what = words.substr(0, space);
  const std::string_view more = space == words.npos ? "" : words.substr(space + 1);
  const auto say = [](const seam::refusal& no) { return make_error(no.code, no.text); };
  if (what == "fence_exhausted") return say(seam::fence_exhausted(name));
  if (what == "queue_full") return say(seam::queue_full(name, more));
  if (what == "another_mode") return say(seam::another_mode(name));
  if (what == "upgrade_conflict") return say(seam::upgrade_conflict(name));
  if (what == "another_kind") return say(seam::another_kind(name, more == "semaphore"));
  if (what == "permits") {
    return make_error(errc::conflict, "'" + std::string{name} + "': cannot give so many permits");
  }
  if (what == "semaphore_of") {
    const std::size_t between = more.find(' ');
    const std::string_view wanted = between == more.npos ? "so many" : more.substr(between + 1);
    return say(seam::semaphore_of(name, more.substr(0, between), wanted));
  }
  return make_error(errc::protocol, "a script said '" + std::string{words} + "'");
}

/// A script that fails is told with where it failed; what counts is the server's own word.
std::string_view own_words(std::string_view failure) noexcept {
  const std::size_t end = failure.find(" script: ");
  return failure.substr(0, end);
}

}  // namespace

error error_in(std::string_view failure, std::string_view server, std::string_view name) {
  constexpr std::string_view ours = "CROSSLOCK ";
  const std::string_view said = own_words(failure);
  if (said.starts_with(ours)) return refusal_of_ours(said.substr(ours.size()), name);
  const auto known = std::ranges::find_if(
      meanings, [&](const meaning& one) { return failure.starts_with(one.begins); });
  const errc code = known == meanings.end() ? errc::protocol : known->code;
  std::string text{server};
  text += " says '";
  text += said;
  text += '\'';
  if (!name.empty()) text += " to a request about '" + std::string{name} + "'";
  if (known != meanings.end()) text += known->what_to_do;
  return make_error(code, text);
}

std::string keeps(std::string_view kind) {
  if (kind == "zset") return "a sorted set there, as Symfony's lock does";
  if (kind == "hash") return "a hash there, as Redisson's locks do";
  if (kind == "other") return "a key of another type there";
  return "a " + std::string{kind} + " there";
}

bool script_unknown(const reply& answer) noexcept {
  return answer.failed() && answer.failure().starts_with("NOSCRIPT");
}

bool needs_new_connection(std::string_view failure) noexcept {
  return failure.starts_with("READONLY") || failure.starts_with("MASTERDOWN") ||
         failure.starts_with("NOAUTH");
}

}  // namespace crosslock::redis
