// The asynchronous acquire, and what the engine reports. Nobody waits here: asks go out by
// ask_async, their answers and every later look are events. What is reported to a blocking claimant
// is only noted, and its thread is woken.
#include "local/claiming.hpp"

#include "local/client_context.hpp"
#include "local/deferred_actions.hpp"
#include "local/line.hpp"

#include <utility>

namespace crosslock::inner {

void claiming::acquire_async(const acquire_request& request, acquire_callback done) {
  home_.check_usable();
  const auto me = std::make_shared<waiter>();
  me->request = request;
  me->done = std::move(done);
  begin_async(me);
}

void claiming::upgrade_async(const critical_section& shared, const acquire_request& request,
                             acquire_callback done) {
  home_.check_usable();
  const auto me = std::make_shared<waiter>();
  me->request = request;
  me->done = std::move(done);
  me->upgrades = &shared;
  begin_async(me);
}

void claiming::begin_async(const std::shared_ptr<waiter>& me) {
  const acquire_request& request = me->request;
  me->started = home_.clock().now();
  me->critical_section =
      std::make_shared<critical_section>(home_.shared_from_this(), line_.shared_from_this());
  const std::weak_ptr<line> weak = line_.weak_from_this();
  const std::stop_token stop = request.stop;
  const time_point end = request.waits() ? request.end : time_point::max();
  if (stop.stop_possible()) {
    // The callback cannot outlive the waiter: its destructor waits for one that is running.
    me->stop_watch.emplace(stop, [weak, waiting = me.get()] {
      if (const auto here = weak.lock()) here->claims().look_after(*waiting);
    });
  }
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    find_way_in_async(*me);
    if (me->now_is == waiter::state::claimant || me->now_is == waiter::state::queued) {
      me->self = me;
      // Who does not wait is answered by the server, not by the clock.
      if (end != time_point::max()) me->timer = plan_look(end, me);
      if (me->now_is == waiter::state::claimant) go_on(*me, after);
    } else {
      after.deliver(me);
    }
  }
  after.run();
  // Requested before it had a place, the stop found nothing to end.
  if (stop.stop_requested()) look_after(*me);
}

/// An upgrade that stands in another's way is told where every other end of it is told.
void claiming::find_way_in_async(waiter& me) {
  try {
    find_way_in(me);
  } catch (const error&) {
    if (!me.upgrades || line_.closed()) throw;
    me.failure = std::current_exception();
    me.left_because = observer::wait_result::failed;
    me.now_is = waiter::state::failed;
  }
}

void claiming::nudge(waiter& claimant, deferred_actions& after) {
  claimant.asynchronous() ? go_on(claimant, after) : after.wake(claimant);
}

void claiming::look_after(waiter& waiter) {
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    if (waiter.now_is == waiter::state::claimant) {
      go_on(waiter, after);
    } else if (waiter.now_is == waiter::state::queued) {
      leave_queue_if_over(waiter);
      if (waiter.now_is != waiter::state::queued) after.deliver(std::move(waiter.self));
    }
  }
  after.run();
}

void claiming::go_on(waiter& claimant, deferred_actions& after) {
  const claim_step next = step(claimant, after);
  if (claimant.now_is != waiter::state::claimant) return;
  if (next.what == claim_step::kind::ask) {
    after.ask(claimant.record->claim);
    // Where a session is the lease nobody else notices that there is no answer.
    if (home_.about().lease_is_session) {
      const time_point then = overdue(claimant.claim.asked_at, home_.settings().timeout);
      home_.keeper().timers().cancel(claimant.overdue);
      claimant.overdue = plan_look(then, claimant.self);
    }
  } else if (claimant.claim.phase != claim_phase::asking && next.until < claimant.request.end &&
             next.until != claimant.look_planned) {
    claimant.look_planned = next.until;  // the end of its time has a timer already
    plan_look(next.until, claimant.self);
  }
}

task_queue::ticket claiming::plan_look(time_point moment, const std::weak_ptr<waiter>& whose) {
  return home_.keeper().timers().at(moment, [weak = line_.weak_from_this(), whose] {
    const auto here = weak.lock();
    const auto waiting = whose.lock();
    if (here && waiting) here->claims().look_after(*waiting);
  });
}

void claiming::send(const seam::claim& claim) {
  {
    const seam::lock_guard guard{line_.mutex()};
    if (!claimant_of(claim.owner)) return;
  }
  try {
    home_.engine().ask_async(claim, home_.clock().now() + home_.settings().timeout);
  } catch (const error& why) {
    line_.failed(claim.owner, why);
  } catch (const std::exception& why) {
    line_.failed(claim.owner, error{errc::unsupported, why.what()});
  }
}

void claiming::answered(waiter& claimant, const seam::answer& answer, deferred_actions& after) {
  if (!claimant.asynchronous()) return;  // a blocking ask returns its answer
  note_answered_ask(claimant, answer, after);
  go_on(claimant, after);
}

void claiming::failed(waiter& claimant, const error& why, deferred_actions& after) {
  if (!claimant.asynchronous()) return;
  note_failed_ask(claimant, why, after);
  go_on(claimant, after);
}

void claiming::granted(waiter& claimant, const seam::grant& grant, deferred_actions& after) {
  note_heard(claimant, after);
  note_push(claimant.claim, grant);
  nudge(claimant, after);
}

void claiming::look_again(waiter& claimant, deferred_actions& after) {
  claimant.claim.news = true;
  nudge(claimant, after);
}

void claiming::revoked(waiter& claimant, deferred_actions& after) {
  note_revoked(claimant.claim, home_.clock().now());
  nudge(claimant, after);
}

}  // namespace crosslock::inner
