// I3 and I12: what the protected resource took, refused, and has at the end.
#include "checker/rules.hpp"

#include <algorithm>

namespace crosslock::checker {
namespace {

/// A write as seen by who made it; as a single moment when the resource itself recorded it.
struct write {
  std::int64_t from;
  std::int64_t to;
  std::int64_t token;
  phase outcome;
  std::size_t at;  ///< the event to show
};

using writes_by_lock = std::map<std::string, std::vector<write>>;

writes_by_lock collect(const timeline& line) {
  writes_by_lock all;
  std::map<std::tuple<std::string, std::int32_t, std::int32_t, std::string>, std::size_t> open;
  for (std::size_t i = 0; i < line.events.size(); ++i) {
    const event& e = line.events[i];
    if (e.f != action::write) {
      continue;
    }
    auto& writes = all[e.lock];
    const auto key = std::tuple{e.lock, e.proc, e.thr, e.req};
    const auto begun = open.find(key);
    if (e.ph == phase::inv) {
      open[key] = writes.size();
      writes.push_back({e.t, never.t, e.token, phase::info, i});
    } else if (begun != open.end()) {
      write& w = writes[begun->second];
      w.to = e.ph == phase::info ? never.t : e.t;
      w.outcome = e.ph;
      w.at = i;
      open.erase(begun);
    } else {
      writes.push_back({e.t, e.ph == phase::info ? never.t : e.t, e.token, e.ph, i});
    }
  }
  return all;
}

/// Accepted tokens never fall. Moments of equal time keep the order of their recording.
void check_accepted(const std::vector<write>& writes, report& to) {
  std::vector<const write*> by_end;
  for (const write& w : writes) {
    if (w.outcome == phase::fence_ok) {
      by_end.push_back(&w);
    }
  }
  std::vector<const write*> by_begin = by_end;
  std::stable_sort(by_end.begin(), by_end.end(),
                   [](const write* a, const write* b) { return a->to < b->to; });
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [](const write* a, const write* b) { return a->from < b->from; });
  const write* most = nullptr;
  auto next = by_end.begin();
  for (const write* w : by_begin) {
    for (; next != by_end.end() && (*next)->to < w->from; ++next) {
      most = most == nullptr || most->token < (*next)->token ? *next : most;
    }
    if (most != nullptr && most->token > w->token) {
      to.add(invariant::resource,
             "a write with token " + std::to_string(w->token) + " was accepted after one with " +
                 std::to_string(most->token),
             most->at, w->at);
    }
  }
}

/// Only superseded tokens are refused: a larger one must have been shown before.
void check_refused(const std::vector<write>& writes, report& to) {
  std::vector<const write*> by_begin;
  std::vector<const write*> refused;
  for (const write& w : writes) {
    (w.outcome == phase::fence_rej ? refused : by_begin).push_back(&w);
  }
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [](const write* a, const write* b) { return a->from < b->from; });
  std::stable_sort(refused.begin(), refused.end(),
                   [](const write* a, const write* b) { return a->to < b->to; });
  std::int64_t most = 0;
  auto next = by_begin.begin();
  for (const write* w : refused) {
    for (; next != by_begin.end() && (*next)->from <= w->to; ++next) {
      most = std::max(most, (*next)->token);
    }
    if (most > w->token) {
      ++to.out().stale_writes_refused;
    } else {
      to.add(invariant::resource,
             "a write with token " + std::to_string(w->token) +
                 " was refused though no larger one had been shown",
             w->at);
    }
  }
}

/// Two increments that wrote the same value: one of them is gone.
void check_values(const timeline& line, const std::vector<write>& writes, report& to) {
  std::map<std::int64_t, std::size_t> seen;
  for (const write& w : writes) {
    const event& e = line.events[w.at];
    if ((w.outcome != phase::fence_ok && w.outcome != phase::ok) || !e.value) {
      continue;
    }
    const auto [at, fresh] = seen.try_emplace(*e.value, w.at);
    if (!fresh) {
      to.add(invariant::counter,
             "two increments both wrote " + std::to_string(*e.value) + ": one is lost", at->second,
             w.at);
    }
  }
}

}  // namespace

void check_resource(const timeline& line, report& to) {
  for (const auto& [lock, writes] : collect(line)) {
    check_accepted(writes, to);
    check_refused(writes, to);
  }
  if (to.how().need_stale_write && to.out().stale_writes_refused == 0) {
    to.add(invariant::resource,
           "no stale write was refused in the whole run: the fault did not bite", none);
  }
}

void check_counter(const timeline& line, report& to) {
  const writes_by_lock all = collect(line);
  for (const auto& [lock, writes] : all) {
    check_values(line, writes, to);
  }
  for (std::size_t i = 0; i < line.events.size(); ++i) {
    const event& e = line.events[i];
    if (e.f != action::final || !e.value) {
      continue;
    }
    std::int64_t acked = 0;
    std::int64_t unknown = 0;
    if (const auto found = all.find(e.lock); found != all.end()) {
      for (const write& w : found->second) {
        acked += w.outcome == phase::fence_ok || w.outcome == phase::ok ? 1 : 0;
        unknown += w.outcome == phase::info ? 1 : 0;
      }
    }
    if (*e.value < acked || *e.value > acked + unknown) {
      to.add(invariant::counter,
             "the counter ends at " + std::to_string(*e.value) + " after " + std::to_string(acked) +
                 " acknowledged increments and " + std::to_string(unknown) + " of unknown outcome",
             i);
    }
  }
}

}  // namespace crosslock::checker
