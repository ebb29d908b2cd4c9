// Times are taken before a call and after its answer, as the checker wants them.
#include "conformance/witness.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

}  // namespace

surroundings of(stage& stage) {
  return {.proc = 0,
          .clock = &stage.clock(),
          .sleep = [&stage](duration length) { stage.sleep(length); },
          .resource = &stage.resource(),
          .book = &stage.book()};
}

witnessed::witnessed(surroundings where, hold held, checker::claim_record record)
    : where_{std::move(where)},
      hold_{std::move(held)},
      record_{std::move(record)},
      deadline_{hold_.expires_at()},
      on_loss_{hold_.lost(), [this] { note_loss(); }} {}

witnessed::~witnessed() {
  if (!released_) release();
}

void witnessed::note_loss() {
  if (!where_.alive()) return;
  const time_point now = where_.now();
  record_.lost(now, to_string(hold_.lost_reason()));
  told_at_.store(now.time_since_epoch().count());
  told_.fetch_add(1);
}

void witnessed::note_renewal() {
  const time_point moved = hold_.expires_at();
  if (moved == deadline_ || told() > 0 || !where_.alive()) return;
  deadline_ = moved;
  const time_point now = where_.now();
  record_.renews(now);
  record_.renewed(now, {.token = {}, .deadline = moved, .sent = {}, .lease = {}});
}

bool witnessed::work(duration length) {
  const time_point end = where_.now() + length;
  while (where_.now() < end && told() == 0 && where_.alive()) {
    note_renewal();
    // Short enough to see every renewal before the deadline that it moves.
    where_.sleep(std::min<duration>(end - where_.now(), 10ms));
  }
  return told() == 0;
}

bool witnessed::write(std::int64_t value) {
  if (!where_.alive()) return false;
  const std::string name = hold_.name().str();
  record_.writes(where_.now());
  const bool accepted = where_.resource->write(name, hold_.fence(), value);
  if (accepted) {
    record_.wrote(where_.now(), value);
  } else {
    record_.write_refused(where_.now());
  }
  return accepted;
}

release_result witnessed::release() {
  released_ = true;
  note_renewal();
  if (where_.alive()) record_.releases(where_.now());
  const release_result result = hold_.release();
  if (!where_.alive()) return result;
  switch (result) {
    case release_result::released:
    case release_result::passed:
      record_.released(where_.now());
      break;
    case release_result::unknown:
      record_.release_unknown(where_.now(), to_string(result));
      break;
    case release_result::lost:
    case release_result::not_held:
    case release_result::not_owner:
    case release_result::detached:
      record_.release_refused(where_.now(), to_string(result));
      break;
  }
  return result;
}

std::unique_ptr<witnessed> acquire(const surroundings& where, mutex& lock, duration wait,
                                   const acquire_how& how, std::int32_t thread) {
  auto record =
      where.book->asks(where.now(), {.proc = where.proc, .thr = thread, .lock = lock.name().str()});
  std::optional<hold> held;
  try {
    held = lock.try_acquire_for(wait, how);
  } catch (const error& why) {
    if (where.alive() && why.outcome_unknown()) {
      record.unknown(where.now(), why.what());
    } else if (where.alive()) {
      record.refused(where.now(), why.what());
    }
    throw;
  }
  if (!held) {
    if (where.alive()) record.refused(where.now(), "busy");
    return nullptr;
  }
  if (where.alive()) {
    record.granted(
        where.now(),
        {.token = held->fence(), .deadline = held->expires_at(), .sent = {}, .lease = {}});
  }
  return std::make_unique<witnessed>(where, *std::move(held), std::move(record));
}

std::unique_ptr<witnessed> adopt(const surroundings& where, const client& locks,
                                 const receipt& paper) {
  hold held = locks.adopt(paper);
  auto record = where.book->pretends({.proc = where.proc, .lock = paper.name.str()}, held.fence());
  return std::make_unique<witnessed>(where, std::move(held), std::move(record));
}

int increment(const surroundings& where, mutex& lock, int times, duration work,
              std::int32_t thread) {
  int accepted = 0;
  for (int i = 0; i < times && where.alive(); ++i) {
    const auto held = acquire(where, lock, duration::max(), {}, thread);
    const std::int64_t before = where.resource->read(lock.name().str());
    if (work > duration::zero()) held->work(work);
    if (held->held().valid() && held->write(before + 1)) ++accepted;
    held->release();
  }
  return accepted;
}

}  // namespace crosslock::conformance
