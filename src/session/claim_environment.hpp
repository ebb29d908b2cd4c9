// What everybody needs who works on a claim.
#pragma once

#include "engine/claim.hpp"
#include "engine/clock.hpp"
#include "session/claim_codec.hpp"
#include "session/claims.hpp"
#include "session/tree.hpp"

#include <chrono>
#include <optional>

namespace crosslock::session {

/// Outlived by nobody but the connection.
struct claim_environment {
  tree& wire;
  claims& table;
  const claim_codec& words;
  seam::clock& clock;

  /// The grant that this claim is now; empty when its session is not the present one.
  std::optional<seam::grant> grant_of(const standing& held) const;
};

/// Removes what the claim has on the server, now or as soon as there is a connection, and forgets
/// it then; `then` hears how the first try went.
void leave(claim_environment& at, const standing_ref& one, hearer then);
/// The end of a removal: what is certain is forgotten.
void finish_removal(claim_environment& at, const standing_ref& one, response& said,
                    const hearer& then);

}  // namespace crosslock::session
