// Who may go in, and what a claimant does next. The two ways to do it are in claiming_here.cpp and
// claiming_async.cpp.
#include "local/claiming.hpp"

#include "local/client_context.hpp"
#include "local/deferred_actions.hpp"
#include "local/line.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace crosslock::inner {
namespace {

/// So long a wait may go on beyond its time, to have an answer and to leave the line. The time of
/// one who does not wait is when it came.
time_point end_of_delay(const waiter& one) {
  constexpr duration delay = std::chrono::milliseconds{100};
  const time_point end = one.request.waits() ? one.request.end : one.started;
  return end > time_point::max() - delay ? time_point::max() : end + delay;
}

}  // namespace

void claiming::find_way_in(waiter& me) {
  if (line_.closed()) throw line_.client_closed();
  if (me.upgrades) return find_way_in_for_upgrade(me);
  if (me.request.endless_thread != 0 && !holds_.none()) refuse_waiting_for_itself(me.request);
  switch (way_in(me, !queue_.empty(), me.started)) {
    case entry_decision::join:
      return holds_.join(me, me.started);
    case entry_decision::claim:
      return become_claimant(me);
    case entry_decision::queue:
      if (!me.request.waits()) {
        me.now_is = waiter::state::left;
        return;
      }
      queue_.push_back(me);
      me.now_is = waiter::state::queued;
      holds_.note_local_queue();
      return;
  }
}

void claiming::refuse_waiting_for_itself(const acquire_request& request) const {
  if (!holds_.locked_by(request.endless_thread, home_.clock().now())) return;
  throw error{errc::would_deadlock,
              "this thread holds '" + line_.given_name()->str() +
                  "' already and would wait for itself for ever: unlock it first, or use one "
                  "recursive_mutex"};
}

// An upgrade queues nowhere: it stands at the end of the server's line, or not at all.
void claiming::find_way_in_for_upgrade(waiter& me) {
  const auto writes = [](const waiter& other) {
    return other.request.demand.mode == claim_mode::exclusive;
  };
  if (!me.upgrades->stands()) throw line_.shared_hold_lost(*me.upgrades);
  if (claimants_.find(writes) || queue_.find(writes)) {
    throw error{errc::upgrade_conflict, "another writer of this process waits for '" +
                                            line_.given_name()->str() +
                                            "': release the shared hold and acquire anew"};
  }
  become_claimant(me);
}

void claiming::new_claim(waiter& claimant) {
  const acquire_request& request = claimant.request;
  auto fresh = std::allocate_shared<local_grant>(seam::recycling<local_grant>{});
  fresh->claim = {.name = line_.name(),
                  .owner = home_.draw_owner(),
                  .mode = request.demand.mode,
                  .permits = request.demand.permits,
                  .of = request.demand.of,
                  .lease = request.lease,
                  .wait = request.waits(),
                  .among_readers = request.among_readers || claimant.upgrades != nullptr,
                  .upgrade = claimant.upgrades != nullptr};
  fresh->fixed = request.fixed;
  fresh->listener = line_.weak_from_this();
  claimant.record = std::move(fresh);
}

void claiming::become_claimant(waiter& waiter) {
  new_claim(waiter);
  lead(waiter);
}

void claiming::lead(waiter& waiter) {
  claimants_.push_back(waiter);
  waiter.now_is = waiter::state::claimant;
  waiter.claims_since = home_.clock().now();
  if (!waiter.asynchronous()) home_.claim_begins();
  if (given_up_.failures > 0) {
    waiter.claim.trouble = given_up_;
    waiter.claim.trouble.since = std::max(given_up_.since, waiter.started);
  }
  // A writer of this process waits from now on: no further reader may join before it.
  if (waiter.request.demand.mode == claim_mode::exclusive) {
    holds_.note_local_writer(waiter.upgrades);
  } else if (lacks_permits(waiter)) {
    holds_.note_local_queue();
  }
}

entry_decision claiming::way_in(const waiter& one, bool others_before, time_point now) const {
  if (!others_before && claimants_.empty() && holds_.none()) return entry_decision::claim;
  const claim_mode mode = one.request.demand.mode;
  entry_question asked{.mode = mode, .waits = one.request.waits(), .others_before = others_before};
  const auto differs = [&](const waiter& each) {
    return another_kind(each.request.demand.mode, mode);
  };
  asked.another_kind = holds_.another_kind(mode) || claimants_.find(differs) != nullptr ||
                       (!queue_.empty() && differs(queue_.front()));
  asked.shared_grant = holds_.joinable(one.request, now) != nullptr;
  asked.exclusive_grant = holds_.exclusive();
  asked.claimants = !claimants_.empty();
  const auto any_claimant = [this](auto question) CROSSLOCK_REQUIRES(line_mutex) {
    return claimants_.find(question) != nullptr;
  };
  const auto mode_of = [](const waiter& each) { return each.request.demand.mode; };
  asked.claimants_all_permits =
      !any_claimant([&](const waiter& each) { return mode_of(each) != claim_mode::permit; });
  asked.claimants_exclusive =
      any_claimant([&](const waiter& each) { return mode_of(each) == claim_mode::exclusive; });
  asked.room = mode != claim_mode::permit || room_for(one.request.demand);
  asked.claimants_stand = any_claimant([](const waiter& each) { return each.claim.stands; });
  return inner::way_in(asked);
}

