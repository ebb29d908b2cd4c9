// I7 and I10: a state machine for each grant.
#include "checker/rules.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace crosslock::checker {
namespace {

struct own_release {
  instant inv = never;
  instant done = never;  ///< when it was answered ok
};

class loss_rules {
 public:
  loss_rules(const timeline& line, report& to) : line_{line}, to_{to} {}

  void judge(const grant& g) {
    const own_release release = release_of(g);
    to_.out().losses += g.losses.empty() ? 0 : 1;
    if (g.losses.size() > 1) {
      add(g, "was told twice that it is lost", g.losses[1].second);
    }
    if (!g.losses.empty() && release.done < g.losses.front().first) {
      add(g, "was told of its loss after its ordinary release", g.losses.front().second);
    }
    judge_time(g, release);
    judge_resurrection(g);
  }

 private:
  void add(const grant& g, const std::string& what, std::size_t where) {
    to_.add(invariant::loss, describe(g.about) + " " + what, g.ok_event, where);
  }

  own_release release_of(const grant& g) const {
    own_release r;
    for (const std::size_t i : g.attempts) {
      const attempt& a = line_.attempts[i];
      if (a.about.f == action::rel) {
        r.inv = std::min(r.inv, a.inv);
        r.done = a.outcome == phase::ok ? std::min(r.done, a.end) : r.done;
      }
    }
    return r;
  }

  /// The latest time at which the notice is in time; counts the deadline that was in force then.
  std::int64_t latest_notice(const grant& g) const {
    const std::int64_t slack = to_.how().loss_slack.count();
    std::int64_t deadline = 0;
    for (const deadline_step& s : g.steps) {
      if (s.deadline == 0) {
        return never.t;
      }
      if (deadline != 0 && s.at.t > deadline + slack) {
        break;
      }
      deadline = s.deadline;
    }
    return latest_after(deadline, standstills(g));
  }

  /// When the process of `g` did not run, by the beginning. A process that the case itself starves
  /// must be in time all the same.
  std::vector<fault_span> standstills(const grant& g) const {
    std::vector<fault_span> found;
    const auto is_its = [&](const fault_span& f) {
      return f.proc == g.about.proc || f.proc == event::nobody;
    };
    for (const fault_span& f : line_.faults) {
      if (f.kind == fault::pause && is_its(f)) found.push_back(f);
    }
    if (std::none_of(line_.stutters.begin(), line_.stutters.end(), is_its)) {
      std::copy_if(line_.stalls.begin(), line_.stalls.end(), std::back_inserter(found), is_its);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const fault_span& a, const fault_span& b) { return a.from < b.from; });
    return found;
  }

  /// A process that was thawed has its slack anew; one that stalls does not use it up.
  std::int64_t latest_after(std::int64_t deadline,
                            const std::vector<fault_span>& standstills) const {
    std::int64_t counted_from = deadline;
    std::int64_t latest = deadline + to_.how().loss_slack.count();
    for (const fault_span& f : standstills) {
      if (f.from.t > latest) break;
      if (f.to == never) return never.t;
      if (f.kind == fault::pause) {
        latest = std::max(latest, f.to.t + to_.how().thaw_slack.count());
      } else {
        latest += std::max<std::int64_t>(0, f.to.t - std::max(f.from.t, counted_from));
      }
      counted_from = std::max(counted_from, f.to.t);
    }
    return latest;
  }

  void judge_time(const grant& g, const own_release& release) {
    const std::int64_t latest = latest_notice(g);
    const std::int64_t excused = std::min(release.inv.t, g.killed.value_or(never).t);
    if (excused <= latest) {
      return;
    }
    if (!g.losses.empty()) {
      if (g.losses.front().first.t > latest) {
        add(g, "was told of its loss " + seconds(g.losses.front().first.t - latest) + " too late",
            g.losses.front().second);
      }
    } else if (line_.end().t > latest) {
      add(g, "was never told of its loss", none);
    }
  }

