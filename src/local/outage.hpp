// What a wait knows of a server that fails it, and what follows from that: pure, and shared by all
// that waits, for a lock or for a cell.
#pragma once

#include <crosslock/error.hpp>
#include <crosslock/time.hpp>

#include <algorithm>
#include <optional>

namespace crosslock::inner {

/// The requests of a wait that have failed since the server answered last.
struct outage {
  int failures = 0;
  time_point since{};        ///< the first of them
  bool only_silence = true;  ///< nobody has said anything: no request got an answer in time
  std::optional<error> last{};

  void note_failure(const error& why, time_point now) {
    if (failures++ == 0) since = now;
    only_silence = only_silence && why.which() == errc::timed_out;
    last = why;
  }
};

/// How long failures are borne that another try may get over: so many tries, and for so long.
struct endurance {
  int tries = 0;
  duration time{};
};

/// `came`: since when it concerns whoever asks, if that is later.
inline bool endures(const outage& trouble, const endurance& limit, time_point now,
                    time_point came = time_point::min()) {
  if (!trouble.last->retryable()) return false;
  return trouble.failures <= limit.tries || now - std::max(trouble.since, came) < limit.time;
}

/// At the end of a wait that began to ask at `began` and got no answer: whether that was an outage,
/// which must not look like contention. Silence that is shorter than a request may take proves
/// nothing.
inline bool is_outage(const outage& trouble, time_point began, time_point now, duration timeout) {
  if (trouble.failures == 0) return false;
  return !trouble.only_silence || now - began >= timeout;
}

}  // namespace crosslock::inner
