// What a worker may be up to besides taking locks.
#include "simulation/worker.hpp"

#include <memory>

namespace crosslock::simulation {

void worker::break_somebody(const std::string& lock) {
  // It takes effect at any time between the call and the answer, or later if there is none.
  const auto note = [&stage = stage_, lock] {
    stage.nemesis(checker::fault::admin_delete, checker::event::nobody, lock);
  };
  bool called = false;
  try {
    const lock_info info = home_.locks().look(lock);
    if (info.holders.empty() || !home_.alive()) return;
    note();
    called = true;
    if (home_.locks().break_lock(lock, info.holders.front().owner)) {
      stage_.seen.add(count::breaks);
    }
    note();
  } catch (const error& why) {
    stage_.world.trace("break failed: ", why.what());
    if (called) stage_.world.after(play_.late_max + play_.delay_max, note);
  }
}

void worker::look(const std::string& lock) {
  try {
    if (stage_.rng().chance(0.5)) {
      static_cast<void>(home_.locks().look(lock));
    } else {
      static_cast<void>(home_.locks().list());
    }
  } catch (const error& why) {
    stage_.world.trace("look failed: ", why.what());
  }
}

/// A release with a fence that somebody has, under an owner id that nobody has.
void worker::forge_release(const std::string& lock) {
  const fence number = stage_.last_given[lock];
  if (number == fence{}) return;
  owner_id::bytes_type bytes{};
  home_.clock().fill_random(bytes);
  const checker::claim_record story = stage_.claims.pretends({.proc = home_.number(),
                                                              .thr = this_logical_thread(),
                                                              .lock = lock,
                                                              .req = owner_id{bytes}.to_string()},
                                                             number);
  story.releases(now());
  try {
    const auto answer =
        home_.engine().unwatched().release({.name = std::make_shared<const lock_name>(lock),
                                            .owner = owner_id{bytes},
                                            .first = number,
                                            .last = number,
                                            .lease = play_.lease},
                                           now() + play_.timeout);
    if (!home_.alive()) return;
    if (answer == seam::release_answer::released) return story.released(now());
    stage_.seen.add(count::forged_releases);
    story.release_refused(now(), "not_owner");
  } catch (const error& why) {
    if (home_.alive()) story.release_unknown(now(), why.what());
  }
}

}  // namespace crosslock::simulation