  void judge_resurrection(const grant& g) {
    const instant told = g.losses.empty() ? never : g.losses.front().first;
    std::int64_t deadline = g.steps.front().deadline;
    for (const deadline_step& s : g.steps) {
      // A renewal that is noted behind the notice, and was over before it, brings nothing back.
      if (s.at > told && s.deadline > told.t) {
        add(g, "came back after it was told of its loss", s.by_event);
      } else if (s.at < told && deadline != 0 && s.at > g.ok &&
                 s.at.t > deadline + to_.how().loss_slack.count()) {
        add(g, "came back after its deadline", s.by_event);
      }
      deadline = s.deadline;
    }
    for (const std::size_t i : g.attempts) {
      const attempt& a = line_.attempts[i];
      if (a.about.f == action::rel && a.outcome == phase::ok && a.inv > told) {
        add(g, "was released as if it were held, after it was told of its loss", a.end_event);
      }
    }
  }

  const timeline& line_;
  report& to_;
};

/// How long the process of `g` stood still between `from` and the record of the grant. Spans may
/// overlap: a frozen process notes a stall as well.
std::int64_t frozen_since(std::int64_t from, const timeline& line, const grant& g) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const auto* kind : {&line.faults, &line.stutters, &line.stalls}) {
    for (const fault_span& f : *kind) {
      const bool froze =
          f.kind == fault::pause || f.kind == fault::stutter || f.kind == fault::stall;
      if (!froze || (f.proc != g.about.proc && f.proc != event::nobody)) continue;
      spans.emplace_back(f.from.t, std::min(f.to.t, g.ok.t));
    }
  }
  std::sort(spans.begin(), spans.end());
  std::int64_t sum = 0;
  for (const auto& [begin, end] : spans) {
    sum += std::max<std::int64_t>(0, end - std::max(begin, from));
    from = std::max(from, end);
  }
  return sum;
}

/// The library looked at the clock, found the grant good and returned it; then the process was
/// stopped before it could write that down. It must not have *run* for long since the deadline.
bool only_recorded_late(std::int64_t spent_since, const timeline& line, const grant& g,
                        const check_options& how) {
  const std::int64_t frozen = frozen_since(spent_since, line, g);
  return frozen > 0 && g.ok.t - spent_since - frozen <= how.thaw_slack.count();
}

void judge_deadlines(const timeline& line, const grant& g, report& to) {
  const auto add = [&](const std::string& what, std::size_t where) {
    to.add(invariant::deadline, describe(g.about) + " " + what, g.ok_event, where);
  };
  const std::int64_t first = g.steps.front().deadline;
  const std::int64_t spent_since = first - to.how().min_validity.count();
  const bool spent = first != 0 && spent_since <= g.ok.t;
  if (spent && !only_recorded_late(spent_since, line, g, to.how())) {
    add("was granted when its deadline had come", none);
  }
  std::int64_t before = 0;
  for (const deadline_step& s : g.steps) {
    const event& e = line.events[s.by_event];
    const std::int64_t sent = e.sent != 0 ? e.sent : e.t;
    if (e.lease != 0 && e.deadline > sent + e.lease) {
      add("has a deadline " + seconds(e.deadline - sent - e.lease) + " beyond its lease",
          s.by_event);
    }
    if (s.deadline != 0 && s.deadline < before) {
      add("has a deadline that went back by " + seconds(before - s.deadline), s.by_event);
    }
    before = s.deadline;
  }
}

}  // namespace

void check_loss(const timeline& line, report& to) {
  loss_rules rules{line, to};
  for (const grant& g : line.grants) {
    rules.judge(g);
  }
  for (const std::size_t i : line.strange_losses) {
    to.add(invariant::loss,
           "a loss was told of " + describe(line.events[i]) + ", which was never granted to it", i);
  }
  for (const auto& [where, g] : line.reentries) {
    if (g == none || line.grants[g].losses.empty()) {
      continue;
    }
    if (line.events[where].t > line.grants[g].losses.front().first.t) {
      to.add(invariant::loss, describe(line.events[where]) + " was re-entered after its loss",
             line.grants[g].ok_event, where);
    }
  }
}

void check_deadlines(const timeline& line, report& to) {
  for (const grant& g : line.grants) {
    judge_deadlines(line, g, to);
  }
}

}  // namespace crosslock::checker
