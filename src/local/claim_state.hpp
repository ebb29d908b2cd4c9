// One claim on its way to a grant, as a pure machine: what has happened to it, and what to do next.
//
// The line tells it what happens (note_...) and asks `next_step` what to do. It neither locks, nor
// sends, nor reads a clock. The blocking and the asynchronous acquire drive the same machine: the
// one carries out its steps on the caller's thread, the other as events.
#pragma once

#include "keeper/lease_record.hpp"
#include "local/outage.hpp"

#include <crosslock/error.hpp>
#include <crosslock/observer.hpp>

#include <cstdint>
#include <optional>

namespace crosslock::inner {

/// The legal phases, and what leads from one to the next:
///
///     fresh --ask--> asking --answer--> waiting --look_at, news--> asking
///       ^              |                   |
///       |              '---failure-----> pausing --look_at-------> asking
///       |                                  |
///       '-- spent -- (take) <--- a grant --'         any of them --> over
///
/// What comes to a thread that is blocked in its ask is noted, and looked at behind the answer: it
/// could not return before, and might return with a grant that is spent by then.
enum class claim_phase : std::uint8_t {
  fresh,    ///< no server has heard of this owner id
  asking,   ///< an ask is on its way
  waiting,  ///< answered: in line, or "busy" for somebody who waits nevertheless
  pausing,  ///< the last ask failed; news do not shorten the pause before the next
  over,     ///< granted, left or failed
};

struct claim_state {
  claim_phase phase = claim_phase::fresh;
  bool on_server = false;      ///< the server may know the claim: if it ends it is withdrawn
  bool was_on_server = false;  ///< the same, before the ask that is on its way
  bool asked = false;          ///< at least once during this acquire
  bool answered = false;       ///< the same of the server's answers
  bool stands = false;         ///< it has waited or had trouble: others need not try, too
  bool busy = false;           ///< the last answer
  bool news = false;           ///< told to look again
  acquire_cause cause = acquire_cause::asked;  ///< of the present or the next ask
  time_point asked_at{};                       ///< asking: since when
  time_point look_at{};                        ///< waiting, pausing: when to ask again
  time_point revoked_at = time_point::min();   ///< what was asked for before is worth nothing
  std::optional<seam::grant> granted{};        ///< by answer or push, and not taken yet
  acquire_cause granted_by{};
  outage trouble{};  ///< since the last answer
};

/// What the machine has to know of the acquire that it belongs to.
struct claim_surroundings {
  time_point now{};
  time_point began{};                  ///< since when it, or whose turn it was before, asks in vain
  time_point end = time_point::max();  ///< of its time
  duration timeout{};                  ///< of a request
  endurance endures{};                 ///< of failures in a row
  bool answered = false;               ///< the server has, to another claimant, during its time
  bool waits = true;                   ///< "busy" does not end it
  bool once = false;                   ///< an adoption: nothing else will do if it comes too late
  bool stopped = false;
  bool closed = false;
  bool upgrade_lost = false;  ///< the shared hold that it would have upgraded
};

struct claim_step {
  enum class kind : std::uint8_t {
    ask,    ///< send the claim to the server
    miss,   ///< the answer is overdue: a failure
    wait,   ///< there is nothing to do before `until`, but for news
    take,   ///< keep what was granted
    leave,  ///< end it, for the reason `because`
    fail,   ///< end it with an error
  };
  kind what = kind::wait;
  time_point until = time_point::max();
  observer::wait_result because = observer::wait_result::busy;
  errc code{};  ///< fail: `closed`, `lost`, `timed_out`; none for the last failure
};

/// What to do now. Never called when the claim is over.
claim_step next_step(const claim_state& claim, const claim_surroundings& around);

// What happens to it.

/// The ask goes out: from now on the server may know the claim.
void note_ask(claim_state& claim, time_point now);
/// `look_at`: when to ask again if it waits.
void note_answer(claim_state& claim, const seam::answer& answer, time_point look_at);
/// `again`: when to ask again if it goes on.
void note_failure(claim_state& claim, const error& why, time_point now, time_point again);
/// A grant came unasked.
void note_push(claim_state& claim, const seam::grant& grant);
/// A grant was taken away before it was heard of: its answer or push, if one comes, is old.
void note_revoked(claim_state& claim, time_point now);
/// When an ask that was sent then is overdue: engines tell so earlier, with more to say.
constexpr time_point overdue(time_point asked_at, duration timeout) {
  return asked_at + timeout + timeout / 4;
}
/// The grant came too late to be of use: it goes on under another owner id.
void begin_anew(claim_state& claim);

}  // namespace crosslock::inner
