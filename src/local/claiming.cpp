// The blocking acquire: queue here, and once head do the round trips on this very thread.
//
// Subscribe, check, then sleep with a cap: news that come while the head is asking are kept in the
// line and looked at before it parks, and it never parks for longer than the engine's look_after.
#include "local/afterwards.hpp"
#include "local/core.hpp"
#include "local/line.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::inner {
namespace {

/// A request of a timed wait ends with the wait, but is given a moment to succeed at all.
time_point ask_give_up(const wish& wish, time_point now, duration timeout) {
  constexpr duration least = std::chrono::milliseconds{50};
  if (!wish.waits()) return now + timeout;
  return std::clamp(wish.end, now + std::min(least, timeout), now + timeout);
}

}  // namespace

std::shared_ptr<section> line::acquire(const wish& wish) {
  home_.check_usable();
  waiter me;
  me.wish = wish;
  return carry_through(me);
}

std::shared_ptr<section> line::carry_through(waiter& me) {
  me.started = home_.clock().now();
  me.section = std::allocate_shared<section>(seam::recycling<section>{}, home_.shared_from_this(),
                                             shared_from_this());
  std::optional<std::stop_callback<std::function<void()>>> stop_watch;
  if (me.wish.stop.stop_possible()) {
    stop_watch.emplace(me.wish.stop, [&home = home_, &news = me.news] {
      news.fetch_add(1);
      home.engine().rouse(home.clock(), news);
    });
  }
  enter(me);
  wait_in_queue(me);
  if (me.now_is == waiter::state::head) {
    try {
      claim_until_settled(me);
    } catch (...) {
      abandon_claim(me);
      throw;
    }
    home_.claim_ends();
  }
  report(home_, me);
  if (me.failure) std::rethrow_exception(me.failure);
  return me.now_is == waiter::state::granted ? std::move(me.section) : nullptr;
}

void line::enter(waiter& me) {
  const std::lock_guard guard{mutex_};
  place(me);
}

// The mutex is held.
void line::place(waiter& me) {
  if (closed_) throw error{errc::closed, "the client was closed"};
  if (me.upgrades) return place_upgrade(me);
  switch (way_in(me, !queue_.empty(), me.started)) {
    case entry::join:
      return join(me, me.started);
    case entry::claim:
      return become_head(me);
    case entry::queue:
      if (!me.wish.waits()) {
        me.now_is = waiter::state::left;
        return;
      }
      queue_.push_back(me);
      me.now_is = waiter::state::queued;
      return;
  }
}

// Out of memory, or of threads, on the way: nothing may point to this waiter any more.
void line::abandon_claim(waiter& me) noexcept {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    if (me.now_is == waiter::state::head) {
      me.attempt.on_server = true;
      leave(me, observer::wait_result::failed, after);
    }
  }
  home_.claim_ends();
  after.run();
}

void line::wait_in_queue(waiter& me) {
  for (;;) {
    std::uint32_t seen = 0;
    {
      const std::lock_guard guard{mutex_};
      if (me.now_is != waiter::state::queued) return;
      const bool stopped = me.wish.stop.stop_requested();
      if (stopped || home_.clock().now() >= me.wish.end) {
        queue_.remove(me);
        me.now_is = waiter::state::left;
        me.left_because =
            stopped ? observer::wait_result::cancelled : observer::wait_result::timed_out;
        return;
      }
      seen = me.news.load();
    }
    home_.clock().park(me.news, seen, me.wish.end);
  }
}

seam::claim line::prepare_ask(waiter& head) {
  const std::lock_guard guard{mutex_};
  head.attempt.look_now = false;
  return prepare_claim(head);
}

// The mutex is held.
seam::claim line::prepare_claim(waiter& head) {
  attempt& at = head.attempt;
  if (seam::mutated(seam::mutant::retry_with_new_owner) && at.failures > 0) new_claim(head);
  at.was_on_server = at.on_server;
  at.on_server = true;  // from now on, unless the answer says otherwise
  if (head.upgrades && head.upgrades->tenancy_->only_user_is(*head.upgrades)) {
    at.tenancy->claim.beside = head.upgrades->owner();
  }
  return at.tenancy->claim;
}

