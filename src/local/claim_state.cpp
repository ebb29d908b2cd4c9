#include "local/claim_state.hpp"

#include <algorithm>

namespace crosslock::inner {
namespace {

using kind = claim_step::kind;
using wait_result = observer::wait_result;

claim_step fail_with(errc code) { return {.what = kind::fail, .code = code}; }
claim_step leave_because(wait_result why) { return {.what = kind::leave, .because = why}; }

bool is_hopeless(const claim_state& claim, const claim_surroundings& around) {
  if (claim.phase != claim_phase::pausing) return false;
  return !around.waits || !endures(claim.trouble, around.endures, around.now);
}

/// Its time is up.
claim_step time_is_up(const claim_state& claim, const claim_surroundings& around) {
  const claim_step ran_out = leave_because(wait_result::timed_out);
  if (claim.answered || around.answered) return ran_out;
  if (claim.trouble.failures == 0) {
    const bool silent = claim.phase == claim_phase::asking;
    return silent && around.now - around.began >= around.timeout ? fail_with(errc::timed_out)
                                                                 : ran_out;
  }
  const bool out = is_outage(claim.trouble, around.began, around.now, around.timeout);
  return out ? fail_with({}) : ran_out;
}

bool is_due(const claim_state& claim, time_point now) {
  switch (claim.phase) {
    case claim_phase::fresh:
      return true;
    case claim_phase::waiting:
      return claim.news || now >= claim.look_at;
    case claim_phase::pausing:
      return now >= claim.look_at;
    case claim_phase::asking:
    case claim_phase::over:
      return false;
  }
  return false;
}

}  // namespace

claim_step next_step(const claim_state& claim, const claim_surroundings& around) {
  const bool asking = claim.phase == claim_phase::asking;
  if (around.closed) return fail_with(errc::closed);
  if (around.upgrade_lost) return fail_with(errc::lost);
  if (claim.granted) return {.what = kind::take};
  // However short its time is, an acquire asks once.
  if (!claim.asked) return {.what = kind::ask};
  const bool spent = claim.phase == claim_phase::fresh;
  if ((claim.busy && !around.waits) || (around.once && (claim.busy || spent))) {
    return leave_because(wait_result::busy);
  }
  if (is_hopeless(claim, around)) return fail_with({});
  if (around.stopped) return leave_because(wait_result::cancelled);
  if (around.now >= around.end) return time_is_up(claim, around);
  if (is_due(claim, around.now)) return {.what = kind::ask};
  const time_point until = asking ? overdue(claim.asked_at, around.timeout) : claim.look_at;
  if (asking && around.now >= until) return {.what = kind::miss};
  return {.what = kind::wait, .until = std::min(until, around.end)};
}

void note_ask(claim_state& claim, time_point now) {
  if (claim.asked) {
    const bool told = claim.phase == claim_phase::waiting && claim.news;
    claim.cause = told ? acquire_cause::looked : acquire_cause::refreshed;
  }
  claim.asked = true;
  claim.asked_at = now;
  claim.busy = false;
  claim.news = false;
  claim.was_on_server = claim.on_server;
  claim.on_server = true;
  claim.phase = claim_phase::asking;
}

void note_answer(claim_state& claim, const seam::answer& answer, time_point look_at) {
  claim.answered = true;
  claim.trouble = {};
  claim.phase = claim_phase::waiting;
  claim.look_at = look_at;
  if (answer.result == seam::ask_result::granted) {
    claim.granted = answer.granted;
    claim.granted_by = claim.cause;
    return;
  }
  claim.stands = true;
  claim.busy = answer.result == seam::ask_result::busy;
  claim.on_server = !claim.busy;
}

void note_failure(claim_state& claim, const error& why, time_point now, time_point again) {
  const bool known_before =
      claim.phase == claim_phase::asking ? claim.was_on_server : claim.on_server;
  claim.on_server = known_before || why.outcome_unknown();
  claim.stands = true;
  if (claim.phase == claim_phase::pausing) return;  // overdue, and now told by the engine, too
  claim.trouble.note_failure(why, now);
  claim.phase = claim_phase::pausing;
  claim.look_at = again;
}

void note_push(claim_state& claim, const seam::grant& grant) {
  claim.on_server = true;
  claim.answered = true;
  claim.granted = grant;
  claim.granted_by = acquire_cause::pushed;
}

void note_revoked(claim_state& claim, time_point now) {
  claim.revoked_at = now;
  claim.granted.reset();
  claim.news = true;
}

void begin_anew(claim_state& claim) {
  claim = {.asked = claim.asked,
           .answered = claim.answered,
           .stands = claim.stands,
           .cause = claim.cause};
}

}  // namespace crosslock::inner
