// I8. After an acquire of unknown outcome the same logical process may only take it up under the
// same req, where it must find the same token, or withdraw it. How long what it may have left
// behind blocks the others is measured in wake_up.cpp.
#include "checker/rules.hpp"

#include <set>

namespace crosslock::checker {
namespace {

using caller = std::tuple<std::int32_t, std::int32_t, std::string>;  // proc, thr, lock
using claim = std::pair<std::string, std::string>;                   // lock, req

class follower {
 public:
  follower(const timeline& line, report& to) : line_{line}, to_{to} {}

  void take(std::size_t i) {
    const event& e = line_.events[i];
    if (e.f == action::withdraw) {
      withdrawn_.emplace(e.lock, e.req);
      tokens_.erase({e.lock, e.req});
    } else if (e.f == action::acq && e.ph == phase::inv) {
      invoked(i);
    } else if (e.f == action::acq && e.ph == phase::info) {
      pending_[{e.proc, e.thr, e.lock}] = i;
      if (e.token != 0) {
        tokens_[{e.lock, e.req}] = i;
      }
    } else if (e.f == action::acq && (e.ph == phase::ok || e.ph == phase::fail)) {
      answered(i);
    }
  }

 private:
  void invoked(std::size_t i) {
    const event& e = line_.events[i];
    const auto unknown = pending_.find({e.proc, e.thr, e.lock});
    if (unknown == pending_.end()) {
      return;
    }
    const std::string& req = line_.events[unknown->second].req;
    if (req != e.req && !withdrawn_.contains({e.lock, req})) {
      to_.add(invariant::orphan,
              "process " + std::to_string(e.proc) + " (thread " + std::to_string(e.thr) +
                  ") asked under a new id though its acquire of unknown outcome was not withdrawn",
              unknown->second, i);
    }
    pending_.erase(unknown);
  }

  void answered(std::size_t i) {
    const event& e = line_.events[i];
    const auto known = tokens_.find({e.lock, e.req});
    if (known == tokens_.end()) {
      return;
    }
    if (e.ph == phase::ok && line_.events[known->second].token != e.token) {
      to_.add(invariant::orphan,
              describe(e) + " came to a retry whose first try had been given token " +
                  std::to_string(line_.events[known->second].token),
              known->second, i);
    }
    tokens_.erase(known);
  }

  const timeline& line_;
  report& to_;
  std::map<caller, std::size_t> pending_;  ///< the info event of each
  std::set<claim> withdrawn_;              ///< by whomever
  std::map<claim, std::size_t> tokens_;    ///< info events whose token was found out
};

}  // namespace

void check_orphans(const timeline& line, report& to) {
  follower f{line, to};
  for (std::size_t i = 0; i < line.events.size(); ++i) {
    f.take(i);
  }
}

}  // namespace crosslock::checker
