// One pass over the events by time pairs calls with their answers and hangs releases, renewals and
// losses on the grant with the same lock, token and req; then the beliefs are computed.
#include "checker/timeline.hpp"

#include <algorithm>
#include <set>

namespace crosslock::checker {
namespace {

class builder {
 public:
  builder(timeline& out, bool ties_in_order) : out_{out}, ties_in_order_{ties_in_order} {}

  void run() {
    for (std::size_t i = 0; i < out_.events.size(); ++i) {
      take(i);
    }
    close_open_faults();
    resolve_unknown();
    for (grant& g : out_.grants) {
      mark_killed(g);
      believe(g);
    }
  }

 private:
  using call_key = std::tuple<action, std::int32_t, std::int32_t, std::string, std::string>;

  instant at(std::size_t i) const { return {out_.events[i].t, ties_in_order_ ? i + 1 : 0}; }

  // A claim has its own req, so its answer may come on another thread; without req it may not.
  static call_key key_of(const event& e) {
    return {e.f, e.proc, e.req.empty() ? e.thr : 0, e.lock, e.req};
  }

  void malformed(std::string what, std::size_t i) {
    out_.malformed.emplace_back(std::move(what), i);
  }

  void take(std::size_t i) {
    const event& e = out_.events[i];
    if (e.kind == fault::stutter) {
      out_.stutters.push_back({e.kind, e.proc, e.lock, at(i), never});
    } else if (e.kind == fault::steady) {
      end_stutter(i);
    } else if (e.kind == fault::stall) {
      out_.stalls.push_back({e.kind, e.proc, e.lock, {e.sent, 0}, at(i)});
    } else if (e.ph == phase::nemesis) {
      take_fault(i);
    } else if (e.ph == phase::shown) {
      out_.shown[e.lock].push_back(i);
    } else if (e.ph == phase::lost) {
      take_loss(i);
    } else if (e.f == action::acq) {
      take_acquire(i);
    } else if (e.f == action::rel || e.f == action::renew) {
      take_attempt(i);
    } else if (e.f == action::downgrade) {
      take_downgrade(i);
    } else if (e.f == action::reenter && e.ph == phase::ok) {
      out_.reentries.emplace_back(i, find_grant(e));
    } else if (e.f == action::withdraw && e.ph == phase::ok) {
      withdrawn_.emplace(e.lock, e.req);
    }
  }

  static void finish(call& c, const event& e, instant when, std::size_t i) {
    c.end = when;
    c.outcome = e.ph;
    c.end_event = i;
  }

  void take_acquire(std::size_t i) {
    const event& e = out_.events[i];
    const call_key key = key_of(e);
    const auto open = open_.find(key);
    if (e.ph == phase::inv) {
      if (open != open_.end()) {
        malformed("an acquire is invoked again before its answer", i);
      }
      acquire_call c;
      c.inv = at(i);
      c.inv_event = i;
      c.about = e;
      open_[key] = out_.acquires.size();
      out_.acquires.push_back(std::move(c));
    } else if (open == open_.end()) {
      malformed("an answer to an acquire that was never invoked", i);
    } else if (e.ph == phase::queued) {
      out_.acquires[open->second].queued = at(i);
    } else {
      acquire_call& c = out_.acquires[open->second];
      finish(c, e, at(i), i);
      open_.erase(open);
      if (e.ph == phase::ok) {
        give(i, c.inv);
      }
    }
  }

  void give(std::size_t i, instant inv) {
    const event& e = out_.events[i];
    auto& same_token = by_token_[{e.lock, e.token}];
    for (const std::size_t known : same_token) {
      grant& g = out_.grants[known];
      if (!e.req.empty() && g.about.req == e.req && g.about.proc == e.proc) {
        g.steps.push_back({at(i), e.deadline, i});  // an idempotent retry: the same grant
        return;
      }
    }
    grant g;
    g.about = e;
    g.inv = inv;
    g.ok = at(i);
    g.ok_event = i;
    g.steps.push_back({at(i), e.deadline, i});
    same_token.push_back(out_.grants.size());
    out_.by_lock[e.lock].push_back(out_.grants.size());
    out_.grants.push_back(std::move(g));
  }

  std::size_t find_grant(const event& e) const {
    const auto found = by_token_.find({e.lock, e.token});
    if (found == by_token_.end()) {
      return none;
    }
    for (auto known = found->second.rbegin(); known != found->second.rend(); ++known) {
      const event& g = out_.grants[*known].about;
      if (e.req.empty() || g.req.empty() ? g.proc == e.proc : g.req == e.req) {
        return *known;
      }
    }
    return none;
  }

  void take_attempt(std::size_t i) {
    const event& e = out_.events[i];
    const call_key key = key_of(e);
    const auto open = open_.find(key);
    if (e.ph == phase::inv) {
      attempt a;
      a.inv = at(i);
      a.inv_event = i;
      a.about = e;
      a.of_grant = find_grant(e);
      if (a.of_grant != none) {
        out_.grants[a.of_grant].attempts.push_back(out_.attempts.size());
      }
      open_[key] = out_.attempts.size();
      out_.attempts.push_back(std::move(a));
    } else if (open == open_.end()) {
      malformed("an answer to a release or renewal that was never invoked", i);
    } else {
      attempt& a = out_.attempts[open->second];
      finish(a, e, at(i), i);
      open_.erase(open);
      if (e.f == action::renew && e.ph == phase::ok && a.of_grant != none) {
        out_.grants[a.of_grant].steps.push_back({at(i), e.deadline, i});
      }
    }
  }

