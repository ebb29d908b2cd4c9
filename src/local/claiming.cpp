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
  me.started = home_.clock().now();
  me.section = std::allocate_shared<section>(seam::recycling<section>{}, home_.shared_from_this(),
                                             shared_from_this());
  std::optional<std::stop_callback<std::function<void()>>> stop_watch;
  if (wish.stop.stop_possible()) {
    stop_watch.emplace(wish.stop, [&home = home_, &news = me.news] {
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
  if (phase_ == phase::idle) {
    become_head(me);
  } else if (me.wish.waits()) {
    queue_.push_back(me);
    me.now_is = waiter::state::queued;
  } else {
    me.now_is = waiter::state::left;
  }
}

// Out of memory, or of threads, on the way: nothing may point to this waiter any more.
void line::abandon_claim(waiter& me) noexcept {
  afterwards after{*this};
  {
    const std::lock_guard guard{mutex_};
    if (me.now_is == waiter::state::head) {
      on_server_ = true;
      leave(observer::wait_result::failed, after);
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
  look_now_ = false;
  if (seam::mutated(seam::mutant::retry_with_new_owner) && failures_ > 0) new_tenure(head.wish);
  was_on_server_ = on_server_;
  on_server_ = true;  // from now on, unless the answer says otherwise
  return tenure_->claim;
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
      if (settle_answer(answer, cause)) return;
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

bool line::settle_answer(const seam::answer& answer, acquire_cause cause) {
  afterwards after{*this};
  bool settled = true;
  {
    const std::lock_guard guard{mutex_};
    failures_ = 0;
    was_on_server_ = true;
    if (answer.result == seam::ask_result::granted) {
      settled = take(answer.granted, cause, after);
    } else if (answer.result == seam::ask_result::busy && !head_->wish.waits()) {
      on_server_ = false;
      leave(observer::wait_result::busy, after);
    } else {
      on_server_ = answer.result == seam::ask_result::in_line;
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
    on_server_ = was_on_server_ || why.outcome_unknown();
    const retry_options& retry = home_.settings().retry;
    delay = home_.keeper().retry_pause(failures_);
    const bool hopeless = !why.retryable() || !me.wish.waits() || ++failures_ > retry.tries ||
                          home_.clock().now() + *delay >= me.wish.end;
    if (hopeless || closed_) {
      delay.reset();
      fail(why, after);
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
        fail(error{errc::closed, "the client was closed"}, after);
        settled = true;
      } else if (pushed_) {
        settled = take(*std::exchange(pushed_, std::nullopt), acquire_cause::pushed, after);
        if (!settled) ask_again = acquire_cause::looked;
      } else if (stopped || now >= me.wish.end) {
        leave(stopped ? observer::wait_result::cancelled : observer::wait_result::timed_out, after);
        after.withdraw_here();
        settled = true;
      } else if (look_now_ && failures_ == 0) {  // news do not shorten the pause behind a failure
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
