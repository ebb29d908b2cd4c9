// How a hold ends: released, detached, lost, or with its client. And how it changes its mode, which
// is half an end: the grant goes on, with another worth.
#include "local/afterwards.hpp"
#include "local/core.hpp"
#include "local/line.hpp"

#include <utility>

namespace crosslock::inner {

release_result line::release(section& section) noexcept {
  afterwards after{*this};
  std::shared_ptr<tenancy> giving;
  release_result result = release_result::released;
  {
    const std::lock_guard guard{mutex_};
    if (section.state_.load() != section::state::held) return release_result::not_held;
    section.state_.store(section::state::released);
    if (section.lost_reason() != loss_reason::none) return release_result::lost;
    const std::shared_ptr<tenancy>& grant = section.tenancy_;
    tenancy::remove_user(section);
    const time_point now = home_.clock().now();
    if (grant->used()) {
      hurry_upgrade(*grant, after);
    } else if (may_pass_now(*grant, now)) {
      pass(grant, now, after);
      result = release_result::passed;
    } else {
      grant->giving_back = true;
      giving = grant;
      home_.claim_begins();
    }
  }
  if (giving) {
    result = give_back(*giving);
    const std::lock_guard guard{mutex_};
    forget_grant(*giving);
    advance(after);
    home_.claim_ends();
  }
  after.run();
  return result;
}

bool line::retire(section& section, tenancy* successor) noexcept {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    if (section.state_.load() != section::state::held) return false;
    if (section.lost_reason() != loss_reason::none) return false;
    const std::shared_ptr<tenancy> grant = section.tenancy_;
    const bool last = grant->only_user_is(section);
    if (last && !home_.keeper().end(*grant)) return false;  // its loss is about to be told
    section.state_.store(section::state::released);
    tenancy::remove_user(section);
    if (last) {
      std::shared_ptr<std::atomic<bool>> given_back;
      if (successor) {
        successor->retired = std::make_shared<retired_grant>();
        successor->retired->grant = grant->grant;
        given_back = {successor->retired, &successor->retired->given_back};
      }
      after.release(grant->grant, home_.clock().now() + grant->claim.lease, given_back);
      forget_grant(*grant);
      advance(after);
    } else {
      hurry_upgrade(*grant, after);
    }
  }
  after.run();
  return true;
}

release_result line::give_back(tenancy& giving) noexcept {
  // Stop renewing first: no renewal begins after the release.
  if (!home_.keeper().end(giving)) {
    release_late(giving);
    return release_result::lost;
  }
  give_back_retired(giving);
  try {
    const auto answer = home_.engine().release(giving.grant, home_.give_up());
    return answer == seam::release_answer::released ? release_result::released
                                                    : release_result::lost;
  } catch (const std::exception& why) {
    home_.settings().say(log_level::warning, "release of '", name_->view(),
                         "' goes on in the background: ", why.what());
    release_late(giving);
    return release_result::unknown;
  }
}

// While the upgraded grant was there, the shared one stood in nobody's way. Now it would.
void line::give_back_retired(const tenancy& successor) noexcept {
  if (!successor.retired || successor.retired->given_back.load()) return;
  try {
    home_.engine().release(successor.retired->grant, home_.give_up());
  } catch (const std::exception&) {
    // The errand goes on.
  }
}

void line::release_late(const tenure& ended) noexcept {
  home_.keeper().release_later(ended.grant, home_.clock().now() + ended.claim.lease);
}

std::shared_ptr<tenancy> line::begin_detaching(section& section) {
  const std::lock_guard guard{mutex_};
  const std::string what = "detach: the hold of '" + name_->str() + "' ";
  if (section.state_.load() != section::state::held) {
    throw error{errc::not_held, "detach: '" + name_->str() + "' is not held"};
  }
  if (section.lost_reason() != loss_reason::none) throw error{errc::lost, what + "was lost"};
  const std::shared_ptr<tenancy> leaving = section.tenancy_;
  if (!leaving->only_user_is(section)) {
    throw error{errc::conflict,
                what +
                    "shares its grant with other readers of this process: ask for a fixed "
                    "lease, which is never shared"};
  }
  if (!home_.keeper().end(*leaving)) throw error{errc::lost, what + "was lost"};
  section.state_.store(section::state::detached);
  tenancy::remove_user(section);
  leaving->giving_back = true;
  home_.claim_begins();
  return leaving;
}

receipt line::detach(section& section) {
  const std::shared_ptr<tenancy> leaving = begin_detaching(section);
  bool still_ours = false;
  std::exception_ptr failure;
  try {
    home_.remember_detached(leaving->claim);
    still_ours = lengthen(*leaving);
  } catch (...) {
    failure = std::current_exception();
    release_late(*leaving);  // nobody gets a receipt for it
  }
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    forget_grant(*leaving);
    advance(after);
  }
  home_.claim_ends();
  after.run();
  if (failure) std::rethrow_exception(failure);
  if (!still_ours) throw error{errc::lost, "detach: the hold of '" + name_->str() + "' was lost"};
  return {.engine = std::string{home_.engine().about().name},
          .name = *name_,
          .owner = section.owner(),
          .fence = section.fence(),
          .mode = section.mode()};
}

