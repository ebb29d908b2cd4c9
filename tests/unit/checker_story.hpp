// Histories told in a few words, for the tests of the checker. Times are milliseconds.
#pragma once

#include "checker/invariants.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <set>
#include <string>

namespace crosslock::checker {

inline void PrintTo(invariant which, std::ostream* out) { *out << to_string(which); }

/// One lock, "stock", unless said otherwise. The req of a claim is "r" and its token, unless given.
class story {
 public:
  static constexpr std::int64_t ms = 1'000'000;

  static event blank(int proc, std::int64_t t, phase ph, action f, std::int64_t token) {
    event e;
    e.t = t * ms;
    e.proc = proc;
    e.ph = ph;
    e.f = f;
    e.lock = "stock";
    e.token = token;
    e.req = "r" + std::to_string(token);
    return e;
  }

  story& put(event e) {
    events.push_back(std::move(e));
    return *this;
  }

  /// Shapes the claims that follow.
  story& exclusive() { return shape(claim_mode::exclusive, 1, 1); }
  story& shared() { return shape(claim_mode::shared, 1, 1); }
  story& permits(int k, int n) { return shape(claim_mode::permit, k, n); }
  story& on(std::string lock) {
    lock_ = std::move(lock);
    return *this;
  }

  story& asks(int proc, std::int64_t t, std::int64_t token) {
    event e = shaped(proc, t, phase::inv, action::acq, token);
    e.token = 0;
    return put(std::move(e));
  }
  story& queued(int proc, std::int64_t t, std::int64_t token) {
    event e = shaped(proc, t, phase::queued, action::acq, token);
    e.token = 0;
    return put(std::move(e));
  }
  story& granted(int proc, std::int64_t t, std::int64_t token, std::int64_t deadline = 0) {
    event e = shaped(proc, t, phase::ok, action::acq, token);
    e.deadline = deadline * ms;
    return put(std::move(e));
  }
  story& answered(int proc, std::int64_t t, phase ph, std::int64_t token) {
    event e = shaped(proc, t, ph, action::acq, token);
    e.token = 0;
    return put(std::move(e));
  }
  /// An acquire that is granted.
  story& holds(int proc, std::int64_t inv, std::int64_t ok, std::int64_t token,
               std::int64_t deadline = 0) {
    return asks(proc, inv, token).granted(proc, ok, token, deadline);
  }
  story& releases(int proc, std::int64_t inv, std::int64_t end, std::int64_t token,
                  phase outcome = phase::ok) {
    return put(shaped(proc, inv, phase::inv, action::rel, token))
        .put(shaped(proc, end, outcome, action::rel, token));
  }
  story& renews(int proc, std::int64_t inv, std::int64_t end, std::int64_t token,
                std::int64_t deadline, phase outcome = phase::ok) {
    put(shaped(proc, inv, phase::inv, action::renew, token));
    event e = shaped(proc, end, outcome, action::renew, token);
    e.deadline = deadline * ms;
    return put(std::move(e));
  }
  /// From an exclusive hold to a shared one.
  story& downgrades(int proc, std::int64_t inv, std::int64_t end, std::int64_t token) {
    return put(shaped(proc, inv, phase::inv, action::downgrade, token))
        .put(shaped(proc, end, phase::ok, action::downgrade, token));
  }
  story& lost(int proc, std::int64_t t, std::int64_t token) {
    return put(shaped(proc, t, phase::lost, action::none, token));
  }
  story& writes(int proc, std::int64_t t, std::int64_t token, phase outcome = phase::fence_ok) {
    return put(shaped(proc, t, outcome, action::write, token));
  }
  story& counts(int proc, std::int64_t t, std::int64_t token, std::int64_t value) {
    event e = shaped(proc, t, phase::fence_ok, action::write, token);
    e.value = value;
    return put(std::move(e));
  }
  story& ends_at_value(std::int64_t t, std::int64_t value) {
    event e = shaped(event::nobody, t, phase::ok, action::final, 0);
    e.value = value;
    return put(std::move(e));
  }
  story& nemesis(std::int64_t t, fault kind, int proc = event::nobody, std::string lock = {}) {
    event e;
    e.t = t * ms;
    e.proc = proc;
    e.ph = phase::nemesis;
    e.kind = kind;
    e.lock = std::move(lock);
    return put(std::move(e));
  }

  story& stalls(std::int64_t from, std::int64_t to, int proc) {
    nemesis(to, fault::stall, proc);
    events.back().sent = from * ms;
    return *this;
  }

  history events;

 private:
  story& shape(claim_mode mode, int k, int n) {
    mode_ = mode;
    k_ = k;
    n_ = n;
    return *this;
  }

  event shaped(int proc, std::int64_t t, phase ph, action f, std::int64_t token) const {
    event e = blank(proc, t, ph, f, token);
    e.lock = lock_;
    e.mode = mode_;
    e.permits = k_;
    e.of = n_;
    return e;
  }

  std::string lock_ = "stock";
  claim_mode mode_ = claim_mode::exclusive;
  int k_ = 1;
  int n_ = 1;
};

inline void expect_kept(const story& told, const check_options& how = {}) {
  const verdict v = check(told.events, how);
  EXPECT_TRUE(v.kept()) << v.to_string();
}

/// Exactly these invariants, and no other.
inline void expect_broken(const story& told, const std::set<invariant>& which,
                          const check_options& how = {}) {
  const verdict v = check(told.events, how);
  EXPECT_EQ(v.broken(), which) << v.to_string();
}

}  // namespace crosslock::checker
