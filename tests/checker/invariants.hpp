// Judges a history: which promises did the run keep?
//
//   verdict v = check(book.events(), {.fifo = fifo_scope::server_claims});
//   EXPECT_TRUE(v.kept()) << v.to_string();
//   EXPECT_GT(v.expected_overlaps, 0);
//
// | invariant | says |
// |---|---|
// | record | the history itself makes sense: every answer has its call |
// | I1 exclusion | conflicting holders never believe at the same time |
// | I2 fencing | a later conflicting grant has a larger token; no two grants have the same |
// | I3 resource | the resource takes tokens in rising order and refuses only older ones |
// | I4 wake-up | a lock that is free is soon given to who waits for it |
// | I5 fifo | who stands in line first is served first (optional) |
// | I6 owner | only the owner releases or renews; a late release frees no successor |
// | I7 loss | the end of a hold is told exactly once and in time, and is the end |
// | I8 orphan | an acquire of unknown outcome is taken up with the same token, or is soon gone |
// | I10 deadline | deadlines count from before the send, never go back, lie ahead at the grant |
// | I12 counter | no increment made under the lock is missing at the end |
// | I13 phantom | whoever holds was the holder by the server's own state, where somebody looked |
//
// A grant is *believed* from the answer until the first of: its deadline, the call of its own
// release, the notice of loss, the death of its process.
#pragma once

#include "checker/history.hpp"

#include <crosslock/time.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::checker {

enum class invariant {
  record,
  exclusion,
  fencing,
  resource,
  wake_up,
  fifo,
  owner,
  loss,
  orphan,
  deadline,
  counter,
  phantom,
};

/// "I1 exclusion" and so on.
std::string_view to_string(invariant which) noexcept;

enum class fifo_scope {
  off,
  server_claims,  ///< claims with a `queued` event: a pass within a process may overtake
  every_call,     ///< strict_fifo: nobody overtakes a claim in line
};

struct check_options {
  /// I4: how long a free lock may leave a waiter waiting ...
  duration calm_bound = std::chrono::seconds{1};
  /// ... and how long after a hold ended by death, loss or expiry, and after any fault.
  duration after_fault_bound = std::chrono::seconds{5};
  /// I7: how late the notice may come; also by how much the record of a renewal may be late.
  duration loss_slack{};
  duration thaw_slack = std::chrono::milliseconds{50};
  /// I10: a grant must be good for longer than this when it is given.
  duration min_validity{};
  fifo_scope fifo = fifo_scope::off;
  /// I3: the run must contain a refused stale write, or else the fault did not bite.
  bool need_stale_write = false;
  /// One recorder saw everything and only one thread ran at a time (the simulation): then events
  /// of equal time happened in the order of their recording. Otherwise they are concurrent.
  bool ties_in_order = false;
  /// I2: tokens rise in the order of the answers, even between calls that overlap. Holds for every
  /// run in which no server lost state.
  bool tokens_in_grant_order = false;
  /// I6: a release that is refused during the hold is a fault. Not so where a lost answer may
  /// have made the client release twice.
  bool owner_never_refused = false;
  std::size_t violations_max = 100;  ///< for each invariant
};

struct violation {
  invariant which;
  std::string what;             ///< one sentence
  std::optional<event> first;   ///< the earlier of the grants (or calls) involved ...
  std::optional<event> second;  ///< ... and the later one
  history context;              ///< two seconds around it: the same lock, and all faults
};

struct verdict {
  std::vector<violation> violations;
  /// Overlaps that I1 excuses, because the server lost state after the first grant.
  std::size_t expected_overlaps = 0;
  duration longest_expected_overlap{};
  /// I4: the longest that somebody waited for a free lock, with excuses and without.
  duration longest_wait_while_free{};
  std::size_t grants = 0;
  std::size_t losses = 0;
  std::size_t stale_writes_refused = 0;
  /// I13: how many grants the server's own state has confirmed.
  std::size_t confirmed = 0;

  bool kept() const noexcept { return violations.empty(); }
  std::set<invariant> broken() const;
  /// For people: every violation with its grants and context, then the counts.
  std::string to_string() const;
};

/// Accepts events in any order.
verdict check(history events, const check_options& how = {});
/// The same for the files that the processes of a run have left.
verdict check_files(std::span<const std::filesystem::path> files, const check_options& how = {});

}  // namespace crosslock::checker