bool line::lengthen(const tenancy& leaving) {
  give_back_retired(leaving);
  const bool whole = leaving.fixed && !leaving.grant.offer;
  const bool bound = home_.engine().about().watches_process;
  if (whole && !bound && !leaving.share.load()) return true;
  seam::renewal last;
  last.held = leaving.grant;
  // A receipt begins with the whole lease, and not with what was left of it, or of an offer.
  last.lease = whole ? duration::zero() : leaving.claim.lease;
  last.detach = true;
  last.share = leaving.share.load();
  try {
    home_.engine().renew({&last, 1}, home_.give_up());
  } catch (const error& why) {
    // Where the engine may still think that the hold ends with this process, a receipt would lie.
    if (bound) throw;
    home_.settings().say(log_level::warning, "the receipt of '", name_->view(),
                         "' has only what is left of its lease: ", why.what());
  }
  return last.outcome != seam::renewal::result::lost;
}

std::shared_ptr<section> line::upgrade(const section& shared, const wish& wish) {
  home_.check_usable();
  waiter me;
  me.wish = wish;
  me.upgrades = &shared;
  return carry_through(me);
}

// The mutex is held. An upgrade queues nowhere: it stands at the end of the server's line, or not
// at all.
void line::place_upgrade(waiter& me) {
  const auto writes = [](const waiter& other) {
    return other.wish.want.mode == claim_mode::exclusive;
  };
  if (me.upgrades->lost_reason() != loss_reason::none) {
    throw error{errc::lost, "the shared hold of '" + given_name_->str() + "' was lost"};
  }
  if (heads_.find(writes) || queue_.find(writes)) {
    throw error{errc::upgrade_conflict, "another writer of this process waits for '" +
                                            given_name_->str() +
                                            "': release the shared hold and acquire anew"};
  }
  become_head(me);
}

// The mutex is held. The other users of a grant are gone: now it stands in nobody's way but the
// upgrade's own.
void line::hurry_upgrade(const tenancy& grant, afterwards& after) {
  waiter* const head = heads_.find([&](const waiter& one) {
    return one.upgrades && one.upgrades->tenancy_.get() == &grant &&
           grant.only_user_is(*one.upgrades);
  });
  if (!head) return;
  head->attempt.look_now = true;
  after.wake(*head);
}

void line::downgrade(section& section) {
  std::shared_ptr<tenancy> grant;
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    if (section.lost_reason() != loss_reason::none) section.check();
    grant = section.tenancy_;
    grant->claim.mode = claim_mode::shared;
    section.mode_ = claim_mode::shared;
    grant->share.store(true);  // until the server has confirmed it
    if (!home_.engine().about().tells_wanted) grant->wanted = true;  // for all we know
    home_.claim_begins();
    advance(after);  // whether the server keeps it exclusive or shared, readers here may use it
  }
  after.run();
  give_back_retired(*grant);
  home_.keeper().renew_now(grant, home_.give_up());
  home_.claim_ends();
  section.check();
}

// The mutex is held.
void line::tell_users(tenancy& grant, loss_reason reason, afterwards& after) {
  while (section* const told = grant.first_user()) {
    tenancy::remove_user(*told);
    after.tell(told->mark_lost(reason), {.name = name_->view(),
                                         .owner = told->owner(),
                                         .fence = told->fence(),
                                         .reason = reason,
                                         .deadline = told->expires_at()});
  }
  // An upgrade of one of them has nothing left to upgrade.
  waiter* const head = heads_.find(
      [&](const waiter& one) { return one.upgrades && one.upgrades->tenancy_.get() == &grant; });
  if (head) after.wake(*head);
}

void line::lost(tenure& tenure, loss_reason reason) noexcept {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    const auto gone = grant_of(tenure.claim.owner);
    if (gone.get() != &tenure || gone->giving_back) return;
    tell_users(*gone, reason, after);
    after.ask_elsewhere();
    // On the server the lease may go on without us, after a renewal whose answer never came for
    // example: let the next one in.
    const bool session = home_.engine().about().lease_is_session;
    if (reason == loss_reason::max_hold || reason == loss_reason::expired ||
        (session && reason == loss_reason::lease_ended)) {
      after.release(tenure.grant, home_.clock().now() + tenure.claim.lease);
    }
    forget_grant(*gone);
    advance(after);
  }
  after.run();
}

void line::expire(const section& section) noexcept {
  home_.keeper().lose(*section.tenancy_,
                      section.tenancy_->fixed ? loss_reason::lease_ended : loss_reason::expired);
}

void line::close() noexcept {
  afterwards after{*this};
  std::vector<std::shared_ptr<tenancy>> giving;
  const error why{errc::closed, "the client was closed"};
  {
    const std::lock_guard guard{mutex_};
    closed_ = true;
    while (!queue_.empty()) {
      waiter& next = queue_.pop_front();
      next.failure = std::make_exception_ptr(why);
      next.left_because = observer::wait_result::failed;
      next.now_is = waiter::state::failed;
      notify(next, after);
    }
    const auto asynchronous = [](const waiter& head) { return head.asynchronous(); };
    while (waiter* const head = heads_.find(asynchronous)) {
      head->attempt.on_server = true;  // an ask may be on its way
      fail(*head, why, after);
    }
    heads_.find([&](waiter& head) {
      after.wake(head);  // it finds out by itself
      return false;
    });
    for (const auto& grant : grants_) {
      if (grant->giving_back) continue;
      tell_users(*grant, loss_reason::closed, after);
      grant->giving_back = true;
      giving.push_back(grant);
    }
  }
  // The holders are told before the release lets the next one in.
  after.run();
  for (const auto& grant : giving) give_back(*grant);
  const std::lock_guard guard{mutex_};
  for (const auto& grant : giving) forget_grant(*grant);
}

}  // namespace crosslock::inner