void line::claim_until_settled(waiter& me) {
  acquire_cause cause = acquire_cause::asked;
  for (;;) {
    const seam::claim claim = prepare_ask(me);
    duration pause{};
    try {
      const time_point now = home_.clock().now();
      const auto answer =
          home_.engine().ask(claim, ask_give_up(me.wish, now, home_.settings().timeout));
      if (settle_answer(me, answer, cause)) return;
      pause = answer.look_after;
    } catch (const error& why) {
      const auto delay = retry_delay(me, why);
      if (!delay) return;
      pause = *delay;
    }
    const auto woken_by = wait_in_line(me, pause);
    if (!woken_by) return;
    cause = *woken_by;
  }
}

bool line::settle_answer(waiter& me, const seam::answer& answer, acquire_cause cause) {
  afterwards after{*this};
  bool settled = true;
  {
    const std::lock_guard guard{mutex_};
    me.attempt.failures = 0;
    me.attempt.was_on_server = true;
    if (answer.result == seam::ask_result::granted) {
      settled = take(me, answer.granted, cause, after);
    } else if (answer.result == seam::ask_result::busy && !me.wish.waits()) {
      me.attempt.on_server = false;
      leave(me, observer::wait_result::busy, after);
    } else {
      me.attempt.on_server = answer.result == seam::ask_result::in_line;
      me.attempt.stands = true;
      settled = false;
    }
  }
  after.run();
  return settled;
}

std::optional<duration> line::retry_delay(waiter& me, const error& why) {
  afterwards after{*this};
  std::optional<duration> delay;
  {
    const std::lock_guard guard{mutex_};
    attempt& at = me.attempt;
    at.on_server = at.was_on_server || why.outcome_unknown();
    at.stands = true;
    const retry_options& retry = home_.settings().retry;
    delay = home_.keeper().retry_pause(at.failures);
    const bool hopeless = !why.retryable() || !me.wish.waits() || ++at.failures > retry.tries ||
                          home_.clock().now() + *delay >= me.wish.end;
    if (hopeless || closed_) {
      delay.reset();
      fail(me, why, after);
    }
  }
  after.run();
  return delay;
}

std::optional<acquire_cause> line::wait_in_line(waiter& me, duration look_after) {
  seam::clock& clock = home_.clock();
  const bool look = !seam::mutated(seam::mutant::no_look_behind_wake_up);
  const time_point look_at =
      look ? clock.now() + std::min(look_after, home_.settings().look_every) : time_point::max();
  for (;;) {
    afterwards after{*this};
    std::optional<acquire_cause> ask_again;
    std::uint32_t seen = 0;
    bool settled = false;
    {
      const std::lock_guard guard{mutex_};
      seen = me.news.load();
      const time_point now = clock.now();
      const bool stopped = me.wish.stop.stop_requested();
      if (me.now_is != waiter::state::head) {
        settled = true;
      } else if (closed_) {
        fail(me, error{errc::closed, "the client was closed"}, after);
        settled = true;
      } else if (me.upgrades && me.upgrades->lost_reason() != loss_reason::none) {
        fail(me, error{errc::lost, "the shared hold of '" + given_name_->str() + "' was lost"},
             after);
        settled = true;
      } else if (me.attempt.pushed) {
        const auto pushed = std::exchange(me.attempt.pushed, std::nullopt);
        settled = take(me, *pushed, acquire_cause::pushed, after);
        if (!settled) ask_again = acquire_cause::looked;
      } else if (stopped || now >= me.wish.end) {
        leave(me, stopped ? observer::wait_result::cancelled : observer::wait_result::timed_out,
              after);
        after.withdraw_here();
        settled = true;
      } else if (me.attempt.look_now &&
                 me.attempt.failures == 0) {  // news do not shorten the pause behind a failure
        ask_again = acquire_cause::looked;
      } else if (now >= look_at) {
        ask_again = acquire_cause::refreshed;
      }
    }
    after.run();
    if (settled) return std::nullopt;
    if (ask_again) return ask_again;
    home_.engine().await_news(clock, me.news, seen, std::min(look_at, me.wish.end));
  }
}

}  // namespace crosslock::inner
