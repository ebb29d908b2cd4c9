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
  me->started = home_.clock().now();
  me->critical_section =
      std::make_shared<critical_section>(home_.shared_from_this(), line_.shared_from_this());
  me->done = std::move(done);
  const std::weak_ptr<line> weak = line_.weak_from_this();
  if (request.stop.stop_possible()) {
    // The callback cannot outlive the waiter: its destructor waits for one that is running.
    me->stop_watch.emplace(request.stop, [weak, waiting = me.get()] {
      if (const auto here = weak.lock()) here->claims().look_after(*waiting);
    });
  }
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    find_way_in(*me);
    if (me->now_is == waiter::state::left || me->now_is == waiter::state::granted) {
      after.deliver(me);
    } else {
      me->self = me;
      // Who does not wait is answered by the server, not by the clock.
      if (request.waits() && request.end != time_point::max()) {
        me->timer = plan_look(request.end, me);
      }
      if (me->now_is == waiter::state::claimant) go_on(*me, after);
    }
  }
  after.run();
  // Requested before it had a place, the stop found nothing to end.
  if (request.stop.stop_requested()) look_after(*me);
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
  claimant.asynchronous() ? go_on(claimant, after) : after.wake(claimant);
}

void claiming::look_again(waiter& claimant, deferred_actions& after) {
  claimant.claim.news = true;
  claimant.asynchronous() ? go_on(claimant, after) : after.wake(claimant);
}

void claiming::revoked(waiter& claimant, deferred_actions& after) {
  note_revoked(claimant.claim, home_.clock().now());
  claimant.asynchronous() ? go_on(claimant, after) : after.wake(claimant);
}

}  // namespace crosslock::inner
