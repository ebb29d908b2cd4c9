// The heart of the local line: who is head, taking a grant, passing it, losing it, giving it back.
// How a head claims is in claiming.cpp (blocking) and claiming_async.cpp.
#include "local/line.hpp"

#include "local/afterwards.hpp"
#include "local/core.hpp"
#include "local/pass_rule.hpp"

#include <utility>

namespace crosslock::inner {

line::line(core& home, seam::name_ref name, seam::name_ref given_name, bool shared)
    : home_{home}, name_{std::move(name)}, given_name_{std::move(given_name)}, shared_{shared} {}

line::~line() { home_.forget(*this); }

void line::new_tenure(const wish& wish) {
  tenure_ = std::allocate_shared<tenure>(seam::recycling<tenure>{});
  tenure_->claim = {.name = name_,
                    .owner = home_.keeper().draw_owner(),
                    .mode = wish.want.mode,
                    .permits = wish.want.permits,
                    .of = wish.want.of,
                    .lease = wish.lease,
                    .wait = wish.waits()};
  tenure_->fixed = wish.fixed;
  tenure_->listener = weak_from_this();
  on_server_ = false;
  asking_ = false;
  look_now_ = false;
  revoked_at_ = time_point::min();
  pushed_.reset();
}

void line::become_head(waiter& waiter) {
  new_tenure(waiter.wish);
  phase_ = phase::claiming;
  head_ = &waiter;
  waiter.now_is = waiter::state::head;
  if (!waiter.asynchronous()) home_.claim_begins();
  next_cause_ = acquire_cause::asked;
  failures_ = 0;
}

void line::advance(afterwards& after) {
  phase_ = phase::idle;
  tenure_.reset();
  if (queue_.empty()) return;
  waiter& next = queue_.pop_front();
  become_head(next);
  if (next.asynchronous()) {
    after.ask(++round_);
  } else {
    after.wake(next);
  }
}

bool line::claims_for(const owner_id& owner) const {
  return phase_ == phase::claiming && tenure_->claim.owner == owner;
}

bool line::take(const seam::grant& grant, acquire_cause cause, afterwards& after) {
  tenure_->grant = grant;
  tenure_->drawn_fence = grant.first.value();
  tenure_->last_fence = grant.last.value();
  const time_point now = home_.clock().now();
  tenure_->wanted = tenure_->wanted || grant.wanted || !home_.engine().about().tells_wanted;
  tenure_->wanted_since = now;
  const bool revoked = grant.sent <= revoked_at_;
  if (closed_ || revoked || !home_.keeper().keep(tenure_)) {
    // Too late to be of use to anybody: give it back, and claim anew under another id.
    after.withdraw(tenure_->claim);
    new_tenure(head_->wish);
    return false;
  }
  phase_ = phase::held;
  section_ = head_->section.get();
  section_->begin(tenure_, grant.first, now);
  head_->cause = cause;
  finish_head(waiter::state::granted, after);
  return true;
}

void line::finish_head(waiter::state how, afterwards& after) {
  waiter& ended = *std::exchange(head_, nullptr);
  ended.now_is = how;
  if (ended.asynchronous()) after.deliver(std::move(ended.self));
}

void line::leave(observer::wait_result because, afterwards& after) {
  head_->left_because = because;
  if (on_server_) after.withdraw(tenure_->claim);
  finish_head(waiter::state::left, after);
  advance(after);
}

void line::fail(const error& why, afterwards& after) {
  head_->left_because = observer::wait_result::failed;
  head_->failure = std::make_exception_ptr(why);
  if (on_server_) after.withdraw(tenure_->claim);
  finish_head(waiter::state::failed, after);
  advance(after);
}

bool line::may_pass_now(time_point now) const {
  if (queue_.empty() || tenure_->fixed || closed_) return false;
  if (tenure_->now_is.load() != tenure::state::kept) return false;  // lost this very moment
  const wish& next = queue_.front().wish;
  return may_pass(
      {.same_lease = !next.fixed && next.lease == tenure_->claim.lease,
       .fence_left = tenure_->drawn_fence < tenure_->last_fence || tenure_->more_first != 0,
       .lease_left = tenure_->deadline() - now,
       .lease = tenure_->grant.lease,
       .wanted = tenure_->wanted,
       .passes = tenure_->passes_while_wanted,
       .wanted_for = now - tenure_->wanted_since},
      home_.settings().pass);
}

std::int64_t line::draw_fence() {
  if (tenure_->drawn_fence == tenure_->last_fence) {
    tenure_->drawn_fence = std::exchange(tenure_->more_first, 0) - 1;
    tenure_->last_fence = tenure_->more_last;
  }
  // Ask for the next block when half of the last one is left: long before it is needed.
  const bool running_low = tenure_->more_first == 0 &&
                           tenure_->last_fence - tenure_->drawn_fence < seam::fence_block / 2;
  if (running_low && home_.engine().about().reserves_fences &&
      !tenure_->want_fences.exchange(true)) {
    home_.keeper().renew_soon(*tenure_);
  }
  return ++tenure_->drawn_fence;
}

void line::pass_to(waiter& next, time_point now, afterwards& after) {
  queue_.remove(next);
  if (tenure_->wanted) ++tenure_->passes_while_wanted;
  section_ = next.section.get();
  section_->begin(tenure_, fence{draw_fence()}, now);
  home_.keeper().hold_begins(*tenure_, now);
  next.cause = acquire_cause::passed;
  next.now_is = waiter::state::granted;
  if (next.asynchronous()) {
    after.deliver(std::move(next.self));
  } else {
    after.wake(next);
  }
}

release_result line::release(section& section) noexcept {
  afterwards after{*this};
  std::shared_ptr<tenure> giving;
  release_result result = release_result::passed;
  {
    const std::lock_guard guard{mutex_};
    if (section.state_.load() != section::state::held) return release_result::not_held;
    section.state_.store(section::state::released);
    if (section.lost_reason() != loss_reason::none) return release_result::lost;
    section_ = nullptr;
    const time_point now = home_.clock().now();
    if (may_pass_now(now)) {
      pass_to(queue_.front(), now, after);
    } else {
      phase_ = phase::giving_back;
      giving = tenure_;
      home_.claim_begins();
    }
  }
  if (giving) {
    result = give_back(*giving);
    const std::lock_guard guard{mutex_};
    advance(after);
    home_.claim_ends();
  }
  after.run();
  return result;
}

release_result line::give_back(tenure& giving) noexcept {
  // Stop renewing first: no renewal begins after the release.
  if (!home_.keeper().end(giving)) {
    release_late(giving);
    return release_result::lost;
  }
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

void line::release_late(const tenure& ended) noexcept {
  home_.keeper().release_later(ended.grant, home_.clock().now() + ended.claim.lease);
}

receipt line::detach(section& section) {
  std::shared_ptr<tenure> leaving;
  {
    const std::lock_guard guard{mutex_};
    if (section.state_.load() != section::state::held) {
      throw error{errc::not_held, "detach: '" + name_->str() + "' is not held"};
    }
    if (section.lost_reason() != loss_reason::none || !home_.keeper().end(*tenure_)) {
      throw error{errc::lost, "detach: the hold of '" + name_->str() + "' was lost"};
    }
    section.state_.store(section::state::detached);
    section_ = nullptr;
    phase_ = phase::giving_back;
    leaving = tenure_;
    home_.claim_begins();
  }
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
    advance(after);
  }
  home_.claim_ends();
  after.run();
  if (failure) std::rethrow_exception(failure);
  if (!still_ours) throw error{errc::lost, "detach: the hold of '" + name_->str() + "' was lost"};
  return {.engine = std::string{home_.engine().about().name},
          .name = *name_,
          .owner = section.owner(),
          .fence = section.fence()};
}

bool line::lengthen(const tenure& leaving) {
  const bool whole = leaving.fixed && !leaving.grant.offer;
  const bool bound = home_.engine().about().watches_process;
  if (whole && !bound) return true;
  seam::renewal last;
  last.held = leaving.grant;
  // A receipt begins with the whole lease, and not with what was left of it, or of an offer.
  last.lease = whole ? duration::zero() : leaving.claim.lease;
  last.detach = true;
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

void line::lost(tenure& tenure, loss_reason reason) noexcept {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    if (tenure_.get() != &tenure || phase_ != phase::held) return;
    section& told = *std::exchange(section_, nullptr);
    after.tell(told.mark_lost(reason), {.name = name_->view(),
                                        .owner = told.owner(),
                                        .fence = told.fence(),
                                        .reason = reason,
                                        .deadline = told.expires_at()});
    after.ask_elsewhere();
    // On the server the lease may go on without us, after a renewal whose answer never came for
    // example: let the next one in.
    if (reason == loss_reason::max_hold || reason == loss_reason::expired) {
      after.release(tenure.grant, home_.clock().now() + tenure.claim.lease);
    }
    advance(after);
  }
  after.run();
}

void line::renewed(tenure& tenure, const seam::renewal& renewal) noexcept {
  const std::lock_guard guard{mutex_};
  if (tenure_.get() != &tenure) return;
  if (renewal.more_first.value() != 0) {
    tenure.more_first = renewal.more_first.value();
    tenure.more_last = renewal.more_last.value();
    tenure.want_fences.store(false);
  }
  if (renewal.wanted) note_wanted(tenure);
}

void line::note_wanted(tenure& tenure) {
  if (tenure.wanted) return;
  tenure.wanted = true;
  tenure.wanted_since = home_.clock().now();
}

void line::expire(const section& section) noexcept {
  home_.keeper().lose(*section.tenure_,
                      section.tenure_->fixed ? loss_reason::lease_ended : loss_reason::expired);
}

bool line::wanted(const owner_id& owner) {
  const std::lock_guard guard{mutex_};
  // It may overtake the answer that brings the grant.
  if (!tenure_ || tenure_->claim.owner != owner) return false;
  note_wanted(*tenure_);
  return true;
}

void line::close() noexcept {
  afterwards after{*this};
  std::shared_ptr<tenure> giving;
  const error why{errc::closed, "the client was closed"};
  {
    const std::lock_guard guard{mutex_};
    closed_ = true;
    while (!queue_.empty()) {
      waiter& next = queue_.pop_front();
      next.failure = std::make_exception_ptr(why);
      next.left_because = observer::wait_result::failed;
      next.now_is = waiter::state::failed;
      if (next.asynchronous()) {
        after.deliver(std::move(next.self));
      } else {
        after.wake(next);
      }
    }
    if (phase_ == phase::claiming && head_->asynchronous()) {
      on_server_ = true;  // an ask may be on its way
      fail(why, after);
    } else if (phase_ == phase::claiming) {
      after.wake(*head_);
    } else if (phase_ == phase::held) {
      section& told = *std::exchange(section_, nullptr);
      after.tell(told.mark_lost(loss_reason::closed), {.name = name_->view(),
                                                       .owner = told.owner(),
                                                       .fence = told.fence(),
                                                       .reason = loss_reason::closed,
                                                       .deadline = told.expires_at()});
      phase_ = phase::giving_back;
      giving = tenure_;
    }
  }
  // The holder is told before the release lets the next one in.
  after.run();
  if (!giving) return;
  give_back(*giving);
  afterwards then{*this};
  {
    const std::lock_guard guard{mutex_};
    advance(then);
  }
  then.run();
}

}  // namespace crosslock::inner
