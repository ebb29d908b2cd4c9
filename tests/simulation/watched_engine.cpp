// One claim is one acquire in the book: asked, perhaps queued, then granted or given up, however
// many asks it takes. What a dead process does is not written down.
#include "simulation/watched_engine.hpp"

#include "engine/deadline.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::simulation {

std::int32_t& this_logical_thread() noexcept {
  thread_local std::int32_t number = 0;
  return number;
}

watched_engine::watched_engine(stage& stage, world::process& process, std::int32_t proc,
                               seam::engine_events& core,
                               std::function<void(const owner_id&)> renewed)
    : stage_{stage},
      process_{process},
      proc_{proc},
      core_{core},
      renewed_{std::move(renewed)},
      inside_{stage.network, *this, process, "process " + std::to_string(proc)} {}

const term* watched_engine::find_term(const owner_id& owner) const {
  const auto found = terms_.find(owner);
  return found == terms_.end() ? nullptr : &found->second;
}

bool watched_engine::known_broken(const owner_id& owner) const {
  const auto found = stories_.find(owner);
  return found != stories_.end() && found->second.broken;
}

std::size_t watched_engine::left_behind() const {
  return static_cast<std::size_t>(
      std::count_if(stories_.begin(), stories_.end(),
                    [](const auto& each) { return each.second.open || each.second.held; }));
}

watched_engine::story* watched_engine::find(const owner_id& owner) {
  const auto found = stories_.find(owner);
  return found == stories_.end() ? nullptr : &found->second;
}

void watched_engine::note_ask(const seam::claim& claim, const std::string& lock,
                              std::int32_t thread) {
  if (mute()) return;
  if (story* known = find(claim.owner)) {
    known->beside = claim.beside;
    if (!std::exchange(known->open, true)) known->record.asks_again(stage_.now());
    return;
  }
  story fresh{stage_.claims.asks(stage_.now(), {.proc = proc_,
                                                .thr = thread,
                                                .lock = lock,
                                                .mode = claim.mode,
                                                .permits = claim.permits,
                                                .of = claim.of,
                                                .req = claim.owner.to_string()})};
  fresh.beside = claim.beside;
  stories_.emplace(claim.owner, std::move(fresh));
}

void watched_engine::note_grant(const seam::grant& grant, bool taken) {
  story* known = find(grant.owner);
  // An answer and a push may cross and say the same: which of them the core takes is known only
  // of an answer that somebody waits for.
  // The same claim with a higher fence is a second grant, after the first was broken unheard.
  const bool anew = known && known->held && grant.first > known->record.token();
  const bool repeated = known && !anew && (known->held || known->given_up);
  if (repeated && !taken) return;
  term& mine = terms_[grant.owner];
  mine = {grant, grant.sent, grant.lease, seam::valid_until(grant.sent, grant.lease)};
  if (known) known->broken = false;
  if (mute() || !known || repeated) return;
  stage_.last_given[grant.name->str()] = grant.first;
  if (anew) note_end(grant.owner, "granted anew", false);
  if (!known->open) known->record.asks_again(stage_.now());
  known->open = false;
  known->held = true;
  // To the book, which knows nothing of grants beside each other, the shared one ends now.
  if (story* shared = known->beside ? find(*known->beside) : nullptr) {
    note_end(*known->beside, "upgraded", false);
    shared->upgraded = true;
  }
  known->record.granted(stage_.now(), {grant.first, mine.deadline, mine.sent, mine.lease});
  stage_.show_holders(grant.name);
}

void watched_engine::note_answer(const owner_id& owner, const seam::answer& answer, bool taken) {
  if (answer.result == seam::ask_result::granted) return note_grant(answer.granted, taken);
  story* known = find(owner);
  if (mute() || !known || !known->open) return;
  if (answer.result == seam::ask_result::busy) {
    known->open = false;
    known->record.refused(stage_.now(), "busy");
  } else if (!std::exchange(known->queued, true)) {
    known->record.queued(stage_.now());
  }
}

void watched_engine::note_failure(const owner_id& owner, const error& why) {
  story* known = find(owner);
  if (mute() || !known || !known->open) return;
  if (why.outcome_unknown()) {
    known->open = false;
    known->record.unknown(stage_.now(), why.what());
  } else if (!known->queued) {
    known->open = false;
    known->record.refused(stage_.now(), why.what());
  }
}

