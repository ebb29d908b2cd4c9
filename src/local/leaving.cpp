// How a hold ends otherwise than by its release (giving_back.cpp): replaced, detached or lost. And
// how it changes its mode, which is half an end: the grant goes on, with another worth.
#include "local/claiming.hpp"
#include "local/client_context.hpp"
#include "local/deferred_actions.hpp"
#include "local/holding.hpp"
#include "local/line.hpp"

#include <utility>

namespace crosslock::inner {

bool holding::retire(critical_section& entered, local_grant* successor) noexcept {
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    if (entered.state_.load() != critical_section::state::held) return false;
    if (entered.lost_reason() != loss_reason::none) return false;
    const std::shared_ptr<local_grant> grant = entered.grant_;
    const bool last = grant->only_user_is(entered);
    if (last && !home_.keeper().end(*grant)) return false;  // its loss is about to be told
    entered.state_.store(critical_section::state::released);
    claims_.wake_upgrade(entered, after);
    local_grant::remove_user(entered);
    if (last) {
      std::shared_ptr<std::atomic<bool>> given_back;
      if (successor) {
        successor->retired = std::make_shared<retired_grant>();
        successor->retired->grant = grant->grant;
        given_back = {successor->retired, &successor->retired->given_back};
      }
      after.release(grant->grant, grant->kept_until(home_.clock().now()), given_back);
      forget(*grant);
      claims_.advance(after);
    } else {
      claims_.hurry_upgrade(*grant, after);
    }
  }
  after.run();
  return true;
}

std::shared_ptr<local_grant> holding::begin_detaching(critical_section& entered) {
  const seam::lock_guard guard{line_.mutex()};
  const std::string what = "detach: the hold of '" + line_.name()->str() + "' ";
  if (entered.state_.load() != critical_section::state::held) {
    throw error{errc::not_held, "detach: '" + line_.name()->str() + "' is not held"};
  }
  if (entered.lost_reason() != loss_reason::none) throw error{errc::lost, what + "was lost"};
  const std::shared_ptr<local_grant> leaving = entered.grant_;
  if (!leaving->only_user_is(entered)) {
    throw error{errc::conflict,
                what +
                    "shares its grant with other readers of this process: ask for a fixed "
                    "lease, which is never shared"};
  }
  if (!home_.keeper().end(*leaving)) throw error{errc::lost, what + "was lost"};
  entered.state_.store(critical_section::state::detached);
  local_grant::remove_user(entered);
  leaving->giving_back = true;
  home_.claim_begins();
  return leaving;
}

receipt holding::detach(critical_section& entered) {
  const std::shared_ptr<local_grant> leaving = begin_detaching(entered);
  bool still_ours = false;
  std::exception_ptr failure;
  try {
    home_.remember_detached(leaving->claim);
    still_ours = lengthen(*leaving);
  } catch (...) {
    failure = std::current_exception();
    release_late(*leaving);  // nobody gets a receipt for it
  }
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    forget(*leaving);
    claims_.advance(after);
  }
  home_.claim_ends();
  after.run();
  if (failure) std::rethrow_exception(failure);
  if (!still_ours) {
    throw error{errc::lost, "detach: the hold of '" + line_.name()->str() + "' was lost"};
  }
  return {.engine = std::string{home_.about().name},
          .name = *line_.name(),
          .owner = entered.owner(),
          .fence = entered.fence(),
          .mode = entered.mode()};
}

bool holding::lengthen(const local_grant& leaving) {
  give_back_retired(leaving);
  const bool offer = leaving.is_offer.load();
  const bool whole = leaving.fixed && !offer;
  const bool bound = home_.about().watches_process;
  if (whole && !bound && !leaving.share.load()) return true;
  seam::renewal last;
  last.held = leaving.grant;
  last.held.offer = offer;
  // A receipt begins with the whole lease, and not with what was left of it, or of an offer.
  last.lease = whole ? duration::zero() : leaving.claim.lease;
  last.detach = true;
  last.share = leaving.share.load();
  try {
    home_.engine().renew({&last, 1}, home_.give_up());
  } catch (const error& why) {
    // Where the engine may still think that the hold ends with this process, a receipt would lie.
    if (bound) throw;
    home_.settings().say(log_level::warning, "the receipt of '", line_.name()->view(),
                         "' has only what is left of its lease: ", why.what());
  }
  return last.outcome != seam::renewal::result::lost;
}

void holding::downgrade(critical_section& entered) {
  std::shared_ptr<local_grant> grant;
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    if (entered.lost_reason() != loss_reason::none) entered.check();
    grant = entered.grant_;
    grant->claim.mode = claim_mode::shared;
    entered.mode_ = claim_mode::shared;
    grant->share.store(true);                               // until the server has confirmed it
    if (!home_.about().tells_wanted) grant->wanted = true;  // for all we know
    home_.claim_begins();
    // Whether the server keeps it exclusive or shared, readers here may use it.
    claims_.advance(after);
  }
  after.run();
  give_back_retired(*grant);
  home_.keeper().renew_now(grant, home_.give_up());
  home_.claim_ends();
  entered.check();
}

void holding::tell_users(local_grant& grant, loss_reason reason, deferred_actions& after) {
  while (critical_section* const told = grant.first_user()) {
    local_grant::remove_user(*told);
    after.tell(told->mark_lost(reason), {.name = line_.name()->view(),
                                         .owner = told->owner(),
                                         .fence = told->fence(),
                                         .reason = reason,
                                         .deadline = told->expires_at()});
  }
  // An upgrade of one of them has nothing left to upgrade.
  claims_.wake_upgrade(grant, after);
}

void holding::lost(lease_record& record, loss_reason reason) noexcept {
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    const auto gone = find(record.claim.owner);
    if (gone.get() != &record || gone->giving_back) return;
    after.ask_elsewhere();
    after.tell_elsewhere();
    end_lost(*gone, reason, after);
  }
  after.run();
}

void holding::end_lost(local_grant& gone, loss_reason reason, deferred_actions& after) {
  tell_users(gone, reason, after);
  // On the server the lease may go on without us, after a renewal whose answer never came for
  // example: let the next one in.
  const bool session = home_.about().lease_is_session;
  if (reason == loss_reason::max_hold || reason == loss_reason::expired ||
      (reason == loss_reason::lease_ended && (session || gone.was_extended()))) {
    after.release(gone.grant, gone.kept_until(home_.clock().now()));
  }
  forget(gone);
  claims_.advance(after);
}

}  // namespace crosslock::inner
