// The blocking acquire: queue here, and once claimant do the round trips on this very thread.
//
// Note, look, park: news that come while the claimant asks are noted in its claim and looked at
// before it parks, and it never parks for longer than the engine's look_after.
#include "local/claiming.hpp"

#include "local/client_context.hpp"
#include "local/deferred_actions.hpp"
#include "local/line.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::inner {
namespace {

/// A request of a timed wait ends with the wait, but is given a moment to succeed at all.
time_point ask_give_up(const acquire_request& request, time_point now, duration timeout) {
  constexpr duration least = std::chrono::milliseconds{50};
  if (!request.waits()) return now + timeout;
  return std::clamp(request.end, now + std::min(least, timeout), now + timeout);
}

}  // namespace

std::shared_ptr<critical_section> claiming::acquire(const acquire_request& request) {
  home_.check_usable();
  waiter me;
  me.request = request;
  return carry_through(me);
}

void claiming::refuse_own_thread(const acquire_request& request) {
  const seam::lock_guard guard{line_.mutex()};
  refuse_waiting_for_itself(request);
}

std::shared_ptr<critical_section> claiming::upgrade(const critical_section& shared,
                                                    const acquire_request& request) {
  home_.check_usable();
  waiter me;
  me.request = request;
  me.upgrades = &shared;
  return carry_through(me);
}

// The engine changes the owner id in the same step, so that a receipt serves once.
std::shared_ptr<critical_section> claiming::adopt(const seam::grant& detached,
                                                  const acquire_request& request) {
  waiter me;
  me.request = request;
  me.adopts = &detached;
  return carry_through(me);
}

std::shared_ptr<critical_section> claiming::carry_through(waiter& me) {
  me.started = home_.clock().now();
  me.critical_section = std::allocate_shared<critical_section>(
      seam::recycling<critical_section>{}, home_.shared_from_this(), line_.shared_from_this());
  std::optional<std::stop_callback<std::function<void()>>> stop_watch;
  if (me.request.stop.stop_possible()) {
    stop_watch.emplace(me.request.stop, [&home = home_, &news = me.news] {
      news.fetch_add(1);
      home.rouse(news);
    });
  }
  {
    const seam::lock_guard guard{line_.mutex()};
    find_way_in(me);
  }
  wait_in_queue(me);
  if (me.now_is == waiter::state::claimant) {
    try {
      claim_here(me);
    } catch (...) {
      abandon_claim(me);
      throw;
    }
    home_.claim_ends();
  }
  report(home_, me);
  if (me.failure) std::rethrow_exception(me.failure);
  return me.now_is == waiter::state::granted ? std::move(me.critical_section) : nullptr;
}

void claiming::wait_in_queue(waiter& me) {
  seam::park_unless(home_.clock(), me.news, [&]() -> std::optional<time_point> {
    const seam::lock_guard guard{line_.mutex()};
    if (me.now_is == waiter::state::queued) leave_queue_if_over(me);
    return me.now_is == waiter::state::queued ? std::optional{me.request.end} : std::nullopt;
  });
}

void claiming::claim_here(waiter& me) {
  home_.await_news_unless(me.news, [&]() -> std::optional<time_point> {
    while (const auto next = step_here(me)) {
      if (next->what == claim_step::kind::wait) return next->until;
      ask_here(me);
    }
    return std::nullopt;
  });
}

/// What is left to do: ask or wait; empty when the claim is over.
std::optional<claim_step> claiming::step_here(waiter& me) {
  deferred_actions after{line_};
  std::optional<claim_step> next;
  {
    const seam::lock_guard guard{line_.mutex()};
    next = step(me, after);
    if (me.now_is != waiter::state::claimant) next.reset();
  }
  after.run();
  return next;
}

void claiming::ask_here(waiter& me) {
  deferred_actions after{line_};
  try {
    const seam::answer answer = ask_engine(me);
    const seam::lock_guard guard{line_.mutex()};
    note_answered_ask(me, answer, after);
  } catch (const error& why) {
    const seam::lock_guard guard{line_.mutex()};
    note_failed_ask(me, why, after);
  }
  after.run();
}

/// What is claimed is changed by this thread only.
seam::answer claiming::ask_engine(const waiter& me) {
  const seam::claim& claim = me.record->claim;
  if (!me.adopts) {
    const duration timeout = home_.settings().timeout;
    return home_.engine().ask(claim, ask_give_up(me.request, me.claim.asked_at, timeout));
  }
  seam::answer answer;
  if (auto adopted = home_.engine().adopt(*me.adopts, claim, home_.give_up())) {
    answer.result = seam::ask_result::granted;
    answer.granted = std::move(*adopted);
  }
  return answer;
}

// Out of memory, or of threads, on the way: nothing may point to this waiter any more.
void claiming::abandon_claim(waiter& me) noexcept {
  deferred_actions after{line_};
  {
    const seam::lock_guard guard{line_.mutex()};
    if (me.now_is == waiter::state::claimant) {
      me.claim.on_server = true;
      leave(me, observer::wait_result::failed, after);
    }
  }
  home_.claim_ends();
  after.run();
}

}  // namespace crosslock::inner
