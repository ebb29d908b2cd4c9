// As in witness.cpp: times are taken before a call and after its answer.
#include "conformance/governed.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace crosslock::conformance {

using namespace std::chrono_literals;

governed::governed(surroundings where, leadership leads, checker::claim_record record)
    : where_{std::move(where)},
      leads_{std::move(leads)},
      record_{std::move(record)},
      deadline_{leads_.held().expires_at()},
      on_loss_{leads_.lost(), [this] { note_loss(); }} {}

governed::~governed() {
  if (!resigned_) resign();
}

void governed::note_loss() {
  if (!where_.alive()) return;
  record_.lost(where_.now(), to_string(leads_.held().lost_reason()));
  told_.fetch_add(1);
}

void governed::note_renewal() {
  const time_point moved = leads_.held().expires_at();
  if (moved == deadline_ || told() > 0 || !where_.alive()) return;
  deadline_ = moved;
  const time_point now = where_.now();
  record_.renews(now);
  record_.renewed(now, {.token = {}, .deadline = moved, .sent = {}, .lease = {}});
}

bool governed::work(duration length) {
  const time_point end = where_.now() + length;
  while (where_.now() < end && told() == 0 && where_.alive()) {
    note_renewal();
    where_.sleep(std::min<duration>(end - where_.now(), 10ms));
  }
  return told() == 0;
}

release_result governed::resign() {
  resigned_ = true;
  note_renewal();
  if (where_.alive()) record_.releases(where_.now());
  const release_result result = leads_.resign();
  if (!where_.alive()) return result;
  if (result == release_result::released) {
    record_.released(where_.now());
  } else if (result == release_result::unknown) {
    record_.release_unknown(where_.now(), to_string(result));
  } else {
    record_.release_refused(where_.now(), to_string(result));
  }
  return result;
}

std::unique_ptr<governed> campaign(const surroundings& where, election& office,
                                   const std::string& value, duration wait, std::int32_t thread) {
  auto record = where.book->asks(where.now(),
                                 {.proc = where.proc, .thr = thread, .lock = office.name().str()});
  std::optional<leadership> won;
  try {
    won = office.campaign_for(value, wait);
  } catch (const error& why) {
    if (where.alive() && why.outcome_unknown()) {
      record.unknown(where.now(), why.what());
    } else if (where.alive()) {
      record.refused(where.now(), why.what());
    }
    throw;
  }
  if (!won) {
    if (where.alive()) record.refused(where.now(), "busy");
    return nullptr;
  }
  if (where.alive()) {
    record.granted(
        where.now(),
        {.token = won->fence(), .deadline = won->held().expires_at(), .sent = {}, .lease = {}});
  }
  return std::make_unique<governed>(where, *std::move(won), std::move(record));
}

}  // namespace crosslock::conformance
