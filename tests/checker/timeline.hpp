// A history sorted out: calls, grants with their beliefs, attempts on them, and faults.
#pragma once

#include "checker/history.hpp"

#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace crosslock::checker {

/// A moment. `order` tells apart what happened at the same time, where that is known; else it is 0.
struct instant {
  std::int64_t t = 0;
  std::size_t order = 0;
  friend auto operator<=>(const instant&, const instant&) = default;
};

inline constexpr instant never{std::numeric_limits<std::int64_t>::max(),
                               std::numeric_limits<std::size_t>::max()};
inline constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

/// What all calls have in common.
struct call {
  instant inv;
  instant end = never;
  phase outcome = phase::inv;  ///< inv: still pending when the history ends
  std::size_t inv_event = none;
  std::size_t end_event = none;
};

struct acquire_call : call {
  event about;  ///< of the invocation
  std::optional<instant> queued;
  bool resolved = false;  ///< unknown outcome, but withdrawn or taken up by a later ok
};

/// A release or a renewal.
struct attempt : call {
  event about;
  std::size_t of_grant = none;  ///< none: nobody was ever granted it under this token and req
};

enum class end_cause { open, released, lost, killed, deadline };

/// Moves of the deadline; the first comes with the grant itself.
struct deadline_step {
  instant at;
  std::int64_t deadline;
  std::size_t by_event;
};

struct belief {
  instant from;
  instant to;
  claim_mode mode;
};

struct grant {
  event about;  ///< of the answer: lock, mode, permits, req, token, proc
  instant inv;
  instant ok;
  std::size_t ok_event = none;
  std::vector<deadline_step> steps;
  std::vector<std::size_t> attempts;                    ///< in the timeline
  std::vector<std::pair<instant, std::size_t>> losses;  ///< when, which event
  std::optional<instant> killed;
  std::optional<instant> downgraded;  ///< when that was called for
  std::vector<belief> beliefs;        ///< more than one only after a resurrection or a downgrade
  end_cause ended_by = end_cause::open;

  /// When the request left that the grant rests on. Earlier than the call when another thread of
  /// the process passed it on: what the server forgot since then, nobody there knows.
  instant based_on() const {
    const bool passed = about.sent != 0 && about.sent < inv.t;
    return passed ? instant{about.sent, 0} : inv;
  }
  instant end() const { return beliefs.empty() ? ok : beliefs.back().to; }
  /// What it stood for at its end: a downgraded one is in no reader's way any more.
  event at_its_end() const {
    event last = about;
    if (downgraded) last.mode = claim_mode::shared;
    return last;
  }
  const std::string& lock() const { return about.lock; }
  std::int64_t token() const { return about.token; }
};

/// From the fault to its repair; a fault that is over at once has both at the same time.
struct fault_span {
  fault kind;
  std::int32_t proc;
  std::string lock;
  instant from;
  instant to;
};

struct timeline {
  timeline(history events, bool ties_in_order);

  history events;  ///< by time
  std::vector<acquire_call> acquires;
  std::vector<attempt> attempts;
  std::vector<grant> grants;
  std::vector<fault_span> faults;
  std::vector<fault_span> stutters;  ///< kept apart: they excuse nothing but a late record
  std::vector<fault_span> stalls;    ///< kept apart: they excuse what a process is late with
  std::vector<std::pair<std::string, std::size_t>> malformed;  ///< what, which event
  std::vector<std::pair<std::size_t, std::size_t>> reentries;  ///< which event, which grant
  std::vector<std::size_t> strange_losses;                     ///< events without a grant
  std::map<std::string, std::vector<std::size_t>> by_lock;     ///< grants in order of their ok
  std::map<std::string, std::vector<std::size_t>> shown;       ///< events: the server's own state

  instant end() const;
  /// From `from` until `to`, both included; whoever the victim is.
  bool fault_between(instant from, instant to, const std::string& lock) const;
  /// The server may have forgotten one of them when it gave the other.
  bool state_lost_between(const grant& first, const grant& second) const;
};

/// Exclusive conflicts with all, shared with exclusive, permits when there are too few for both.
bool conflict(const event& a, const event& b);
/// Can make two holders: the reason to excuse an overlap.
bool loses_state(fault kind);
bool concerns(const fault_span& f, const std::string& lock);

}  // namespace crosslock::checker