bool claiming::room_for(const seam::demand& demand) const {
  std::int64_t claimed = demand.permits + holds_.permits();
  int claimants = 0;
  claimants_.find([&](const waiter& each) {
    claimed += each.request.demand.permits;
    return ++claimants == claimants_max;
  });
  return claimants < claimants_max && claimed <= demand.of;
}

void claiming::advance(deferred_actions& after) {
  while (!queue_.empty()) {
    waiter& next = queue_.front();
    const time_point now = home_.clock().now();
    const entry_decision way = way_in(next, false, now);
    if (way == entry_decision::queue) return;
    if (way == entry_decision::join) {
      queue_.remove(next);
      holds_.join(next, now);
      notify(next, after);
      continue;
    }
    try {
      new_claim(next);
    } catch (...) {
      // Out of memory: whoever ends a grant cannot be told, but this one can, and the next may try.
      fail_queued(next, std::current_exception(), after);
      continue;
    }
    queue_.remove(next);
    lead(next);
    if (next.asynchronous()) {
      go_on(next, after);
    } else {
      after.wake(next);
    }
  }
}

void claiming::notify(waiter& ended, deferred_actions& after) {
  if (ended.asynchronous()) {
    after.deliver(std::move(ended.self));
  } else {
    after.wake(ended);
  }
}

void claiming::leave_queue_if_over(waiter& me) {
  const bool stopped = me.request.stop.stop_requested();
  if (!stopped && home_.clock().now() < me.request.end) return;
  const auto failed = stopped ? std::nullopt : outage_of(me);
  queue_.remove(me);
  me.now_is = failed ? waiter::state::failed : waiter::state::left;
  me.left_because = stopped  ? observer::wait_result::cancelled
                    : failed ? observer::wait_result::failed
                             : observer::wait_result::timed_out;
  if (failed) me.failure = std::make_exception_ptr(*failed);
}

time_point claiming::unanswered_since(const waiter& one, time_point now) const {
  return std::max(one.started, std::min(unheard_since_, now));
}

/// What whoever claims for the others has failed with for as long as this one waits, if that is so.
std::optional<error> claiming::outage_of(const waiter& queued) const {
  if (heard_ >= queued.started) return std::nullopt;
  const auto in_trouble = [](const waiter& each) { return each.claim.trouble.failures > 0; };
  const waiter* const claimant = claimants_.find(in_trouble);
  if (!claimant) return std::nullopt;
  const outage& trouble = claimant->claim.trouble;
  const time_point now = home_.clock().now();
  const bool out = is_outage(trouble, unanswered_since(queued, now), now, home_.settings().timeout);
  return out ? trouble.last : std::nullopt;
}

claim_surroundings claiming::surroundings_of(const waiter& claimant) const {
  const acquire_request& request = claimant.request;
  const bool stopped = request.stop.stop_requested();
  const time_point now = home_.clock().now();
  return {.now = now,
          .began = unanswered_since(claimant, now),
          .end = request.waits() ? request.end : time_point::max(),
          .timeout = home_.settings().timeout,
          .endures = endurance_of(claimant),
          .answered = heard_ >= claimant.started,
          .waits = request.waits(),
          .once = claimant.adopts != nullptr,
          .stopped = stopped,
          .closed = line_.closed(),
          .upgrade_lost = claimant.upgrades != nullptr && !claimant.upgrades->stands()};
}

endurance claiming::endurance_of(const waiter& one) const {
  const bool once = one.adopts != nullptr;
  return {.tries = home_.settings().retry.tries,
          .time = once ? duration{} : std::max(one.request.lease, home_.lease())};
}

/// Carries out what can be done here. What is left to the caller, if it is still a claimant
/// afterwards, is to ask (the claim is prepared) or to wait.
claim_step claiming::step(waiter& claimant, deferred_actions& after) {
  using step_kind = claim_step::kind;
  for (;;) {
    const claim_surroundings around = surroundings_of(claimant);
    const claim_step next = next_step(claimant.claim, around);
    switch (next.what) {
      case step_kind::ask:
        prepare_ask(claimant, around.now);
        return next;
      case step_kind::miss:
        note_failed_ask(claimant, no_answer(), after);
        break;
      case step_kind::wait:
        return next;
      case step_kind::take:
        take(claimant, around.now, after);
        if (claimant.now_is != waiter::state::claimant) return next;
        break;
      case step_kind::leave:
        leave(claimant, next.because, after);
        return next;
      case step_kind::fail:
        fail(claimant, failure_of(claimant, next.code), after);
        return next;
    }
  }
}

