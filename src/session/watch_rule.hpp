// Which claim a waiter watches, and what it may conclude when that one goes. Pure.
#pragma once

#include "session/claim_codec.hpp"
#include "session/claims.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace crosslock::session {

/// Whether a claim is granted, and if not, which other it watches.
struct watch_decision {
  bool granted = false;
  bool upgrade_conflict = false;  ///< another exclusive claim stands before it
  std::size_t watches = 0;        ///< otherwise: the one that keeps it out, and is nearest
  bool alone = false;             ///< nobody else keeps it out
  bool exclusive = false;         ///< that one is exclusive: it says when its hold ends
  bool may_share = false;         ///< see member
};

/// `beside`: an upgrade; the shared claim before it that does not stand in its way.
watch_decision look_ahead(const std::vector<member>& line, std::size_t index,
                          const seam::demand& own, std::optional<std::size_t> beside);

/// What an event of the watched one is worth, once it has been read.
struct hint {
  bool gone_lets_in = false;     ///< when it vanishes
  bool written_lets_in = false;  ///< when it is written to: its last word
};
/// `ours`: a client of ours has written it. `shares`: the claim that watches is a shared one.
hint worth_of(const watch_decision& seen, bool ours, bool shares) noexcept;

/// Whether that event lets in whoever watches: it need not look around.
bool lets_in(const standing& waiter, event::kind what) noexcept;

}  // namespace crosslock::session
