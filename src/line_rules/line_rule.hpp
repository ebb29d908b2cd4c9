// One rule for every kind of lock: who in a line may go in, and whom the others wait for.
#pragma once

#include "engine/claim.hpp"

#include <crosslock/inspect.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace crosslock::seam {

/// What a claim wants, permits aside when it is none for permits.
demand demand_of(const claim& claim) noexcept;

/// The claim is an upgrade: exclusive, of somebody who holds the name shared.
bool is_upgrade(const claim& claim) noexcept;
/// The shared grant that does not stand in the claim's way; only upgrades have one.
std::optional<owner_id> beside(const claim& claim) noexcept;

/// How long the next in line may keep a name that was handed over before it says that it has it;
/// also how long a place in line lasts without being refreshed.
duration offer_lease(duration lease) noexcept;

/// Everybody who stands before some claim, granted or not, as far as the rule needs to know them:
///
/// | the claim | goes in when before it there is |
/// |---|---|
/// | exclusive | nobody |
/// | exclusive, an upgrade | nobody but the shared claim that it may stand beside |
/// | shared | no exclusive claim |
/// | k of n permits | no exclusive claim, and at most n - k permits claimed |
///
/// Claims that still wait count as well: so nobody overtakes a claim it conflicts with, and many
/// small permit claims do not starve a big one.
class line_so_far {
 public:
  /// `beside_one`: one of these is the shared claim that the next one, an upgrade, may be beside.
  bool admits(const demand& next, bool beside_one = false) const noexcept;
  void add(const demand& next) noexcept;
  /// Nobody behind these can go in, whatever it wants.
  bool closed() const noexcept { return exclusive_; }

 private:
  std::size_t count_ = 0;
  bool exclusive_ = false;
  std::int64_t permits_ = 0;
};

/// The verdict on one claim.
struct line_verdict {
  bool granted = false;
  /// Indices into the line, nearest first; empty exactly when granted. As long as all of these
  /// stand the claim cannot go in, and only the going of one of them is a reason to look again.
  std::vector<std::size_t> watches;

  friend bool operator==(const line_verdict&, const line_verdict&) = default;
};

/// An upgrade in a line, and the shared claim before it that does not stand in its way: indices.
struct upgrade {
  std::size_t claim = 0;
  std::size_t beside = 0;
};

/// The verdict on one claim of a line. `ignored`: it is an upgrade, and the shared claim before it
/// that does not stand in its way is that one.
line_verdict judge_claim(std::span<const demand> line, std::size_t index,
                         std::optional<std::size_t> ignored = {});

/// The verdict on every claim of a line, first come first.
std::vector<line_verdict> judge_line(std::span<const demand> line,
                                     std::span<const upgrade> upgrades = {});

}  // namespace crosslock::seam
