// What a release may say when its request got no answer in time.
#pragma once

#include "conformance/fixture.hpp"

#include <string>

namespace crosslock::conformance {

/// `unknown`. Where the lease is a session its next connection may have carried it out while the
/// caller still waited: then `released` is true if the server has let go.
inline void expect_unknown_or_true(release_result said, stage& on, const client& viewer,
                                   const std::string& name, const owner_id& owner) {
  if (!on.traits().lease_is_session || said != release_result::released) {
    EXPECT_EQ(said, release_result::unknown);
    return;
  }
  for (const claim_info& each : viewer.look(name).holders) EXPECT_NE(each.owner, owner);
}

}  // namespace crosslock::conformance
