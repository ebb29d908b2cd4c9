// Times are taken before a call and after its answer, as the checker wants them.
#include "conformance/witness.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

/// The loss of a hold is told by another thread than the one that notes its renewals. One for all
/// holds: nothing is waited for under it.
std::mutex noting;

/// When a renewal was that came during a call: by the deadline that it moved, or the hold was lost.
constexpr time_point unseen{};

checker::terms terms_of(const hold& held) {
  return {.token = held.fence(), .deadline = held.expires_at(), .sent = {}, .lease = {}};
}

/// Writes down how an attempt ended that threw.
void note_failure(const surroundings& where, const checker::claim_record& record,
                  const error& why) {
  if (!where.alive()) return;
  if (why.outcome_unknown()) {
    record.unknown(where.now(), why.what());
  } else {
    record.refused(where.now(), why.what());
  }
}

template <class Attempt>
std::unique_ptr<witnessed> acquire_by(const surroundings& where, const checker::asker& who,
                                      Attempt&& attempt) {
  auto record = where.book->asks(where.now(), who);
  std::optional<hold> held;
  try {
    held = attempt();
  } catch (const error& why) {
    note_failure(where, record, why);
    throw;
  }
  if (!held) {
    if (where.alive()) record.refused(where.now(), "busy");
    return nullptr;
  }
  if (where.alive()) record.granted(where.now(), terms_of(*held));
  return std::make_unique<witnessed>(where, *std::move(held), std::move(record));
}

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
      deadline_{hold_.expires_at()} {
  on_loss_.emplace(hold_.lost(), [this] { note_loss(); });
}

witnessed::~witnessed() {
  if (!released_) release();
}

void witnessed::note_loss() {
  if (!where_.alive()) return;
  const time_point now = where_.now();
  note_renewal(unseen);
  record_.lost(now, to_string(hold_.lost_reason()));
  told_at_.store(now.time_since_epoch().count());
  told_.fetch_add(1);
}

void witnessed::note_renewal() { note_renewal(where_.now()); }

// Over by now, it was renewed in time, and is seen late by a process that was stopped.
void witnessed::note_renewal_idly() {
  const time_point now = where_.now();
  note_renewal(hold_.expires_at() <= now ? unseen : now);
}

void witnessed::note_renewal(time_point when) {
  const std::lock_guard guard{noting};
  const time_point moved = hold_.expires_at();
  if (moved == deadline_ || told() > 0 || !where_.alive()) return;
  if (when == unseen) when = std::min(where_.now(), deadline_);
  deadline_ = moved;
  record_.renews(when);
  record_.renewed(when, {.token = {}, .deadline = moved, .sent = {}, .lease = {}});
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

void witnessed::downgrade(shared_mutex& lock) {
  note_renewal();
  if (where_.alive()) record_.downgrades(where_.now());
  lock.downgrade(hold_);
  note_renewal(unseen);
  if (where_.alive()) record_.downgraded(where_.now());
}

bool witnessed::upgrade(shared_mutex& lock, duration wait, std::stop_token stop) {
  note_renewal();
  auto next = where_.book->asks(
      where_.now(),
      {.proc = where_.proc, .thr = where_.book->new_thread(), .lock = lock.name().str()});
  bool exclusive = false;
  try {
    exclusive = lock.try_upgrade_for(hold_, wait, std::move(stop));
  } catch (const error& why) {
    note_failure(where_, next, why);
    note_renewal(unseen);
    throw;
  }
  if (!where_.alive()) return exclusive;
  if (!exclusive) {
    next.refused(where_.now(), "not in time");
    note_renewal(unseen);
    return false;
  }
  on_loss_.reset();
  if (told() == 0) {
    const time_point then = std::min(where_.now(), deadline_);
    record_.releases(then);
    record_.released(then);
  }
  next.granted(where_.now(), terms_of(hold_));
  record_ = std::move(next);
  deadline_ = hold_.expires_at();
  on_loss_.emplace(hold_.lost(), [this] { note_loss(); });
  return true;
}

std::unique_ptr<witnessed> acquire(const surroundings& where, mutex& lock, duration wait,
                                   const acquire_how& how, std::int32_t thread) {
  return acquire_by(where, {.proc = where.proc, .thr = thread, .lock = lock.name().str()},
                    [&] { return lock.try_acquire_for(wait, how); });
}

std::unique_ptr<witnessed> acquire(const surroundings& where, shared_mutex& lock, claim_mode mode,
                                   duration wait, const acquire_how& how, std::int32_t thread) {
  return acquire_by(
      where, {.proc = where.proc, .thr = thread, .lock = lock.name().str(), .mode = mode}, [&] {
        return mode == claim_mode::shared ? lock.try_acquire_shared_for(wait, how)
                                          : lock.try_acquire_for(wait, how);
      });
}

std::unique_ptr<witnessed> acquire(const surroundings& where, semaphore& lock, std::int32_t count,
                                   duration wait, const acquire_how& how, std::int32_t thread) {
  return acquire_by(where,
                    {.proc = where.proc,
                     .thr = thread,
                     .lock = lock.name().str(),
                     .mode = claim_mode::permit,
                     .permits = count,
                     .of = lock.permits()},
                    [&] { return lock.try_acquire_for(wait, count, how); });
}

std::unique_ptr<witnessed> adopt(const surroundings& where, const client& locks,
                                 const receipt& given) {
  hold held = locks.adopt(given);
  auto record = where.book->pretends({.proc = where.proc, .lock = given.name.str()}, held.fence());
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