void watched_engine::note_end(const owner_id& owner, std::string_view why, bool for_good) {
  story* known = find(owner);
  if (mute() || !known) return;
  known->given_up = known->given_up || for_good;
  if (!std::exchange(known->held, false)) return;
  known->record.releases(stage_.now());
  known->record.release_unknown(stage_.now(), why);
}

seam::answer watched_engine::ask(const seam::claim& claim, time_point give_up) {
  note_ask(claim, claim.name->str(), this_logical_thread());
  try {
    const seam::answer answer = inside_.ask(claim, give_up);
    note_answer(claim.owner, answer, true);
    return answer;
  } catch (const error& why) {
    note_failure(claim.owner, why);
    throw;
  }
}

void watched_engine::ask_async(const seam::claim& claim, time_point give_up) {
  // Sent by whoever came along: the waiter itself has no thread.
  note_ask(claim, claim.name->str(), stage_.calls.new_thread());
  try {
    inside_.ask_async(claim, give_up);
  } catch (const error& why) {
    note_failure(claim.owner, why);
    throw;
  }
}

void watched_engine::withdraw(const seam::claim& claim, time_point give_up) {
  story* known = find(claim.owner);
  if (known && !mute()) {
    if (std::exchange(known->open, false)) known->record.refused(stage_.now(), "withdrawn");
    note_end(claim.owner, "withdrawn", true);
    known->record.withdraws(stage_.now());
  }
  inside_.withdraw(claim, give_up);
  if (known && !mute()) known->record.withdrawn(stage_.now());
}

void watched_engine::renew(std::span<seam::renewal> batch, time_point give_up) {
  for (const seam::renewal& one : batch) {
    story* const known = one.share ? find(one.held.owner) : nullptr;
    if (known && known->held && !mute()) known->record.downgrades(stage_.now());
  }
  inside_.renew(batch, give_up);
  for (const seam::renewal& one : batch) {
    if (one.outcome != seam::renewal::result::renewed) continue;
    term& mine = terms_[one.held.owner];
    const time_point moved = seam::valid_until(one.sent, one.granted_lease);
    if (mine.deadline > stage_.now() && moved > mine.deadline) {
      mine.sent = one.sent;
      mine.lease = one.granted_lease;
      mine.deadline = moved;
    }
    stage_.world.at(stage_.now(), [told = renewed_, owner = one.held.owner] { told(owner); });
  }
}

seam::release_answer watched_engine::release(const seam::grant& grant, time_point give_up) {
  story* known = find(grant.owner);
  const auto heard = [&] { return known && !known->upgraded && !mute(); };
  if (heard()) known->record.releases(stage_.now());
  if (known) {
    known->held = false;
    known->given_up = true;
  }
  try {
    const seam::release_answer answer = inside_.release(grant, give_up);
    if (heard() && answer == seam::release_answer::released) {
      known->record.released(stage_.now());
    } else if (heard()) {
      known->record.release_refused(stage_.now(), "not_owner");
    }
    return answer;
  } catch (const error& why) {
    if (heard()) known->record.release_unknown(stage_.now(), why.what());
    throw;
  }
}

std::optional<seam::grant> watched_engine::adopt(const seam::grant& detached,
                                                 const seam::claim& next, time_point give_up) {
  // It stands in no line: for the book it is a lock of its own. How many permits it has is not
  // known here.
  std::string lock = next.name->str() + " (adopted)";
  if (next.mode != claim_mode::exclusive) lock += next.owner.to_string();
  note_ask(next, lock, this_logical_thread());
  try {
    const auto adopted = inside_.adopt(detached, next, give_up);
    if (adopted) {
      note_grant(*adopted, true);
    } else if (story* known = find(next.owner); known && known->open && !mute()) {
      known->open = false;
      known->record.refused(stage_.now(), "lost");
    }
    return adopted;
  } catch (const error& why) {
    note_failure(next.owner, why);
    throw;
  }
}

void watched_engine::answered(const seam::claim& claim, const seam::answer& answer) noexcept {
  note_answer(claim.owner, answer, false);
  core_.answered(claim, answer);
}

void watched_engine::granted(const seam::grant& grant) noexcept {
  note_grant(grant, false);
  core_.granted(grant);
}

void watched_engine::failed(seam::claim_key key, const error& why) noexcept {
  if (why.which() == errc::lost) {
    if (story* known = find(key.owner)) known->broken = known->held;
    note_end(key.owner, "broken", false);
  } else {
    note_failure(key.owner, why);
  }
  core_.failed(key, why);
}

}  // namespace crosslock::simulation
