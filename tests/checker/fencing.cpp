// I2 and I5: both ask whether somebody who came later may have the smaller number. Calls are walked
// in the order of their beginning, with the running maximum of those that had ended by then.
#include "checker/rules.hpp"

#include <algorithm>

namespace crosslock::checker {

void conflict_max::raise(std::optional<seen_value>& to, const seen_value& with) {
  if (!to || to->value < with.value) {
    to = with;
  }
}

void conflict_max::enter(const event& claim, std::int64_t value, std::size_t id) {
  const seen_value e{value, id};
  switch (claim.mode) {
    case claim_mode::exclusive:
      raise(exclusive_, e);
      break;
    case claim_mode::shared:
      raise(shared_, e);
      break;
    case claim_mode::permit: {
      const auto [at, added] = permits_.try_emplace(claim.permits, e);
      if (!added && at->second.value < value) {
        at->second = e;
      }
      break;
    }
  }
}

std::optional<conflict_max::seen_value> conflict_max::against(const event& claim) const {
  std::optional<seen_value> best = exclusive_;
  if (claim.mode == claim_mode::exclusive && shared_) {
    raise(best, *shared_);
  }
  const bool any_permit = claim.mode == claim_mode::exclusive;
  if (any_permit || claim.mode == claim_mode::permit) {
    const auto from =
        any_permit ? permits_.begin() : permits_.upper_bound(claim.of - claim.permits);
    for (auto at = from; at != permits_.end(); ++at) {
      raise(best, at->second);
    }
  }
  return best;
}

namespace {

using sort_key = std::pair<instant, int>;

sort_key asked(const grant& g) { return {g.based_on(), 0}; }
sort_key answered(const grant& g) { return {g.ok, 0}; }
/// Of two grants at the same moment, the one that was given back at once came first.
sort_key granted_at(const grant& g) { return {g.ok, g.end() == g.ok ? 0 : 1}; }

/// Larger tokens for conflicting grants that came later: that began when others were done.
void check_rising(const timeline& line, const std::vector<std::size_t>& grants,
                  sort_key (*done)(const grant&), sort_key (*begin)(const grant&),
                  const std::string& why, report& to) {
  const auto sorted = [&](sort_key (*by)(const grant&)) {
    std::vector<std::size_t> order = grants;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return by(line.grants[a]) < by(line.grants[b]);
    });
    return order;
  };
  const std::vector<std::size_t> by_done = sorted(done);
  conflict_max before;
  auto next = by_done.begin();
  for (const std::size_t i : sorted(begin)) {
    const grant& g = line.grants[i];
    for (; next != by_done.end() && done(line.grants[*next]) < begin(g); ++next) {
      before.enter(line.grants[*next].about, line.grants[*next].token(), *next);
    }
    const auto most = before.against(g.about);
    if (most && most->value >= g.token()) {
      const grant& earlier = line.grants[most->id];
      to.add(invariant::fencing,
             describe(g.about) + " is not larger than " + describe(earlier.about) + ", " + why,
             earlier.ok_event, g.ok_event);
    }
  }
}

void check_unique(const timeline& line, const std::vector<std::size_t>& grants, report& to) {
  std::map<std::int64_t, std::size_t> seen;
  for (const std::size_t i : grants) {
    const grant& g = line.grants[i];
    if (g.token() <= 0) {
      to.add(invariant::fencing, describe(g.about) + " is not positive", g.ok_event);
      continue;
    }
    const auto [at, fresh] = seen.try_emplace(g.token(), i);
    const grant& other = line.grants[at->second];
    if (!fresh) {
      to.add(invariant::fencing,
             describe(g.about) + " was given before to " + describe(other.about), other.ok_event,
             g.ok_event);
    }
  }
}

}  // namespace

void check_fencing(const timeline& line, report& to) {
  for (const auto& [lock, grants] : line.by_lock) {
    check_unique(line, grants, to);
    if (to.how().tokens_in_grant_order) {
      check_rising(line, grants, granted_at, granted_at, "which was granted before it", to);
    } else {
      check_rising(line, grants, answered, asked, "which was granted before it was asked for", to);
    }
  }
  for (const auto& [where, g] : line.reentries) {
    if (g == none || line.grants[g].about.proc != line.events[where].proc) {
      to.add(invariant::fencing, "a re-entry came back with a token that its process does not hold",
             where);
    }
  }
}

void check_fifo(const timeline& line, report& to) {
  if (to.how().fifo == fifo_scope::off) {
    return;
  }
  // A retry after an unknown outcome takes up the place that its first try may have got.
  std::map<std::pair<std::string, std::string>, instant> first_try;
  const auto first_asked = [&](const acquire_call& c) {
    const auto asked = first_try.try_emplace({c.about.lock, c.about.req}, c.inv).first->second;
    return c.about.req.empty() ? c.inv : asked;
  };
  std::map<std::string, std::vector<std::size_t>> judged;
  std::map<std::string, std::vector<std::size_t>> in_line;
  for (std::size_t i = 0; i < line.acquires.size(); ++i) {
    const acquire_call& c = line.acquires[i];
    first_asked(c);
    if (c.outcome == phase::ok && (c.queued || to.how().fifo == fifo_scope::every_call)) {
      judged[c.about.lock].push_back(i);
    }
    // One who gave up, died, or could not hear its turn may be overtaken.
    const auto hindered = [&](const fault_span& f) {
      return (f.proc == c.about.proc || f.proc == event::nobody) && concerns(f, c.about.lock) &&
             f.from <= c.end && c.inv <= f.to;
    };
    const bool waits = c.outcome == phase::ok || c.outcome == phase::inv;
    if (c.queued && waits && std::none_of(line.faults.begin(), line.faults.end(), hindered)) {
      in_line[c.about.lock].push_back(i);
    }
  }
  for (auto& [lock, later] : judged) {
    std::vector<std::size_t>& queue = in_line[lock];
    std::sort(queue.begin(), queue.end(), [&](std::size_t a, std::size_t b) {
      return *line.acquires[a].queued < *line.acquires[b].queued;
    });
    conflict_max ahead;
    auto next = queue.begin();
    std::stable_sort(later.begin(), later.end(), [&](std::size_t a, std::size_t b) {
      return first_asked(line.acquires[a]) < first_asked(line.acquires[b]);
    });
    for (const std::size_t i : later) {
      const acquire_call& b = line.acquires[i];
      for (; next != queue.end() && *line.acquires[*next].queued < first_asked(b); ++next) {
        ahead.enter(line.acquires[*next].about, line.acquires[*next].end.t, *next);
      }
      const auto slowest = ahead.against(b.about);
      if (slowest && slowest->value > b.end.t) {
        const acquire_call& a = line.acquires[slowest->id];
        to.add(invariant::fifo,
               "process " + std::to_string(b.about.proc) + " was granted before process " +
                   std::to_string(a.about.proc) + ", which stood in line before it asked",
               a.inv_event, b.end_event);
      }
    }
  }
}

}  // namespace crosslock::checker
