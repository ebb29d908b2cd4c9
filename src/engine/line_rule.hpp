// One rule for every kind of lock: who in a line may go in, and whom the others wait for.
#pragma once

#include "engine/claim.hpp"

#include <crosslock/inspect.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace crosslock::seam {

/// What a claim wants, permits aside when it is none for permits.
wish wish_of(const claim& claim) noexcept;

/// How long the next in line may keep a name that was handed over before it says that it has it;
/// also how long a place in line lasts without being refreshed.
duration offer_lease(duration lease) noexcept;

/// Everybody who stands before some claim, granted or not, as far as the rule needs to know them:
///
/// | the claim | goes in when before it there is |
/// |---|---|
/// | exclusive | nobody |
/// | shared | no exclusive claim |
/// | k of n permits | no exclusive claim, and at most n - k permits claimed |
///
/// Claims that still wait count as well: so nobody overtakes a claim it conflicts with, and many
/// small permit claims do not starve a big one.
class line_so_far {
 public:
  bool admits(const wish& next) const noexcept;
  void add(const wish& next) noexcept;
  /// Nobody behind these can go in, whatever it wants.
  bool closed() const noexcept { return exclusive_; }

 private:
  bool anybody_ = false;
  bool exclusive_ = false;
  std::int64_t permits_ = 0;
};

/// The verdict on one claim.
struct place {
  bool granted = false;
  /// Indices into the line, nearest first; empty exactly when granted. As long as all of these
  /// stand the claim cannot go in, and only the going of one of them is a reason to look again.
  std::vector<std::size_t> watches;

  friend bool operator==(const place&, const place&) = default;
};

/// The verdict on every claim of a line, first come first.
std::vector<place> judge_line(std::span<const wish> line);

}  // namespace crosslock::seam
