// I4. A sweep finds the stretches in which a lock is free for everybody who waits for it; a waiter
// that waits through one for longer than the bound was not woken. Faults that touch the stretch
// move the bound. What an acquire of unknown outcome still holds after that is I8.
#include "checker/rules.hpp"

#include <algorithm>
#include <set>

namespace crosslock::checker {
namespace {

struct span_of_time {
  std::int64_t from;
  std::int64_t to;
};

/// Somebody who could take the lock now, and during all of the span.
struct waiter : span_of_time {
  std::size_t acquire;
};

/// A reason for a late wake-up.
struct excuse : span_of_time {
  bool unknown_outcome;
};

/// A process that is stopped or cut off cannot take the lock.
bool hinders(const fault_span& f, std::int32_t proc) {
  return (f.kind == fault::pause || f.kind == fault::partition) && f.proc == proc;
}

void add_waiters(const timeline& line, std::size_t index, std::vector<waiter>& out) {
  const acquire_call& c = line.acquires[index];
  std::int64_t from = c.inv.t;
  std::int64_t to = std::min(c.end.t, line.end().t);
  std::vector<span_of_time> away;
  for (const fault_span& f : line.faults) {
    if (f.kind == fault::kill && f.proc == c.about.proc && f.from >= c.inv) {
      to = std::min(to, f.from.t);
    } else if (hinders(f, c.about.proc)) {
      away.push_back({f.from.t, f.to.t});
    }
  }
  std::sort(away.begin(), away.end(),
            [](const span_of_time& a, const span_of_time& b) { return a.from < b.from; });
  for (const span_of_time& gap : away) {
    if (from < std::min(gap.from, to)) {
      out.push_back({{from, std::min(gap.from, to)}, index});
    }
    from = std::max(from, gap.to);
  }
  if (from < to) {
    out.push_back({{from, to}, index});
  }
}

/// Counts who holds and who waits while time goes on.
class census {
 public:
  void hold(const event& about, claim_mode as, int by) {
    switch (as) {
      case claim_mode::exclusive:
        exclusive_held_ += by;
        break;
      case claim_mode::shared:
        shared_held_ += by;
        break;
      case claim_mode::permit:
        permits_held_ += by * about.permits;
        break;
    }
  }

  void wait(const event& about, int by) {
    waiting_ += by;
    if (about.mode == claim_mode::exclusive) {
      exclusive_waiting_ += by;
    } else if (about.mode == claim_mode::permit) {
      const int need = about.permits - about.of;
      if (by > 0) {
        needs_.insert(need);
      } else {
        needs_.erase(needs_.find(need));
      }
    }
  }

  /// Whoever is first in line could go in.
  bool idle() const {
    if (waiting_ == 0 || exclusive_held_ > 0) {
      return false;
    }
    if (exclusive_waiting_ > 0 && (shared_held_ > 0 || permits_held_ > 0)) {
      return false;
    }
    return needs_.empty() || permits_held_ + *needs_.rbegin() <= 0;
  }

