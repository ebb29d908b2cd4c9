#include "session/watch_rule.hpp"

#include "line_rules/line_rule.hpp"

#include <algorithm>

namespace crosslock::session {
namespace {

bool exclusive(const seam::demand& one) noexcept { return one.mode == claim_mode::exclusive; }

}  // namespace

watch_decision look_ahead(const std::vector<member>& line, std::size_t index,
                          const seam::demand& own, std::optional<std::size_t> beside) {
  std::vector<seam::demand> demands;
  demands.reserve(index + 1);
  for (std::size_t i = 0; i < index; ++i) demands.push_back(line[i].demand);
  demands.push_back(own);
  watch_decision seen;
  const auto before = [&](std::size_t end) {
    return std::any_of(demands.begin(), demands.begin() + static_cast<std::ptrdiff_t>(end),
                       exclusive);
  };
  seen.upgrade_conflict = before(index);
  const seam::line_verdict verdict = seam::judge_claim(demands, index, beside);
  seen.granted = verdict.granted;
  if (seen.granted) return seen;
  seen.watches = verdict.watches.front();
  // Everybody before an exclusive claim keeps it out, but for the one that it may stand beside.
  seen.alone =
      own.mode == claim_mode::shared ? !before(seen.watches) : index - (beside ? 1 : 0) == 1;
  seen.exclusive = exclusive(demands[seen.watches]);
  seen.may_share = line[seen.watches].may_share;
  return seen;
}

hint worth_of(const watch_decision& seen, bool ours, bool shares) noexcept {
  // An exclusive claim that vanishes may have become a shared one in the same place, which lets
  // shared claims in, but no exclusive one.
  const bool replaced = seen.exclusive && (ours || seen.may_share);
  return {.gone_lets_in = seen.alone && (shares || !replaced),
          // Only we write to our nodes, and only in the step that ends a hold.
          .written_lets_in = seen.exclusive && ours};
}

bool lets_in(const standing& waiter, event::kind what) noexcept {
  return (what == event::kind::erased && waiter.alone_before) ||
         (what == event::kind::written && waiter.word_counts);
}

}  // namespace crosslock::session
