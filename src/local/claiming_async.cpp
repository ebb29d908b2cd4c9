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
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    place(*me);
    if (me->now_is == waiter::state::left) {
      after.deliver(me);
    } else {
      me->self = me;
      if (me->now_is == waiter::state::head) after.ask(++round_);
      if (wish.end != time_point::max()) {
        me->timer = home_.keeper().timers().at(wish.end, [weak, waiting = std::weak_ptr{me}] {
          const auto here = weak.lock();
          const auto waited = waiting.lock();
          if (here && waited) here->cancel(*waited, observer::wait_result::timed_out);
        });
      }
    }
  }
  after.run();
  if (wish.stop.stop_possible()) {
    // The callback cannot outlive the waiter: its destructor waits for one that is running.
    me->stop_watch.emplace(wish.stop, [weak, waiting = me.get()] {
      if (const auto here = weak.lock()) here->cancel(*waiting, observer::wait_result::cancelled);
    });
  }
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
      on_server_ = true;
      leave(because, after);
    }
  }
  after.run();
}

void line::ask_without_blocking(std::uint64_t round) {
  seam::claim claim;
  {
    const std::lock_guard guard{mutex_};
    if (phase_ != phase::claiming || !head_->asynchronous() || round != round_) return;
    claim = tenure_->claim;
    asking_ = true;
    was_on_server_ = on_server_;
    on_server_ = true;
  }
  try {
    home_.engine().ask_async(claim, home_.clock().now() + home_.settings().timeout);
  } catch (const error& why) {
    failed(claim.owner, why);
  } catch (const std::exception& why) {
    failed(claim.owner, error{errc::unsupported, why.what()});
  }
}

void line::plan_ask(duration delay, acquire_cause cause, afterwards& after) {
  next_cause_ = cause;
  after.plan(home_.clock().now() + delay, ++round_);
}

bool line::answered(const owner_id& owner, const seam::answer& answer) {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    if (!claims_for(owner) || !head_->asynchronous()) {
      // Held, or being given back: what an older ask brings is known already.
      return tenure_ && tenure_->claim.owner == owner;
    }
    after.ask_elsewhere();
    settle_async(answer, after);
  }
  after.run();
  return true;
}

void line::settle_async(const seam::answer& answer, afterwards& after) {
  failures_ = 0;
  asking_ = false;
  const bool news_came = std::exchange(look_now_, false);
  if (answer.result == seam::ask_result::granted) {
    if (!take(answer.granted, next_cause_, after)) after.ask(++round_);
  } else if (answer.result == seam::ask_result::busy && !head_->wish.waits()) {
    on_server_ = false;
    leave(observer::wait_result::busy, after);
  } else {
    on_server_ = answer.result == seam::ask_result::in_line;
    const duration look_after = std::min(answer.look_after, home_.settings().look_every);
    plan_ask(news_came ? duration::zero() : look_after,
             news_came ? acquire_cause::looked : acquire_cause::refreshed, after);
  }
}

bool line::granted(const seam::grant& grant) {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    if (!claims_for(grant.owner)) return tenure_ && tenure_->claim.owner == grant.owner;
    if (!head_->asynchronous()) {
      pushed_ = grant;
      after.wake(*head_);
    } else if (!take(grant, acquire_cause::pushed, after)) {
      after.ask_elsewhere();
      after.ask(++round_);
    }
  }
  after.run();
  return true;
}

bool line::look_again(const owner_id& owner) {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    if (!claims_for(owner)) return false;
    // One ask at a time: what comes while it is on its way is looked at when its answer is here.
    if (head_->asynchronous() && !asking_) {
      plan_ask(duration::zero(), acquire_cause::looked, after);
    } else {
      look_now_ = true;
      if (!head_->asynchronous()) after.wake(*head_);
    }
  }
  after.run();
  return true;
}

void line::retry_async(const error& why, afterwards& after) {
  asking_ = false;
  on_server_ = was_on_server_ || why.outcome_unknown();
  const retry_options& retry = home_.settings().retry;
  const duration delay = home_.keeper().retry_pause(failures_);
  if (!why.retryable() || !head_->wish.waits() || ++failures_ > retry.tries) {
    fail(why, after);
  } else {
    plan_ask(delay, next_cause_, after);
  }
}

bool line::failed(const owner_id& owner, const error& why) {
  afterwards after{*this};
  std::shared_ptr<tenure> taken_away;
  {
    const std::lock_guard guard{mutex_};
    if (phase_ == phase::held && tenure_->claim.owner == owner) {
      // An ask that ran out of time after a push had brought the grant says nothing about it.
      if (why.which() == errc::lost) taken_away = tenure_;
    } else if (!claims_for(owner)) {
      return false;
    } else if (why.which() == errc::lost) {
      // A grant we had not heard of was taken away: its answer or push, if it still comes, is old.
      revoked_at_ = home_.clock().now();
      pushed_.reset();
      look_now_ = true;
      if (!head_->asynchronous()) {
        after.wake(*head_);
      } else if (!asking_) {
        plan_ask(duration::zero(), acquire_cause::looked, after);
      }
    } else if (head_->asynchronous()) {
      after.ask_elsewhere();
      retry_async(why, after);
    }
  }
  after.run();
  if (taken_away) home_.keeper().lose(*taken_away, loss_reason::broken);
  return true;
}

}  // namespace crosslock::inner