 private:
  int exclusive_held_ = 0;
  int shared_held_ = 0;
  int permits_held_ = 0;
  int waiting_ = 0;
  int exclusive_waiting_ = 0;
  std::multiset<int> needs_;  ///< permits wanted less permits there are
};

std::vector<span_of_time> idle_stretches(const timeline& line, const std::vector<waiter>& waiters,
                                         const std::vector<std::size_t>& grants) {
  struct change {
    std::int64_t t;
    const event* about;
    claim_mode as;
    bool holds;
    int by;
  };
  std::vector<change> changes;
  for (const waiter& w : waiters) {
    const event& about = line.acquires[w.acquire].about;
    changes.push_back({w.from, &about, about.mode, false, 1});
    changes.push_back({w.to, &about, about.mode, false, -1});
  }
  for (const std::size_t g : grants) {
    for (const belief& b : line.grants[g].beliefs) {
      changes.push_back({b.from.t, &line.grants[g].about, b.mode, true, 1});
      changes.push_back({b.to.t, &line.grants[g].about, b.mode, true, -1});
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const change& a, const change& b) { return a.t < b.t; });
  census now;
  std::vector<span_of_time> idle;
  for (auto at = changes.begin(); at != changes.end();) {
    const std::int64_t t = at->t;
    bool granted = false;
    for (; at != changes.end() && at->t == t; ++at) {
      at->holds ? now.hold(*at->about, at->as, at->by) : now.wait(*at->about, at->by);
      granted = granted || (at->holds && at->by > 0 && at->as == claim_mode::exclusive);
    }
    const bool goes_on = !idle.empty() && idle.back().to == t && !granted;
    if (now.idle() && at != changes.end()) {
      if (goes_on) {
        idle.back().to = at->t;
      } else {
        idle.push_back({t, at->t});
      }
    }
  }
  return idle;
}

std::vector<excuse> excuses(const timeline& line, const std::string& lock,
                            const std::vector<std::size_t>& grants) {
  std::vector<excuse> all;
  for (const fault_span& f : line.faults) {
    // One stopped or cut-off process is no excuse while it lasts: the others must be served.
    const bool only_one =
        (f.kind == fault::pause || f.kind == fault::partition) && f.proc != event::nobody;
    if (concerns(f, lock)) {
      all.push_back({{f.from.t, only_one ? f.from.t : f.to.t}, false});
    }
  }
  for (const std::size_t i : grants) {
    const grant& g = line.grants[i];
    const bool given_back = std::any_of(g.attempts.begin(), g.attempts.end(), [&](std::size_t a) {
      return line.attempts[a].about.f == action::rel && line.attempts[a].outcome == phase::ok;
    });
    if (g.ended_by != end_cause::released || !given_back) {
      all.push_back({{g.end().t, g.end().t}, false});
    }
  }
  for (const acquire_call& c : line.acquires) {
    if (c.about.lock == lock && c.outcome == phase::info) {
      all.push_back({{c.inv.t, c.end.t}, !c.resolved});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const excuse& a, const excuse& b) { return a.from < b.from; });
  return all;
}

struct allowance {
  std::int64_t until;
  bool for_unknown_outcome;  ///< the last reason to wait longer
};

allowance allowed(std::int64_t from, const std::vector<excuse>& reasons, const check_options& how) {
  allowance a{from + how.calm_bound.count(), false};
  for (const excuse& e : reasons) {
    if (e.from > a.until) {
      break;
    }
    const std::int64_t over = e.to == never.t ? never.t : e.to + how.after_fault_bound.count();
    if (over > a.until) {
      a = {over, e.unknown_outcome};
    }
  }
  return a;
}

void check_lock(const timeline& line, const std::string& lock, const std::vector<waiter>& waiters,
                report& to) {
  const auto found = line.by_lock.find(lock);
  const std::vector<std::size_t> grants =
      found == line.by_lock.end() ? std::vector<std::size_t>{} : found->second;
  const std::vector<excuse> reasons = excuses(line, lock, grants);
  duration& longest = to.out().longest_wait_while_free;
  for (const span_of_time& idle : idle_stretches(line, waiters, grants)) {
    if (idle.to - idle.from <= std::min(longest, to.how().calm_bound).count()) {
      continue;
    }
    for (const waiter& w : waiters) {
      const std::int64_t from = std::max(idle.from, w.from);
      const std::int64_t until = std::min(idle.to, w.to);
      longest = std::max(longest, duration{until - from});
      const allowance most = allowed(from, reasons, to.how());
      if (until > from && until > most.until) {
        const acquire_call& c = line.acquires[w.acquire];
        to.add(most.for_unknown_outcome ? invariant::orphan : invariant::wake_up,
               "process " + std::to_string(c.about.proc) + " waited " + seconds(until - from) +
                   " for a lock that nobody held" +
                   (most.for_unknown_outcome ? ", after an acquire of unknown outcome" : ""),
               c.inv_event, c.end_event);
        break;
      }
    }
  }
}

}  // namespace

void check_wake_up(const timeline& line, report& to) {
  std::map<std::string, std::vector<waiter>> waiters;
  for (std::size_t i = 0; i < line.acquires.size(); ++i) {
    add_waiters(line, i, waiters[line.acquires[i].about.lock]);
  }
  for (const auto& [lock, some] : waiters) {
    check_lock(line, lock, some, to);
  }
}

}  // namespace crosslock::checker
