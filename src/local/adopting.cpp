// Taking up a detached hold. The engine changes its owner id in the same step, so that a receipt
// serves once; a line of its own keeps it apart from threads that wait for the same name here.
#include "local/afterwards.hpp"
#include "local/core.hpp"
#include "local/line.hpp"

namespace crosslock::inner {

std::shared_ptr<section> line::adopt(const seam::grant& detached, const wish& wish) {
  waiter me;
  me.wish = wish;
  me.started = home_.clock().now();
  me.section = std::make_shared<section>(home_.shared_from_this(), shared_from_this());
  enter(me);
  try {
    while (me.now_is == waiter::state::head) adopt_once(me, detached);
  } catch (...) {
    abandon_claim(me);
    throw;
  }
  home_.claim_ends();
  report(home_, me);
  if (me.failure) std::rethrow_exception(me.failure);
  return me.now_is == waiter::state::granted ? std::move(me.section) : nullptr;
}

void line::adopt_once(waiter& me, const seam::grant& detached) {
  const seam::claim claim = prepare_ask(me);
  try {
    settle_adoption(me, home_.engine().adopt(detached, claim, home_.give_up()), detached.first);
  } catch (const error& why) {
    if (const auto delay = retry_delay(me, why)) wait_in_line(me, *delay);
  }
}

void line::settle_adoption(waiter& me, const std::optional<seam::grant>& adopted, fence written) {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    me.attempt.was_on_server = true;
    if (!adopted) {
      me.attempt.on_server = false;
      leave(me, observer::wait_result::busy, after);
    } else {
      section& section = *me.section;
      if (take(me, *adopted, acquire_cause::asked, after)) {
        section.fence_ = written;  // the same critical section goes on
      } else if (closed_) {
        fail(me, error{errc::closed, "the client was closed"}, after);
      } else {
        leave(me, observer::wait_result::busy, after);
      }
    }
  }
  after.run();
}

}  // namespace crosslock::inner
