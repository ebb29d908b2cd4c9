// The rule reads only what stands before a claim, so one walk decides the whole line. Whom a claim
// watches is found by walking back from it: the nearest claims that suffice to keep it out
// (ZooKeeper's lock recipe, widened to permits).
#include "line_rules/line_rule.hpp"

#include "engine/mutant.hpp"

#include <algorithm>
#include <chrono>

namespace crosslock::seam {

demand demand_of(const claim& claim) noexcept {
  if (claim.mode != claim_mode::permit) return {.mode = claim.mode, .permits = 1, .of = 1};
  return {.mode = claim.mode, .permits = claim.permits, .of = claim.of};
}

bool is_upgrade(const claim& claim) noexcept {
  return claim.upgrade && claim.mode == claim_mode::exclusive;
}

std::optional<owner_id> beside(const claim& claim) noexcept {
  return is_upgrade(claim) ? claim.beside : std::nullopt;
}

// Short, so that a winner that is frozen costs the others little.
duration offer_lease(duration lease) noexcept {
  return std::min(lease, std::max<duration>(std::chrono::seconds{1}, lease / 10));
}

namespace {

std::optional<std::size_t> ignored_by(std::size_t index, std::span<const upgrade> upgrades) {
  for (const upgrade& one : upgrades) {
    if (one.claim == index) return one.beside;
  }
  return std::nullopt;
}

std::vector<std::size_t> watched_by(std::span<const demand> line, std::size_t index,
                                    std::optional<std::size_t> ignored) {
  const demand& self = line[index];
  std::vector<std::size_t> watched;
  std::int64_t room = std::int64_t{self.of} - self.permits;
  for (std::size_t before = index; before-- > 0;) {
    const demand& other = line[before];
    switch (self.mode) {
      case claim_mode::exclusive:
        if (before == ignored) break;
        return {before};
      case claim_mode::shared:
        if (other.mode == claim_mode::exclusive) return {before};
        break;
      case claim_mode::permit:
        if (other.mode == claim_mode::shared) break;
        watched.push_back(before);
        // An exclusive claim alone keeps it out, and so makes every nearer one needless.
        if (other.mode == claim_mode::exclusive) return {before};
        room -= other.permits;
        if (room < 0) return watched;
        break;
    }
  }
  return watched;
}

}  // namespace

bool line_so_far::admits(const demand& next, bool beside_one) const noexcept {
  switch (next.mode) {
    case claim_mode::exclusive:
      if (mutated(mutant::upgrade_beside_any) && beside_one) return !exclusive_;
      return count_ == (beside_one ? 1U : 0U);
    case claim_mode::shared:
      return !exclusive_;
    case claim_mode::permit:
      if (mutated(mutant::one_permit_too_many) && permits_ == next.of) return !exclusive_;
      return !exclusive_ && permits_ + next.permits <= next.of;
  }
  return false;
}

void line_so_far::add(const demand& next) noexcept {
  ++count_;
  if (next.mode == claim_mode::exclusive) exclusive_ = true;
  if (next.mode == claim_mode::permit) permits_ += next.permits;
}

line_verdict judge_claim(std::span<const demand> line, std::size_t index,
                         std::optional<std::size_t> ignored) {
  line_so_far before;
  for (const demand& one : line.first(index)) before.add(one);
  if (before.admits(line[index], ignored.has_value())) return {.granted = true, .watches = {}};
  return {.granted = false, .watches = watched_by(line, index, ignored)};
}

std::vector<line_verdict> judge_line(std::span<const demand> line,
                                     std::span<const upgrade> upgrades) {
  std::vector<line_verdict> verdict(line.size());
  line_so_far before;
  for (std::size_t index = 0; index < line.size(); ++index) {
    const auto ignored = ignored_by(index, upgrades);
    verdict[index].granted = before.admits(line[index], ignored.has_value());
    if (!verdict[index].granted) verdict[index].watches = watched_by(line, index, ignored);
    before.add(line[index]);
  }
  return verdict;
}

}  // namespace crosslock::seam
