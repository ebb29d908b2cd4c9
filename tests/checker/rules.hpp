// The invariants one by one, and where they report. For the inside of the checker only.
#pragma once

#include "checker/invariants.hpp"
#include "checker/timeline.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::checker {

/// Collects violations; knows the timeline so that it can cut out the context.
class report {
 public:
  report(const timeline& line, const check_options& how, verdict& out)
      : line_{line}, how_{how}, out_{out} {}

  /// The events are those to show, by their index; none for no event.
  void add(invariant which, std::string what, std::size_t first, std::size_t second = none);

  const check_options& how() const noexcept { return how_; }
  verdict& out() noexcept { return out_; }

 private:
  history context_of(const event& about) const;

  const timeline& line_;
  const check_options& how_;
  verdict& out_;
  std::map<invariant, std::size_t> count_;
};

/// Two conflicting grants that were believed at the same time, without an excuse.
struct overlap {
  std::size_t first;
  std::size_t second;
};

std::vector<overlap> check_exclusion(const timeline& line, report& to);
void check_fencing(const timeline& line, report& to);
void check_resource(const timeline& line, report& to);
void check_counter(const timeline& line, report& to);
void check_wake_up(const timeline& line, report& to);
void check_fifo(const timeline& line, report& to);
void check_owner(const timeline& line, const std::vector<overlap>& overlaps, report& to);
void check_loss(const timeline& line, report& to);
void check_orphans(const timeline& line, report& to);
void check_deadlines(const timeline& line, report& to);
void check_phantoms(const timeline& line, report& to);

/// The largest value among those entered that conflict with a given claim.
class conflict_max {
 public:
  struct seen_value {
    std::int64_t value;
    std::size_t id;
  };

  void enter(const event& claim, std::int64_t value, std::size_t id);
  std::optional<seen_value> against(const event& claim) const;

 private:
  static void raise(std::optional<seen_value>& to, const seen_value& with);

  std::optional<seen_value> exclusive_;
  std::optional<seen_value> shared_;
  std::map<std::int32_t, seen_value> permits_;  ///< by how many were claimed
};

/// "token 7 of process 2 (thread 1)".
std::string describe(const event& e);
/// Nanoseconds as seconds with six digits.
std::string seconds(std::int64_t ns);

}  // namespace crosslock::checker
