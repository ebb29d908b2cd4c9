// The asynchronous acquire, and the engine's reports. Nobody waits here: the head's asks go out by
// ask_async, their answers and every later look are events. Reports for a blocking head are only
// noted, and its thread is woken.
#include "local/afterwards.hpp"
#include "local/core.hpp"
#include "local/line.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::inner {

void line::acquire_async(const wish& wish, acquire_callback done) {
  home_.check_usable();
  const auto me = std::make_shared<waiter>();
  me->wish = wish;
  me->started = home_.clock().now();
  me->section = std::make_shared<section>(home_.shared_from_this(), shared_from_this());
  me->done = std::move(done);
  const std::weak_ptr<line> weak = weak_from_this();
  if (wish.stop.stop_possible()) {
    // The callback cannot outlive the waiter: its destructor waits for one that is running.
    me->stop_watch.emplace(wish.stop, [weak, waiting = me.get()] {
      if (const auto here = weak.lock()) here->cancel(*waiting, observer::wait_result::cancelled);
    });
  }
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    place(*me);
    if (me->now_is == waiter::state::left || me->now_is == waiter::state::granted) {
      after.deliver(me);
    } else {
      me->self = me;
      if (me->now_is == waiter::state::head) after.ask(me->attempt.round);
      // Who does not wait is answered by the server, not by the clock.
      if (wish.waits() && wish.end != time_point::max()) {
        me->timer = home_.keeper().timers().at(wish.end, [weak, waiting = std::weak_ptr{me}] {
          const auto here = weak.lock();
          const auto waited = waiting.lock();
          if (here && waited) here->cancel(*waited, observer::wait_result::timed_out);
        });
      }
    }
  }
  after.run();
  // Requested before it had a place, the stop found nothing to end.
  if (wish.stop.stop_requested()) cancel(*me, observer::wait_result::cancelled);
}

void line::cancel(waiter& waiter, observer::wait_result because) {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    if (waiter.now_is == waiter::state::queued) {
      queue_.remove(waiter);
      waiter.now_is = waiter::state::left;
      waiter.left_because = because;
      after.deliver(std::move(waiter.self));
    } else if (waiter.now_is == waiter::state::head) {
      // An ask may be on its way: withdraw what it may bring about.
      waiter.attempt.on_server = true;
      leave(waiter, because, after);
    }
  }
  after.run();
}

void line::ask_without_blocking(std::uint64_t round) {
  seam::claim claim;
  {
    const std::lock_guard guard{mutex_};
    waiter* const head = heads_.find(
        [&](const waiter& one) { return one.asynchronous() && one.attempt.round == round; });
    if (!head) return;
    claim = prepare_claim(*head);
    head->attempt.asking = true;
  }
  try {
    home_.engine().ask_async(claim, home_.clock().now() + home_.settings().timeout);
  } catch (const error& why) {
    failed(claim.owner, why);
  } catch (const std::exception& why) {
    failed(claim.owner, error{errc::unsupported, why.what()});
  }
}

void line::plan_ask(waiter& head, duration delay, acquire_cause cause, afterwards& after) {
  head.attempt.next_cause = cause;
  head.attempt.round = ++rounds_;
  after.plan(home_.clock().now() + delay, head.attempt.round);
}

void line::claim_again(waiter& head, afterwards& after) {
  head.attempt.round = ++rounds_;
  after.ask(head.attempt.round);
}

bool line::answered(const owner_id& owner, const seam::answer& answer) {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    waiter* const head = head_of(owner);
    // Held, or being given back: what an older ask brings is known already.
    if (!head) return grant_of(owner) != nullptr;
    if (!head->asynchronous()) return true;
    after.ask_elsewhere();
    settle_async(*head, answer, after);
  }
  after.run();
  return true;
}

void line::settle_async(waiter& head, const seam::answer& answer, afterwards& after) {
  attempt& at = head.attempt;
  at.failures = 0;
  at.asking = false;
  const bool news_came = std::exchange(at.look_now, false);
  if (answer.result == seam::ask_result::granted) {
    take_async(head, answer.granted, at.next_cause, after);
  } else if (answer.result == seam::ask_result::busy && !head.wish.waits()) {
    at.on_server = false;
    leave(head, observer::wait_result::busy, after);
  } else {
    at.on_server = answer.result == seam::ask_result::in_line;
    at.stands = true;
    const duration look_after = std::min(answer.look_after, home_.settings().look_every);
    plan_ask(head, news_came ? duration::zero() : look_after,
             news_came ? acquire_cause::looked : acquire_cause::refreshed, after);
  }
}

/// Nobody stands here whom an exception could reach: no thread may be left that could keep it.
void line::take_async(waiter& head, const seam::grant& grant, acquire_cause cause,
                      afterwards& after) {
  try {
    if (!take(head, grant, cause, after)) claim_again(head, after);
  } catch (const error& why) {
    head.attempt.on_server = true;
    fail(head, why, after);
  }
}

bool line::granted(const seam::grant& grant) {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    waiter* const head = head_of(grant.owner);
    if (!head) return grant_of(grant.owner) != nullptr;
    after.ask_elsewhere();
    if (!head->asynchronous()) {
      head->attempt.pushed = grant;
      after.wake(*head);
    } else {
      take_async(*head, grant, acquire_cause::pushed, after);
    }
  }
  after.run();
  return true;
}

bool line::look_again(const owner_id& owner) {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    waiter* const head = head_of(owner);
    if (!head) return false;
    // One ask at a time: what comes while it is on its way is looked at when its answer is here.
    if (head->asynchronous() && !head->attempt.asking) {
      plan_ask(*head, duration::zero(), acquire_cause::looked, after);
    } else {
      head->attempt.look_now = true;
      if (!head->asynchronous()) after.wake(*head);
    }
  }
  after.run();
  return true;
}

void line::retry_async(waiter& head, const error& why, afterwards& after) {
  attempt& at = head.attempt;
  at.asking = false;
  at.on_server = at.was_on_server || why.outcome_unknown();
  at.stands = true;
  const retry_options& retry = home_.settings().retry;
  const duration delay = home_.keeper().retry_pause(at.failures);
  if (!why.retryable() || !head.wish.waits() || ++at.failures > retry.tries) {
    fail(head, why, after);
  } else {
    plan_ask(head, delay, at.next_cause, after);
  }
}

bool line::failed(const owner_id& owner, const error& why) {
  afterwards after{*this};
  const bool over = why.which() == errc::not_held;
  const bool ended = over || why.which() == errc::lost;
  std::shared_ptr<tenancy> taken_away;
  {
    const std::lock_guard guard{mutex_};
    waiter* const head = head_of(owner);
    if (!head) {
      taken_away = grant_of(owner);
      if (!taken_away || taken_away->giving_back) return false;
      // An ask that ran out of time after a push had brought the grant says nothing about it.
      if (!ended) taken_away.reset();
    } else if (ended) {
      // A grant we had not heard of was taken away: its answer or push, if it still comes, is old.
      attempt& at = head->attempt;
      at.revoked_at = home_.clock().now();
      at.pushed.reset();
      at.look_now = true;
      if (!head->asynchronous()) {
        after.wake(*head);
      } else if (!at.asking) {
        plan_ask(*head, duration::zero(), acquire_cause::looked, after);
      }
    } else if (head->asynchronous()) {
      after.ask_elsewhere();
      retry_async(*head, why, after);
    }
  }
  after.run();
  if (taken_away) {
    home_.keeper().lose(*taken_away, over ? loss_reason::gone : loss_reason::broken);
  }
  return true;
}

}  // namespace crosslock::inner