error claiming::failure_of(const waiter& claimant, errc code) const {
  switch (code) {
    case errc::closed:
      return line_.client_closed();
    case errc::lost:
      return line_.shared_hold_lost(*claimant.upgrades);
    case errc::timed_out:
      return no_answer();
    default:
      return *claimant.claim.trouble.last;
  }
}

error claiming::no_answer() const {
  return error{
      errc::timed_out,
      "'" + line_.given_name()->str() + "': no answer from the server",
      {.engine = std::string{home_.about().name}, .native_code = 0, .outcome_unknown = true}};
}

void claiming::prepare_ask(waiter& claimant, time_point now) {
  if (seam::mutated(seam::mutant::retry_with_new_owner) && claimant.claim.trouble.failures > 0) {
    new_claim(claimant);
  }
  note_ask(claimant.claim, now);
  unheard_since_ = std::min(unheard_since_, now);
  // While others use the shared grant, too, it stands in the way of an upgrade.
  if (claimant.upgrades && claimant.upgrades->grant_->only_user_is(*claimant.upgrades)) {
    claimant.record->claim.beside = claimant.upgrades->owner();
  }
}

void claiming::note_answered_ask(waiter& claimant, const seam::answer& answer,
                                 deferred_actions& after_all) {
  note_heard(claimant, after_all);
  if (answer.result == seam::ask_result::granted) return note_answer(claimant.claim, answer, {});
  const bool look = !seam::mutated(seam::mutant::no_look_behind_wake_up);
  const duration after = std::min(answer.look_after, home_.settings().look_every);
  note_answer(claimant.claim, answer, look ? home_.clock().now() + after : time_point::max());
}

void claiming::note_failed_ask(waiter& claimant, const error& why, deferred_actions& after) {
  const duration pause = home_.keeper().retry_pause(claimant.claim.trouble.failures);
  const time_point now = home_.clock().now();
  note_failure(claimant.claim, why, now, now + pause);
  if (claimant.request.waits() && why.retryable() && now < claimant.request.end) {
    after.tell_trouble(claimant.claim.trouble);
  }
}

/// By answer or push.
void claiming::note_heard(const waiter& claimant, deferred_actions& after) {
  heard_ = home_.clock().now();
  unheard_since_ = time_point::max();
  if (claimant.claim.trouble.failures > 0) after.tell_trouble({});
}

void claiming::take(waiter& claimant, time_point now, deferred_actions& after) {
  const seam::grant grant = *std::exchange(claimant.claim.granted, std::nullopt);
  try {
    if (!keep(claimant, grant, now)) {
      // Too late to be of use to anybody: it is given back, and claimed anew under another id,
      // which shall not find the old one in its way.
      const time_point until = end_of_delay(claimant);
      after.withdraw_first(claimant.record->claim,
                           claimant.asynchronous() ? std::nullopt : std::optional{until});
      begin_anew(claimant.claim);
      return new_claim(claimant);
    }
  } catch (const error& why) {  // no thread is left that could keep it
    return note_failed_ask(claimant, why, after);
  }
  holds_.begin(claimant, claimant.record, now);
  claimant.cause = claimant.claim.granted_by;
  // The same critical section goes on.
  if (claimant.adopts) claimant.critical_section->fence_ = claimant.adopts->first;
  let_companions_in(claimant, now, after);
  finish(claimant, waiter::state::granted, after);
  advance(after);
}

bool claiming::keep(waiter& claimant, const seam::grant& grant, time_point now) {
  const time_point begun = home_.about().lease_is_session ? grant.asked : grant.sent;
  if (begun <= claimant.claim.revoked_at) return false;
  claimant.record->begin(grant, now);
  return home_.keeper().keep(claimant.record);
}

// Readers that stood behind the claimant when its claim went out came before whoever stands behind
// it on the server: they go in with it, also when somebody waits there by now.
void claiming::let_companions_in(const waiter& claimant, time_point now, deferred_actions& after) {
  while (!queue_.empty() && queue_.front().started <= claimant.claims_since &&
         holds_.shareable(*claimant.record, queue_.front().request, now)) {
    waiter& next = queue_.pop_front();
    holds_.use(next, claimant.record, now, acquire_cause::joined);
    notify(next, after);
  }
}

