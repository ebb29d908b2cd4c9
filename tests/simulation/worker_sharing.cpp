// Locks that several may hold at a time.
#include "simulation/worker.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::simulation {

void worker::take_shared(form which, const std::string& lock) {
  const seam::demand demand{.mode = claim_mode::shared};
  shared_mutex& readers = home_.shared(lock);
  const duration wait = stage_.rng().uniform(play_.delay_max, play_.lease);
  const bool fixed = stage_.rng().chance(0.2);
  acquire_how how;
  if (fixed) how.lease = draw_lease();
  stage_.seen.add(count::shared_holds);
  switch (which) {
    case form::read_try:
      return take(
          lock, play_.timeout, count::busy, [&] { return readers.try_acquire_shared(how); },
          demand);
    case form::read_timed:
      return take(
          lock, wait, count::timed_out, [&] { return readers.try_acquire_shared_for(wait, how); },
          demand);
    case form::read_callback:
      return take(
          lock, duration::max(), count::timed_out,
          [&] {
            return take_by_callback([&](acquire_callback done, std::optional<duration> within) {
              readers.acquire_shared_async(std::move(done), how, within);
            });
          },
          demand);
    default:
      return take(
          lock, duration::max(), count::busy, [&] { return readers.acquire_shared(how); }, demand);
  }
}

void worker::take_permits(form which) {
  semaphore& seats = home_.seats();
  const std::int32_t many = stage_.rng().uniform(1, play_.permits);
  const seam::demand demand{.mode = claim_mode::permit, .permits = many, .of = play_.permits};
  const duration wait = stage_.rng().uniform(play_.delay_max, play_.lease);
  acquire_how how;
  if (stage_.rng().chance(0.2)) how.lease = draw_lease();
  stage_.seen.add(count::permit_holds);
  switch (which) {
    case form::permit_try:
      return take(
          stage_.seats, play_.timeout, count::busy, [&] { return seats.try_acquire(many, how); },
          demand);
    case form::permit_timed:
      return take(
          stage_.seats, wait, count::timed_out,
          [&] { return seats.try_acquire_for(wait, many, how); }, demand);
    case form::permit_callback:
      return take(
          stage_.seats, duration::max(), count::timed_out,
          [&] {
            return take_by_callback([&](acquire_callback done, std::optional<duration> within) {
              seats.acquire_async(std::move(done), many, how, within);
            });
          },
          demand);
    default:
      return take(
          stage_.seats, duration::max(), count::busy, [&] { return seats.acquire(many, how); },
          demand);
  }
}

/// The claim of the exclusive hold when it has become one; else it is as shared as before.
std::optional<checker::claim_record> worker::upgrade(critical_section_record& entered, hold& held) {
  shared_mutex& readers = home_.shared(entered.lock);
  const duration wait = stage_.rng().uniform(duration::zero(), play_.lease);
  checker::claim_record next = ask(entered.lock);
  const time_point asked = now();
  entered.upgrading = true;
  try {
    const bool exclusive = readers.try_upgrade_for(held, wait);
    if (exclusive && entered.told) {
      stage_.complain("I7: ", entered.number.value(), " was lost, and has become exclusive");
    }
    judge_patience(asked, std::max(wait, play_.timeout));
    if (exclusive && home_.alive()) return next;
    if (home_.alive()) next.refused(now(), "not in time");
  } catch (const error& why) {
    if (!home_.alive()) return std::nullopt;
    const bool conflict = why.which() == errc::upgrade_conflict;
    if (conflict) stage_.seen.add(count::upgrade_conflicts);
    if (conflict || why.which() == errc::lost) {
      next.refused(now(), why.what());
      // Its last request may still be on its way.
      if (!conflict) this_logical_thread() = stage_.calls.new_thread();
    } else {
      give_up(next, why);
    }
    const bool kept = held.mode() == claim_mode::shared && held.fence() == entered.number;
    if (!kept) stage_.complain("an upgrade of ", entered.number.value(), " failed and changed it");
  }
  entered.upgrading = false;
  return std::nullopt;
}

void worker::take_and_upgrade(const std::string& lock) {
  const seam::demand demand{.mode = claim_mode::shared};
  checker::claim_record story = ask(lock, demand);
  std::optional<hold> held;
  try {
    held = home_.shared(lock).acquire_shared();
  } catch (const error& why) {
    return give_up(story, why);
  }
  if (!home_.alive()) return;
  const auto grip_of = [&](seam::demand as) {
    return grip{.number = held->fence(),
                .release = [&] { return held->release(); },
                .lost = [&] { return held->lost(); },
                .in_hand = &*held,
                .demand = as};
  };
  critical_section_record entered{
      .story = story, .lock = lock, .number = held->fence(), .demand = demand, .in_hand = &*held};
  home_.begin_critical_section(entered);
  home_.clock().sleep(draw_work() / 2);
  std::optional<checker::claim_record> next;
  if (home_.alive()) next = upgrade(entered, *held);
  if (next) {
    // The shared grant was released when the exclusive one was given. That may have taken a while.
    const time_point by = std::min(now(), entered.deadline);
    entered.story.releases(by);
    entered.story.passed(by);  // in the background: what the server says to it is not known
    home_.end_critical_section(entered);
    stage_.seen.add(count::upgrades);
    return use(*next, lock, grip_of({}));
  }
  if (home_.alive()) home_.clock().sleep(draw_work() / 2);
  if (home_.alive()) leave(entered, grip_of(demand));
  home_.end_critical_section(entered);
}

void worker::take_and_downgrade(const std::string& lock) {
  shared_mutex& readers = home_.shared(lock);
  checker::claim_record story = ask(lock);
  std::optional<hold> held;
  try {
    held = readers.acquire();
  } catch (const error& why) {
    return give_up(story, why);
  }
  if (!home_.alive()) return;
  critical_section_record entered{
      .story = story, .lock = lock, .number = held->fence(), .in_hand = &*held};
  home_.begin_critical_section(entered);
  home_.clock().sleep(draw_work() / 2);
  try {
    if (home_.alive()) entered.story.downgrades(now());
    readers.downgrade(*held);
    if (home_.alive()) entered.story.downgraded(now());
    stage_.seen.add(count::downgrades);
    entered.demand.mode = claim_mode::shared;
  } catch (const error& why) {
    if (why.which() != errc::lost && why.which() != errc::closed && home_.alive()) {
      stage_.complain("a downgrade failed: ", why.what());
    }
  }
  if (home_.alive()) home_.clock().sleep(draw_work() / 2);
  if (home_.alive()) {
    leave(entered, {.number = held->fence(),
                    .release = [&] { return held->release(); },
                    .lost = [&] { return held->lost(); },
                    .in_hand = &*held,
                    .demand = entered.demand});
  }
  home_.end_critical_section(entered);
}

}  // namespace crosslock::simulation
