// What can be done with a receipt. It names its hold by owner id and fence, and engines ask for no
// more; so a detached hold can be renewed and given back by who never took it up.
#include "local/cells.hpp"
#include "local/core.hpp"
#include "local/line.hpp"

#include <string>

namespace crosslock::inner {
namespace {

[[noreturn]] void throw_ended(const receipt& paper) {
  throw error{errc::lost, "the hold of '" + paper.name.str() +
                              "' that the receipt speaks of has ended or was taken up already"};
}

}  // namespace

seam::grant core::grant_on(const receipt& paper) const {
  const seam::traits& about = engine().about();
  const std::string here{about.name};
  if (paper.engine != here) {
    throw error{errc::conflict, "the receipt is of the engine '" + paper.engine +
                                    "', this client is on '" + here + "'"};
  }
  if (!about.outlives_process) {
    throw error{errc::unsupported,
                "a hold on this engine ends with the process: there are no receipts for it",
                {.engine = here}};
  }
  return {.name = std::make_shared<const lock_name>(paper.name),
          .owner = paper.owner,
          .first = paper.fence,
          .last = paper.fence,
          .lease = settings_.lease};
}

std::shared_ptr<section> core::adopt(const receipt& paper) {
  check_usable();
  const seam::grant detached = grant_on(paper);
  const wish wanted = make_wish({}, time_point::max(), {.mode = paper.mode});
  auto taken_up = own_line(detached.name)->adopt(detached, wanted);
  if (!taken_up) throw_ended(paper);
  return taken_up;
}

duration core::renew(const receipt& paper, std::optional<duration> lease) {
  check_usable();
  seam::renewal item;
  item.held = grant_on(paper);
  item.lease = make_wish({.lease = lease}, time_point::max()).lease;
  return insist(*this, {}, [&](time_point give_up) {
    using result = seam::renewal::result;
    engine().renew({&item, 1}, give_up);
    if (item.outcome == result::lost) throw_ended(paper);
    if (item.outcome == result::renewed) return item.granted_lease;
    throw error{errc::unreachable,
                "the renewal of '" + paper.name.str() + "' was not answered",
                {.engine = paper.engine, .outcome_unknown = true}};
  });
}

release_result core::release(const receipt& paper) {
  check_usable();
  const seam::grant held = grant_on(paper);
  bool in_doubt = false;  // a try may have been carried out without an answer
  try {
    const auto answer = insist(*this, {}, [&](time_point give_up) {
      try {
        return engine().release(held, give_up);
      } catch (const error& why) {
        in_doubt = in_doubt || why.outcome_unknown();
        throw;
      }
    });
    if (answer == seam::release_answer::released) return release_result::released;
    return in_doubt ? release_result::unknown : release_result::lost;
  } catch (const error& why) {
    if (!in_doubt) throw;
    settings_.say(log_level::warning, "release of '", paper.name.view(),
                  "' goes on in the background: ", why.what());
    keeper_->release_later(held, clock_.now() + held.lease);
    return release_result::unknown;
  }
}

}  // namespace crosslock::inner