void claiming::finish(waiter& claimant, waiter::state how, deferred_actions& after) {
  claimants_.remove(claimant);
  claimant.now_is = how;
  claimant.claim.phase = claim_phase::over;
  claimant.record.reset();
  if (claimant.asynchronous()) after.deliver(std::move(claimant.self));
}

void claiming::leave(waiter& claimant, observer::wait_result because, deferred_actions& after) {
  claimant.left_because = because;
  if (claimant.claim.on_server) {
    // A thread that has given up leaves the line before it returns, if the server answers within a
    // moment, and else in the background: the next it asks for shall not come before that. With an
    // ask that was not answered it may have used up what a timed wait may take beyond its time; one
    // that only woke up late has not.
    const bool here = !claimant.asynchronous() && because != observer::wait_result::failed;
    const bool answered = claimant.claim.trouble.failures == 0;
    const time_point until = answered ? time_point::max() : end_of_delay(claimant);
    after.withdraw(claimant.record->claim, here ? std::optional{until} : std::nullopt);
  }
  finish(claimant, waiter::state::left, after);
  advance(after);
}

void claiming::fail(waiter& claimant, const error& why, deferred_actions& after) {
  claimant.left_because = observer::wait_result::failed;
  claimant.failure = std::make_exception_ptr(why);
  const outage trouble = why.retryable() ? claimant.claim.trouble : outage{};
  if (claimant.claim.on_server) after.withdraw(claimant.record->claim);
  finish(claimant, waiter::state::failed, after);
  fail_those_behind(trouble, after);
  // Whoever claims next has waited for the same server.
  given_up_ = trouble;
  advance(after);
  given_up_ = {};
}

/// Those that have waited behind the same outage for as long as they endure one need not find it
/// out one after another, each by a request of its own that nobody answers.
void claiming::fail_those_behind(const outage& trouble, deferred_actions& after) {
  if (trouble.failures == 0 || heard_ >= trouble.since) return;
  const time_point now = home_.clock().now();
  const auto has_endured = [&](const waiter& one) CROSSLOCK_REQUIRES(line_mutex) {
    return !endures(trouble, endurance_of(one), now, one.started);
  };
  while (waiter* const next = queue_.find(has_endured)) {
    fail_queued(*next, std::make_exception_ptr(*trouble.last), after);
  }
}

void claiming::fail_queued(waiter& queued, std::exception_ptr why, deferred_actions& after) {
  queue_.remove(queued);
  queued.failure = std::move(why);
  queued.left_because = observer::wait_result::failed;
  queued.now_is = waiter::state::failed;
  notify(queued, after);
}

/// Those that are out in this process alone do not leave it enough.
bool claiming::lacks_permits(const waiter& one) const {
  const seam::demand& demand = one.request.demand;
  return demand.mode == claim_mode::permit && demand.permits + holds_.permits() > demand.of;
}

bool claiming::anybody_waits(const critical_section& held) const {
  const auto stands_behind = [&](const waiter& one) CROSSLOCK_REQUIRES(line_mutex) {
    if (one.request.demand.mode != claim_mode::exclusive) return lacks_permits(one);
    return one.upgrades != &held;
  };
  return !queue_.empty() || claimants_.find(stands_behind);
}

waiter* claiming::claimant_of(const owner_id& owner) const {
  return claimants_.find([&](const waiter& each) { return each.record->claim.owner == owner; });
}

void claiming::hurry_upgrade(const local_grant& shared, deferred_actions& after) {
  waiter* const claimant = claimants_.find([&](const waiter& one) CROSSLOCK_REQUIRES(line_mutex) {
    return one.upgrades && one.upgrades->grant_.get() == &shared &&
           shared.only_user_is(*one.upgrades);
  });
  if (!claimant) return;
  claimant->claim.news = true;
  nudge(*claimant, after);
}

void claiming::wake_upgrade(const local_grant& shared, deferred_actions& after) {
  waiter* const claimant = claimants_.find(
      [&](const waiter& one) { return one.upgrades && one.upgrades->grant_.get() == &shared; });
  if (claimant) nudge(*claimant, after);
}

void claiming::wake_upgrade(const critical_section& shared, deferred_actions& after) {
  waiter* const claimant =
      claimants_.find([&](const waiter& one) { return one.upgrades == &shared; });
  if (claimant) nudge(*claimant, after);
}

void claiming::close(deferred_actions& after) {
  const error why = line_.client_closed();
  while (!queue_.empty()) fail_queued(queue_.front(), std::make_exception_ptr(why), after);
  const auto asynchronous = [](const waiter& each) { return each.asynchronous(); };
  while (waiter* const claimant = claimants_.find(asynchronous)) {
    fail(*claimant, why, after);
  }
  claimants_.find([&](waiter& claimant) {
    after.wake(claimant);  // it finds out by itself
    return false;
  });
}

}  // namespace crosslock::inner
