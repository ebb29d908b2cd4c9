// Every way of taking a lock.
#include "simulation/worker.hpp"

#include <memory>
#include <utility>

namespace crosslock::simulation {

void worker::play_round() {
  const std::string lock = stage_.rng().pick(stage_.names);
  const form which = draw_form();
  mutex& plain = home_.plain(lock);
  const duration wait = stage_.rng().uniform(play_.delay_max, play_.lease);
  const acquire_how fixed{.lease = draw_lease()};
  stage_.world.trace("round: form ", static_cast<int>(which), " on ", lock);
  switch (which) {
    case form::blocking:
      return take(lock, duration::max(), count::busy, [&] { return plain.acquire(); });
    case form::run:
      return take_run(lock);
    case form::fixed_lease:
      return take(lock, duration::max(), count::busy, [&] { return plain.acquire(fixed); });
    case form::try_once:
      return take(lock, play_.timeout, count::busy, [&] { return plain.try_acquire(); });
    case form::timed:
      return take(lock, wait, count::timed_out, [&] { return plain.try_acquire_for(wait); });
    case form::timed_fixed:
      return take(lock, wait, count::timed_out,
                  [&] { return plain.try_acquire_for(wait, *fixed.lease); });
    case form::stoppable:
      return take_stoppable(lock);
    case form::callback:
      return take(lock, duration::max(), count::timed_out, [&] {
        return take_by_callback([&](acquire_callback done, std::optional<duration> within) {
          plain.acquire_async(std::move(done), {}, within);
        });
      });
    case form::standard:
      return take_standard(lock);
    case form::recursive:
      return take_recursive(lock);
    case form::read:
    case form::read_try:
    case form::read_timed:
    case form::read_callback:
      return take_shared(which, lock);
    case form::upgrade:
      return take_and_upgrade(lock);
    case form::downgrade:
      return take_and_downgrade(lock);
    case form::permit:
    case form::permit_try:
    case form::permit_timed:
    case form::permit_callback:
      return take_permits(which);
    case form::adopt:
      return take_up_detached();
    case form::break_it:
      return break_somebody(lock);
    case form::look:
      return look(lock);
    case form::forge:
      return forge_release(lock);
    case form::size_:
      return;
  }
}

void worker::take(const std::string& lock, duration patience, count refused_as, const get_hold& get,
                  seam::demand demand) {
  checker::claim_record story = ask(lock, demand);
  const time_point asked = now();
  std::optional<hold> held;
  try {
    held = get();
  } catch (const error& why) {
    judge_patience(asked, patience);
    return give_up(story, why);
  }
  judge_patience(asked, patience);
  if (!home_.alive()) return;
  if (!held) {
    stage_.seen.add(refused_as);
    return story.refused(now(), to_string(refused_as));
  }
  use(story, lock,
      {.number = held->fence(),
       .release = [&] { return held->release(); },
       .lost = [&] { return held->lost(); },
       .in_hand = &*held,
       .demand = demand});
}

void worker::take_stoppable(const std::string& lock) {
  std::stop_source stop;
  seam::park_word done{0};
  const time_point until = now() + stage_.rng().uniform(duration::zero(), play_.lease);
  std::optional<time_point> stopped;
  const auto stopper = home_.clock().start("stopper", [&] {
    while (done.load() == 0 && now() < until) home_.clock().park(done, 0, until);
    stopped = now();
    stop.request_stop();
  });
  take(lock, duration::max(), count::stopped, [&] {
    struct at_end {
      sim_process& home;
      seam::park_word& word;
      ~at_end() {
        word.store(1);
        home.clock().unpark(word);
      }
    } const told{home_, done};
    auto held = home_.plain(lock).acquire(stop.get_token());
    if (stopped) judge_stop(*stopped);
    return held;
  });
  stopper->join();
}

std::optional<hold> worker::take_by_callback(const ask_async& ask) {
  struct slot {
    seam::park_word called{0};
    acquire_result result;
  };
  const auto mine = std::make_shared<slot>();
  std::optional<duration> wait;
  if (stage_.rng().chance(0.5)) wait = stage_.rng().uniform(play_.delay_max, play_.lease);
  ask(
      [this, mine](acquire_result result) {
        if (mine->called.fetch_add(1) != 0) {
          stage_.complain("an asynchronous acquire of process ", home_.number(),
                          " called back twice");
          return;
        }
        mine->result = std::move(result);
        home_.clock().unpark(mine->called);
      },
      wait);
  while (mine->called.load() == 0) home_.clock().park(mine->called, 0, time_point::max());
  stage_.seen.add(count::callbacks);
  if (mine->result.failure) std::rethrow_exception(mine->result.failure);
  return std::move(mine->result.hold);
}

void worker::take_standard(const std::string& lock) {
  mutex& plain = home_.plain(lock);
  checker::claim_record story = ask(lock);
  const time_point asked = now();
  const std::uint64_t how = stage_.rng().below(3);
  const duration wait = stage_.rng().uniform(play_.delay_max, play_.lease);
  bool got = false;
  fence number;
  try {
    if (how == 0) plain.lock();
    got = how == 0 || (how == 1 ? plain.try_lock() : plain.try_lock_for(wait));
    if (got) number = plain.fence();
  } catch (const error& why) {
    if (got) plain.unlock();  // closed between lock() and fence()
    return give_up(story, why);
  }
  if (how == 2) judge_patience(asked, wait);
  if (!home_.alive() && got) plain.unlock();
  if (!home_.alive()) return;
  if (!got) return story.refused(now(), "busy");
  use(story, lock,
      {.number = number,
       .release =
           [&] {
             plain.unlock();
             return home_.heard_release(lock, number);
           },
       .lost = {}});
  if (!home_.alive()) plain.unlock();
}

void worker::take_recursive(const std::string& lock) {
  recursive_mutex& reentrant = home_.reentrant(lock);
  checker::claim_record story = ask(lock);
  fence number;
  try {
    reentrant.lock();
    number = reentrant.fence();
  } catch (const error& why) {
    if (reentrant.depth() != 0) reentrant.unlock();
    return give_up(story, why);
  }
  const auto deeper = [&](critical_section_record& entered) {
    const auto levels = stage_.rng().uniform(1, 3);
    int taken = 0;
    try {
      for (; taken < levels; ++taken) {
        entered.story.reenters(now());
        reentrant.lock();
        entered.story.reentered(now(), fence{reentrant.fence().value() * 8});
        stage_.seen.add(count::reentries);
      }
    } catch (const error& why) {
      stage_.world.trace("re-entry failed: ", why.what());
    }
    for (; taken > 0; --taken) reentrant.unlock();
  };
  if (home_.alive()) {
    use(story, lock,
        {.number = number,
         .release =
             [&] {
               reentrant.unlock();
               return home_.heard_release(lock, number);
             },
         .lost = {},
         .inside = deeper});
  }
  while (reentrant.depth() != 0) reentrant.unlock();
}

void worker::take_run(const std::string& lock) {
  checker::claim_record story = ask(lock);
  bool ran = false;
  try {
    home_.locks().run(lock, [&](hold& held) {
      ran = true;
      if (!home_.alive()) return;
      use(story, lock,
          {.number = held.fence(),
           .release = [&] { return held.release(); },
           .lost = [&] { return held.lost(); },
           .in_hand = &held});
    });
  } catch (const error& why) {
    if (!ran) give_up(story, why);
  }
}

void worker::take_up_detached() {
  if (stage_.detached_holds.empty()) return;
  const auto index = stage_.rng().below(stage_.detached_holds.size());
  const detached_hold mine = stage_.detached_holds[index];
  stage_.detached_holds.erase(stage_.detached_holds.begin() + static_cast<std::ptrdiff_t>(index));
  const std::string lock = mine.about.name.str();
  checker::claim_record story = ask(lock, mine.demand);
  std::optional<hold> held;
  try {
    held = home_.locks().adopt(mine.about);
  } catch (const error& why) {
    if (why.which() != errc::lost) return give_up(story, why);
    if (!home_.alive()) return;
    stage_.seen.add(count::adopted_too_late);
    if (now() < mine.good_until && !stage_.may_be_gone(lock, mine.written)) {
      stage_.complain("the receipt of ", mine.about.fence.value(), " is worth nothing though it ",
                      "should last another ", (mine.good_until - now()).count(), " ns");
    }
    return story.refused(now(), why.what());
  }
  if (!home_.alive()) return;
  stage_.seen.add(count::adopted);
  use(story, lock,
      {.number = held->fence(),
       .release = [&] { return held->release(); },
       .lost = [&] { return held->lost(); },
       .in_hand = &*held,
       .life = mine.life + 1,
       .demand = mine.demand});
}

}  // namespace crosslock::simulation
