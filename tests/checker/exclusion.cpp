// I1. For each lock a sweep over the beginnings and ends of beliefs, ends before beginnings. A
// belief without length stands between the two: it clashes only with what goes on around it.
#include "checker/rules.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace crosslock::checker {
namespace {

class sweep {
 public:
  sweep(const timeline& line, report& to, std::vector<overlap>& found)
      : line_{line}, to_{to}, found_{found} {}

  void run(const std::vector<std::size_t>& grants) {
    std::vector<point> points;
    for (const std::size_t g : grants) {
      for (const belief& b : line_.grants[g].beliefs) {
        if (b.from == b.to) {
          points.push_back({b.from, what::moment, g, b.to, b.mode});
        } else {
          points.push_back({b.from, what::begin, g, b.to, b.mode});
          points.push_back({b.to, what::end, g, b.to, b.mode});
        }
      }
    }
    std::sort(points.begin(), points.end(), [](const point& a, const point& b) {
      return std::tie(a.at, a.is, a.grant) < std::tie(b.at, b.is, b.grant);
    });
    for (const point& p : points) {
      step(p);
    }
  }

 private:
  enum class what { end, moment, begin };
  struct point {
    instant at;
    what is;
    std::size_t grant;
    instant until;
    claim_mode mode;
  };

  void step(const point& p) {
    if (p.is == what::end) {
      active_.erase({p.at, p.grant, p.mode});
      count(p, -1);
      return;
    }
    clash_one_by_one(p);
    if (p.mode == claim_mode::permit) {
      clash_by_sum(p);
    }
    if (p.is == what::begin) {
      active_.insert({p.until, p.grant, p.mode});
      count(p, 1);
    }
  }

  void count(const point& p, std::int32_t by) {
    used_ += p.mode == claim_mode::permit ? by * line_.grants[p.grant].about.permits : 0;
    exclusives_ += p.mode == claim_mode::exclusive ? by : 0;
  }

  void clash_one_by_one(const point& p) {
    if (p.mode != claim_mode::exclusive && exclusives_ == 0) {
      return;
    }
    for (const auto& [until, other, mode] : active_) {
      if (p.mode == claim_mode::exclusive || mode == claim_mode::exclusive) {
        clash(other, p, until, "are held at the same time");
      }
    }
  }

  void clash_by_sum(const point& p) {
    std::int32_t room = line_.grants[p.grant].about.of;
    std::size_t other = none;
    instant until = p.until;
    for (const auto& [ends, g, mode] : active_) {
      const event& held = line_.grants[g].about;
      if (mode != claim_mode::permit) {
        continue;
      }
      room = std::min(room, held.of);
      until = std::min(until, ends);
      if (other == none || line_.grants[g].ok < line_.grants[other].ok) {
        other = g;
      }
    }
    const std::int32_t wanted = line_.grants[p.grant].about.permits;
    if (other != none && used_ + wanted > room) {
      clash(other, p, until,
            "are part of " + std::to_string(used_ + wanted) +
                " permits held at the same time, of " + std::to_string(room));
    }
  }

  void clash(std::size_t other, const point& p, instant until, const std::string& how) {
    const grant& first = line_.grants[other];
    const grant& second = line_.grants[p.grant];
    if (line_.state_lost_between(first, second)) {
      verdict& out = to_.out();
      ++out.expected_overlaps;
      const instant over = std::min({until, p.until, line_.end()});
      const duration length{std::max<std::int64_t>(over.t - p.at.t, 0)};
      out.longest_expected_overlap = std::max(out.longest_expected_overlap, length);
      return;
    }
    found_.push_back({other, p.grant});
    to_.add(invariant::exclusion,
            describe(first.about) + " and " + describe(second.about) + " " + how, first.ok_event,
            second.ok_event);
  }

  const timeline& line_;
  report& to_;
  std::vector<overlap>& found_;
  /// Until when, which grant, as what.
  std::set<std::tuple<instant, std::size_t, claim_mode>> active_;
  std::int32_t used_ = 0;        ///< permits
  std::int32_t exclusives_ = 0;  ///< those in active_
};

}  // namespace

std::vector<overlap> check_exclusion(const timeline& line, report& to) {
  std::vector<overlap> found;
  for (const auto& [lock, grants] : line.by_lock) {
    sweep{line, to, found}.run(grants);
  }
  return found;
}

}  // namespace crosslock::checker
