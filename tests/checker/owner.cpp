// I6. A release or renewal under receipts that were never given must be refused; one that comes
// after a conflicting successor must be refused too; and neither may take the lock from who has it.
#include "checker/rules.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace crosslock::checker {
namespace {

/// Somebody was given the lock, in conflict with g, after g and before `when`. While g is believed
/// that is a matter of exclusion, unless the server had forgotten g.
const grant* successor(const timeline& line, const grant& g, instant when) {
  const auto found = line.by_lock.find(g.lock());
  const auto& grants = found->second;
  const auto later =
      std::upper_bound(grants.begin(), grants.end(), g.ok,
                       [&](instant ok, std::size_t other) { return ok < line.grants[other].ok; });
  for (auto at = later; at != grants.end() && line.grants[*at].ok < when; ++at) {
    const grant& other = line.grants[*at];
    const bool g_was_over = g.end() <= other.ok || line.state_lost_between(g, other);
    if (g_was_over && other.token() > g.token() && conflict(g.at_its_end(), other.about)) {
      return &other;
    }
  }
  return nullptr;
}

bool outcome_was_unknown(const timeline& line, const event& about) {
  return std::any_of(line.acquires.begin(), line.acquires.end(), [&](const acquire_call& c) {
    return c.outcome != phase::ok && c.outcome != phase::fail && !about.req.empty() &&
           c.about.req == about.req && c.about.lock == about.lock;
  });
}

/// The server may have come back to a state in which `g` holds the lock.
bool went_back(const timeline& line, const grant& g, instant from, instant to) {
  return std::any_of(line.faults.begin(), line.faults.end(), [&](const fault_span& f) {
    return f.kind == fault::rollback && concerns(f, g.lock()) && from <= f.from && f.from <= to;
  });
}

std::string verb(const attempt& a) { return a.about.f == action::rel ? "release" : "renewal"; }

void check_accepted(const timeline& line, const attempt& a, report& to) {
  if (a.of_grant == none) {
    if (!outcome_was_unknown(line, a.about)) {
      to.add(invariant::owner,
             "a " + verb(a) + " with " + describe(a.about) +
                 " was accepted though it was never granted to it",
             a.inv_event, a.end_event);
    }
    return;
  }
  const grant& g = line.grants[a.of_grant];
  for (const std::size_t i : g.attempts) {
    const attempt& earlier = line.attempts[i];
    const bool both = a.about.f == action::rel && earlier.about.f == action::rel;
    if (both && earlier.outcome == phase::ok && earlier.inv_event < a.inv_event) {
      to.add(invariant::owner, describe(g.about) + " was released twice, and both were accepted",
             earlier.end_event, a.end_event);
      return;
    }
  }
  // A pass within the process asks no server, which may have forgotten g meanwhile.
  const bool asked = a.about.f == action::rel && line.events[a.end_event].err != passed_on;
  const grant* const next = asked ? successor(line, g, a.inv) : nullptr;
  if (next != nullptr && !went_back(line, g, next->based_on(), a.end)) {
    to.add(invariant::owner,
           "a late release of " + describe(g.about) + " was accepted though " +
               describe(next->about) + " had been granted",
           next->ok_event, a.end_event);
  }
}

/// Can it be that `a` was carried out on the server while g was the holder, without any right?
/// A release that overlaps the grant of g may be the very one that let g in, unless the lease of
/// what it released was over by then.
bool stale(const timeline& line, const attempt& a, const grant& g) {
  const bool answered = a.outcome == phase::ok || a.outcome == phase::fail;
  if (a.about.f != action::rel || a.about.lock != g.lock() || (answered && a.end < g.ok)) {
    return false;
  }
  if (a.of_grant == none) {
    return true;
  }
  const grant& own = line.grants[a.of_grant];
  const std::int64_t deadline = own.steps.back().deadline;
  return own.token() < g.token() && conflict(own.at_its_end(), g.about) &&
         (a.inv > g.ok || (deadline != 0 && deadline <= g.ok.t));
}

/// Nothing but a stale release explains why `g` ended in the middle of its lease.
void blame(const timeline& line, const grant& g, instant ended, std::size_t shown, report& to) {
  if (line.fault_between(g.based_on(), ended, g.lock())) {
    return;
  }
  for (const attempt& a : line.attempts) {
    if (a.inv <= ended && stale(line, a, g)) {
      to.add(invariant::owner,
             "a release with " + describe(a.about) + " took the lock from " + describe(g.about),
             a.inv_event, shown);
      return;
    }
  }
}

/// The holder's own client had put an end to it, whatever its lease: nobody took it away.
bool ended_at_home(const timeline& line, const grant& g, instant by) {
  return std::any_of(g.losses.begin(), g.losses.end(), [&](const auto& told) {
    const std::string& why = line.events[told.second].err;
    return told.first <= by && (why == "max_hold" || why == "closed");
  });
}

void check_refused(const timeline& line, const attempt& a, report& to) {
  if (a.of_grant == none || a.about.f != action::rel) {
    return;
  }
  const grant& g = line.grants[a.of_grant];
  const std::int64_t deadline = g.steps.back().deadline;
  const bool still_held = g.ended_by == end_cause::released && g.end() == a.inv &&
                          (deadline == 0 || a.end.t < deadline) && !ended_at_home(line, g, a.end);
  if (still_held) {
    to.add(invariant::owner, "a release by the holder of " + describe(g.about) + " was refused",
           g.ok_event, a.end_event);
  }
}

/// A loss whose reason lies with the holder itself, as its own notice says: nobody took it away.
bool ended_by_itself(const event& lost) {
  constexpr std::array<std::string_view, 4> own{"expired", "lease_ended", "max_hold", "closed"};
  return std::find(own.begin(), own.end(), lost.err) != own.end();
}

}  // namespace

void check_owner(const timeline& line, const std::vector<overlap>& overlaps, report& to) {
  for (const attempt& a : line.attempts) {
    if (a.outcome == phase::ok) {
      check_accepted(line, a, to);
    } else if (a.outcome == phase::fail && to.how().owner_never_refused) {
      check_refused(line, a, to);
    }
  }
  for (const overlap& o : overlaps) {
    const grant& second = line.grants[o.second];
    blame(line, line.grants[o.first], second.ok, second.ok_event, to);
  }
  for (const grant& g : line.grants) {
    if (g.ended_by == end_cause::lost) {
      const auto& [when, where] = g.losses.front();
      const std::int64_t deadline = g.steps.back().deadline;
      const bool early = deadline == 0 || when.t < deadline - to.how().loss_slack.count();
      if (early && !ended_by_itself(line.events[where])) {
        blame(line, g, when, where, to);
      }
    }
  }
}

}  // namespace crosslock::checker