  void take_downgrade(std::size_t i) {
    const std::size_t g = find_grant(out_.events[i]);
    if (g == none || out_.grants[g].about.mode != claim_mode::exclusive) {
      malformed("a downgrade of what was never granted exclusively", i);
    } else if (!out_.grants[g].downgraded) {
      out_.grants[g].downgraded = at(i);
    }
  }

  void take_loss(std::size_t i) {
    const std::size_t g = find_grant(out_.events[i]);
    if (g == none) {
      out_.strange_losses.push_back(i);
    } else {
      out_.grants[g].losses.emplace_back(at(i), i);
    }
  }

  void end_stutter(std::size_t i) {
    const auto last =
        std::find_if(out_.stutters.rbegin(), out_.stutters.rend(),
                     [&](const fault_span& each) { return each.proc == out_.events[i].proc; });
    if (last != out_.stutters.rend()) last->to = at(i);
  }

  void take_fault(std::size_t i) {
    const event& e = out_.events[i];
    const auto repair = [&](fault of) {
      for (fault_span& f : out_.faults) {
        const bool meant = e.proc == event::nobody || f.proc == e.proc;
        if (f.kind == of && f.to == never && meant) {
          f.to = at(i);
        }
      }
    };
    switch (e.kind) {
      case fault::thaw:
        repair(fault::pause);
        break;
      case fault::server_up:
        repair(fault::server_down);
        break;
      case fault::heal:
        repair(fault::partition);
        break;
      default:
        break;
    }
    const bool lasts =
        e.kind == fault::pause || e.kind == fault::server_down || e.kind == fault::partition;
    out_.faults.push_back({e.kind, e.proc, e.lock, at(i), lasts ? never : at(i)});
    if (e.kind == fault::kill) {
      killed_[e.proc].push_back(at(i));
    }
  }

  // A stopped process that is killed needs no thaw any more.
  void close_open_faults() {
    for (fault_span& f : out_.faults) {
      const auto killed = killed_.find(f.proc);
      if (f.kind == fault::pause && f.to == never && killed != killed_.end()) {
        f.to = std::max(f.from, killed->second.back());
      }
    }
  }

  void resolve_unknown() {
    std::map<std::pair<std::string, std::string>, instant> taken_up;
    for (const grant& g : out_.grants) {
      taken_up[{g.lock(), g.about.req}] = g.ok;
    }
    for (acquire_call& c : out_.acquires) {
      const auto key = std::pair{c.about.lock, c.about.req};
      const auto found = taken_up.find(key);
      c.resolved = c.outcome == phase::ok || c.outcome == phase::fail || withdrawn_.contains(key) ||
                   (found != taken_up.end() && found->second > c.inv);
    }
  }

  void mark_killed(grant& g) const {
    const auto found = killed_.find(g.about.proc);
    if (found == killed_.end()) {
      return;
    }
    for (const instant when : found->second) {
      if (when >= g.inv) {
        g.killed = std::max(when, g.ok);
        return;
      }
    }
  }

  /// The first event that ends the grant whatever its deadline.
  std::pair<instant, end_cause> stopped(const grant& g) const {
    std::pair<instant, end_cause> first{never, end_cause::open};
    const auto consider = [&](instant when, end_cause why) {
      if (when < first.first) {
        first = {when, why};
      }
    };
    for (const std::size_t i : g.attempts) {
      if (out_.attempts[i].about.f == action::rel) {
        consider(out_.attempts[i].inv, end_cause::released);
      }
    }
    if (!g.losses.empty()) {
      consider(g.losses.front().first, end_cause::lost);
    }
    if (g.killed) {
      consider(*g.killed, end_cause::killed);
    }
    return first;
  }

  void believe(grant& g) const {
    const auto [stop, why] = stopped(g);
    const auto ends_at = [](std::int64_t deadline) {
      return deadline == 0 ? never : instant{deadline, 0};
    };
    const auto add = [&](instant from, instant to, bool by_deadline) {
      const instant shared_from = g.downgraded.value_or(never);
      if (from < shared_from && shared_from < to) {
        g.beliefs.push_back({from, shared_from, claim_mode::exclusive});
        from = shared_from;
      }
      if (by_deadline ? from < to : from <= to) {
        g.beliefs.push_back({from, to, shared_from <= from ? claim_mode::shared : g.about.mode});
      }
    };
    instant from = g.ok;
    instant until = ends_at(g.steps.front().deadline);
    for (const deadline_step& s : g.steps) {
      if (s.at >= stop) {
        break;
      }
      if (s.at.t > until.t) {
        add(from, until, true);
        from = s.at;
      }
      until = ends_at(s.deadline);
    }
    const bool by_deadline = until < stop;
    g.ended_by = by_deadline ? end_cause::deadline : why;
    add(from, by_deadline ? until : stop, by_deadline);
  }

  timeline& out_;
  const bool ties_in_order_;
  std::map<call_key, std::size_t> open_;
  std::map<std::pair<std::string, std::int64_t>, std::vector<std::size_t>> by_token_;
  std::map<std::int32_t, std::vector<instant>> killed_;
  std::set<std::pair<std::string, std::string>> withdrawn_;
};

}  // namespace

timeline::timeline(history given, bool ties_in_order) : events{merge({std::move(given)})} {
  builder{*this, ties_in_order}.run();
}

instant timeline::end() const {
  return events.empty() ? instant{} : instant{events.back().t, never.order};
}

}  // namespace crosslock::checker
