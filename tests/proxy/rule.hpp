// What may happen to a message on its way, and to which.
//
//   door.add({.going = way::to_client, .matches = is_answer_to("EVALSHA"), .skip = 2,
//             .what = fate::hold()});      // the answer to the third script
#pragma once

#include <crosslock/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::proxy {

enum class way { to_server, to_client };

/// One whole message, as the framing tells it from the next.
struct sighting {
  way going = way::to_server;
  int link = 0;               ///< which connection, in the order of their coming
  std::uint64_t number = 0;   ///< requests: its place on this connection, from 1; answers: that of
                              ///< the request it answers; pushes: among the pushes
  bool push = false;          ///< no answer to anything: the server speaks for itself
  bool subscription = false;  ///< the connection is one for pushes
  /// Of a request, or of the request that is answered, or of the push itself.
  const std::vector<std::string>& words;
  std::string_view bytes;
};

/// TCP keeps the order: what comes behind a message that is delayed, held or trickles waits too.
struct fate {
  enum class kind {
    pass,
    delay,      ///< arrives so much later, even if its sender has hung up meanwhile
    hold,       ///< until door::release()
    drop,       ///< vanishes alone: only a push can do so without confusing the stream
    mute,       ///< vanishes, with everything behind it; the connection stays open
    reset,      ///< vanishes, and both sides see their connection reset
    cut_after,  ///< so many bytes of it arrive, then both sides see their connection reset
    trickle,    ///< byte for byte, with a pause before each
    replay,     ///< a request: carried out twice; its sender hears of the first time only
  };

  static fate pass() { return {kind::pass}; }
  static fate delay(duration by) { return {kind::delay, by}; }
  static fate hold() { return {kind::hold}; }
  static fate drop() { return {kind::drop}; }
  static fate mute() { return {kind::mute}; }
  static fate reset() { return {kind::reset}; }
  static fate cut_after(std::size_t bytes) { return {kind::cut_after, {}, bytes}; }
  static fate trickle(duration pause) { return {kind::trickle, pause}; }
  static fate replay() { return {kind::replay}; }

  kind is = kind::pass;
  duration by{};
  std::size_t bytes = 0;
};

struct rule {
  static constexpr std::uint64_t always = std::numeric_limits<std::uint64_t>::max();

  way going = way::to_server;
  /// Runs on the proxy's thread and must not call it; empty: every message.
  std::function<bool(const sighting&)> matches{};
  std::uint64_t skip = 0;   ///< so many that match pass first
  std::uint64_t times = 1;  ///< so many have this fate then
  fate what{};
};

/// For what no rule decides: nothing lets it pass. Runs where rule::matches does.
using script = std::function<std::optional<fate>(const sighting&)>;

}  // namespace crosslock::proxy
