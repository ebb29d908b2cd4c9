// A receipt names its hold by owner id and fence, and engines ask for no more; so a detached hold
// can be renewed and given back by who never took it up.
#include "cells/receipts.hpp"

#include "cells/cells.hpp"

#include <string>

namespace crosslock::inner {
namespace {

[[noreturn]] void throw_ended(const receipt& given) {
  throw error{errc::lost, "the hold of '" + given.name.str() +
                              "' that the receipt speaks of has ended or was taken up already"};
}

/// What the receipt speaks of.
seam::grant grant_on(const core& home, const receipt& given) {
  const seam::traits& about = home.about();
  const std::string here{about.name};
  if (given.engine != here) {
    throw error{errc::conflict, "the receipt is of the engine '" + given.engine +
                                    "', this client is on '" + here + "'"};
  }
  if (!about.outlives_process) {
    throw error{errc::unsupported,
                "a hold on this engine ends with the process: there are no receipts for it",
                {.engine = here}};
  }
  return {.name = std::make_shared<const lock_name>(given.name),
          .owner = given.owner,
          .first = given.fence,
          .last = given.fence,
          .lease = home.settings().lease};
}

}  // namespace

std::shared_ptr<critical_section> adopt(core& home, const receipt& given) {
  home.check_usable();
  const seam::grant detached = grant_on(home, given);
  const acquire_request wanted = home.make_request({}, time_point::max(), {.mode = given.mode});
  auto taken_up = home.own_line(detached.name)->adopt(detached, wanted);
  if (!taken_up) throw_ended(given);
  return taken_up;
}

duration renew(core& home, const receipt& given, std::optional<duration> lease) {
  home.check_usable();
  seam::renewal item;
  item.held = grant_on(home, given);
  item.lease = home.make_request({.lease = lease}, time_point::max()).lease;
  return insist(home, {}, [&](time_point give_up) {
    using result = seam::renewal::result;
    home.engine().renew({&item, 1}, give_up);
    if (item.outcome == result::lost) throw_ended(given);
    if (item.outcome == result::renewed) return item.granted_lease;
    throw error{errc::unreachable,
                "the renewal of '" + given.name.str() + "' was not answered",
                {.engine = given.engine, .outcome_unknown = true}};
  });
}

release_result release(core& home, const receipt& given) {
  home.check_usable();
  const seam::grant held = grant_on(home, given);
  bool in_doubt = false;  // a try may have been carried out without an answer
  try {
    const auto answer = insist(home, {}, [&](time_point give_up) {
      try {
        return home.engine().release(held, give_up);
      } catch (const error& why) {
        in_doubt = in_doubt || why.outcome_unknown();
        throw;
      }
    });
    if (answer == seam::release_answer::released) return release_result::released;
    return in_doubt ? release_result::unknown : release_result::lost;
  } catch (const error& why) {
    if (!in_doubt) throw;
    home.settings().say(log_level::warning, "release of '", given.name.view(),
                        "' goes on in the background: ", why.what());
    home.keeper().release_later(held, home.clock().now() + held.lease);
    return release_result::unknown;
  }
}

}  // namespace crosslock::inner
