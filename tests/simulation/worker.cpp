// What a worker does with a hold. Half of the time it is careless: it writes without asking
// whether it still holds the lock, and only the register's fence keeps that from doing harm.
#include "simulation/worker.hpp"

#include <array>
#include <utility>

namespace crosslock::simulation {

worker::worker(sim_process& home) : home_{home}, stage_{home.home()}, play_{stage_.play} {
  this_logical_thread() = stage_.calls.new_thread();
}

void worker::live() {
  for (int round = 0; round < play_.rounds && home_.going(); ++round) {
    home_.clock().sleep(stage_.rng().uniform(duration::zero(), play_.lease / 4));
    if (home_.going()) play_round();
  }
}

form worker::draw_form() {
  unsigned sum = 0;
  for (const unsigned each : play_.weights) sum += each;
  std::uint64_t left = stage_.rng().below(sum);
  for (std::size_t i = 0; i < form_count; ++i) {
    if (left < play_.weights[i]) return static_cast<form>(i);
    left -= play_.weights[i];
  }
  return form::blocking;
}

duration worker::draw_work() {
  world::random_stream& rng = stage_.rng();
  const std::uint64_t kind = rng.below(10);
  if (kind < 5) return rng.uniform(duration::zero(), play_.lease / 20);
  if (kind < 8) return rng.uniform(duration::zero(), play_.lease / 2);
  return rng.uniform(play_.lease / 2, 2 * play_.lease);
}

duration worker::draw_lease() { return stage_.rng().uniform(play_.lease / 2, play_.lease); }

checker::claim_record worker::ask(const std::string& lock, seam::demand demand) {
  return stage_.calls.asks(now(), {.proc = home_.number(),
                                   .thr = this_logical_thread(),
                                   .lock = lock,
                                   .mode = demand.mode,
                                   .permits = demand.permits,
                                   .of = demand.of});
}

void worker::give_up(const checker::claim_record& story, const error& why) {
  if (!home_.alive()) return;
  stage_.world.trace("failed: ", why.what());
  const bool expected = why.which() == errc::closed || why.which() == errc::unreachable ||
                        why.which() == errc::timed_out || why.which() == errc::cancelled;
  if (!expected) {
    stage_.complain("an acquire of process ", home_.number(), " failed: ", why.what());
  }
  if (why.which() == errc::closed) return story.refused(now(), why.what());
  story.unknown(now(), why.what());
  stage_.seen.add(count::unknown_outcomes);
  this_logical_thread() = stage_.calls.new_thread();
}

void worker::judge_patience(time_point asked, duration patience) {
  using namespace std::chrono_literals;
  if (!home_.going() || patience == duration::max() || home_.frozen_since(asked)) return;
  const duration late = now() - asked - patience;
  if (late > 105ms + 8 * play_.wake_delay) {
    stage_.complain("I11: process ", home_.number(), " was kept ", late.count(),
                    " ns beyond its patience");
  }
}

/// A thread that was stopped may still have to wait for the answer to a request.
void worker::judge_stop(time_point stopped) {
  using namespace std::chrono_literals;
  if (!home_.going() || home_.frozen_since(stopped)) return;
  const duration late = now() - stopped;
  if (late <= play_.timeout + 105ms + 8 * play_.wake_delay + 20 * play_.interrupted_max) return;
  stage_.broken_here.insert(checker::invariant::wake_up);
  stage_.complain("I4: process ", home_.number(), " slept for ", late.count(),
                  " ns after it was stopped");
}

void worker::use(checker::claim_record& story, const std::string& lock, const grip& held) {
  critical_section_record entered{.story = story,
                                  .lock = lock,
                                  .number = held.number,
                                  .life = held.life,
                                  .demand = held.demand,
                                  .in_hand = held.in_hand};
  entered.listens = held.lost && stage_.rng().chance(play_.callback_on_loss);
  home_.begin_critical_section(entered);
  {
    std::optional<std::stop_callback<std::function<void()>>> on_loss;
    if (entered.listens) {
      on_loss.emplace(held.lost(), [this, &entered] {
        if (!home_.alive()) return;
        stage_.seen.add(count::loss_callbacks);
        if (entered.told) {
          stage_.complain("I7: the callback of ", entered.number.value(), " was called twice");
        }
        home_.write_loss(entered, crosslock::to_string(entered.in_hand->lost_reason()));
      });
    }
    work_inside(entered, held);
    if (home_.alive()) leave(entered, held);
  }
  home_.end_critical_section(entered);
  if (!home_.alive()) return;
  // A shared grant may well live on with those who have not lost their part of it.
  const bool alone = entered.demand.mode != claim_mode::shared;
  if (entered.told && alone && stage_.rng().chance(0.3)) renew_what_is_lost(entered);
}

void worker::work_inside(critical_section_record& entered, const grip& held) {
  fenced_register& counter = stage_.registers[entered.lock];
  // Who is not alone only looks on.
  const bool alone = entered.demand.mode == claim_mode::exclusive;
  const auto read = alone ? counter.open(entered.story, now()) : std::nullopt;
  home_.clock().sleep(draw_work());
  if (home_.alive() && stage_.rng().chance(play_.pause_inside)) {
    stage_.seen.add(count::paused_inside);
    home_.freeze(stage_.rng().uniform(play_.lease, 3 * play_.lease));
  }
  if (home_.alive() && held.inside) held.inside(entered);
  if (!home_.alive()) return;
  if (held.in_hand) {
    const bool valid = held.in_hand->valid();
    if (valid && (entered.told || now() >= held.in_hand->expires_at())) {
      stage_.complain("I7: ", entered.number.value(), " is valid after its end");
    }
    if (!valid && stage_.rng().chance(0.5)) {
      stage_.seen.add(count::noticed_in_time);
      return;
    }
  }
  if (!read) return;
  if (!counter.write(entered.story, *read, now())) stage_.seen.add(count::stale_writes);
}

void worker::leave(critical_section_record& entered, const grip& held) {
  entered.leaving = true;
  entered.story.leaves(now());
  const bool by_receipt = held.in_hand && entered.life < 7 &&
                          entered.demand.mode != claim_mode::shared && stage_.rng().chance(0.15) &&
                          play_.weights[static_cast<std::size_t>(form::adopt)] != 0;
  if (by_receipt) return detach(entered, held);
  entered.story.releases(now());
  write_release(entered, held.release());
}

void worker::detach(critical_section_record& entered, const grip& held) {
  entered.story.releases(now());
  home_.engine().note_end(entered.owner, "detached");
  try {
    const receipt about = receipt::parse(held.in_hand->detach().to_string());
    stage_.seen.add(count::detached);
    entered.story.release_unknown(now(), "detached");
    const term* terms = home_.engine().find_term(entered.owner);
    stage_.detached_holds.push_back(
        {about, entered.demand, entered.life, terms->grant.sent, terms->deadline});
  } catch (const error& why) {
    if (home_.alive()) entered.story.release_refused(now(), why.what());
  }
}

void worker::write_release(critical_section_record& entered, release_result result) {
  if (!home_.alive()) return;
  stage_.world.trace("release of ", entered.number.value(), ": ", crosslock::to_string(result));
  switch (result) {
    case release_result::released:
      // One of several readers of a grant leaves it to the others, and asks no server.
      return entered.demand.mode == claim_mode::shared ? entered.story.passed(now())
                                                       : entered.story.released(now());
    case release_result::passed:
      return entered.story.passed(now());
    case release_result::unknown:
      return entered.story.release_unknown(now(), "unknown");
    case release_result::lost:
      // Ended in the same moment by its own client: the release is the first to say so.
      if (!entered.told && entered.in_hand &&
          entered.in_hand->lost_reason() == loss_reason::max_hold) {
        home_.write_loss(entered, crosslock::to_string(loss_reason::max_hold));
      }
      [[fallthrough]];
    case release_result::not_held:
    case release_result::not_owner:
    case release_result::detached:
      return entered.story.release_refused(now(), crosslock::to_string(result));
  }
}

/// Once its lease is over on the server too, nothing may bring it back.
void worker::renew_what_is_lost(const critical_section_record& entered) {
  if (play_.state_goes_back() || entered.life != 0) return;
  const term* terms = home_.engine().find_term(entered.owner);
  if (!terms) return;
  std::array<seam::renewal, 1> batch;
  batch[0].held = terms->grant;
  batch[0].lease = terms->grant.lease;
  home_.clock().sleep(play_.everything_over());
  if (!home_.going()) return;
  entered.story.renews(now());
  try {
    home_.engine().unwatched().renew(batch, now() + play_.timeout);
  } catch (const error& why) {
    if (home_.alive()) entered.story.renew_unknown(now(), why.what());
    return;
  }
  if (!home_.alive()) return;
  if (batch[0].outcome == seam::renewal::result::renewed) {
    const time_point end = batch[0].sent + batch[0].granted_lease;
    entered.story.renewed(now(), {{}, end, batch[0].sent, batch[0].granted_lease});
  } else {
    stage_.seen.add(count::late_renewals);
    entered.story.renew_refused(now(), "lost");
  }
}

}  // namespace crosslock::simulation
