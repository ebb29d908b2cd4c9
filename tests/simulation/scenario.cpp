// Every choice is drawn from the seed, in a fixed order. Most seeds have a few faults of a few
// kinds: a run with everything at once seldom gets far enough to be interesting.
#include "simulation/scenario.hpp"

#include "engines/memory/protocol.hpp"
#include "line_rules/line_rule.hpp"
#include "world/random_stream.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace crosslock::simulation {

namespace {

using namespace std::chrono_literals;
using world::random_stream;

constexpr std::array leases{50ms, 100ms, 200ms, 500ms, 1000ms, 2000ms};
constexpr std::array all_troubles{
    count::process_paused,   count::server_paused, count::cut_both_ways,     count::cut_to_server,
    count::cut_to_client,    count::refused,       count::clock_forward,     count::clock_back,
    count::crash_kept,       count::crash_lost,    count::crash_rolled_back, count::killed,
    count::wake_ups_dropped, count::closed_early,
};

constexpr auto first_sharing = static_cast<std::size_t>(form::read);
constexpr auto last_sharing = static_cast<std::size_t>(form::permit_callback);

unsigned& weight(scenario& s, form which) { return s.weights[static_cast<std::size_t>(which)]; }

void draw_people(scenario& s, random_stream& rng) {
  s.processes = rng.uniform(2, 5);
  s.threads = rng.uniform(1, 3);
  s.names = rng.uniform(1, 2);
  s.rounds = rng.uniform(4, 10);
  for (unsigned& each : s.weights) each = rng.uniform(0U, 3U);
  s.permits = rng.uniform(2, 5);
  // In half of the seeds, so that the others have threads enough for a single holder.
  const bool sharing = rng.chance(0.5);
  for (std::size_t each = first_sharing; each <= last_sharing && !sharing; ++each) {
    s.weights[each] = 0;
  }
  weight(s, form::blocking) += 3;
  weight(s, form::forge) = rng.uniform(0U, 1U);
  weight(s, form::look) = rng.uniform(0U, 1U);
}

void draw_settings(scenario& s, random_stream& rng) {
  s.lease = rng.pick(leases);
  s.delay_min = rng.uniform(duration{50us}, duration{200us});
  s.delay_max = s.delay_min + rng.uniform(duration{50us}, std::min<duration>(5ms, s.lease / 25));
  s.timeout = std::max(rng.uniform(duration{20ms}, duration{300ms}), 8 * s.delay_max);
  s.look_every = rng.uniform(duration{20ms}, duration{1s});
  s.retry = {rng.uniform(duration{2ms}, duration{20ms}), rng.uniform(1, 6),
             rng.uniform(duration{20ms}, duration{200ms})};
  s.pass = {rng.uniform(1U, 8U), rng.uniform(duration{500us}, duration{5ms})};
  s.strict_fifo = rng.chance(0.2);
  if (rng.chance(0.15)) s.max_hold = rng.uniform(s.lease / 2, 2 * s.lease);
  if (rng.chance(0.5)) s.drift_max = 1us;
  if (rng.chance(0.3)) s.spurious = 0.05;
  if (rng.chance(0.3)) s.wake_delay = rng.uniform(duration{10us}, duration{150us});
}

void draw_storm(scenario& s, random_stream& rng) {
  const auto rate = [&](double how_often, unsigned most) {
    return rng.chance(how_often) ? rng.uniform(1U, most) : 0U;
  };
  s.storm = {rate(0.4, 80), rate(0.4, 80), rate(0.4, 60), rate(0.4, 60)};
  s.late_max = rng.uniform(s.delay_max, std::min<duration>(2 * s.lease, 1500ms));
  s.wake_ups_lost = rng.chance(0.1);
}

void draw_troubles(scenario& s, random_stream& rng) {
  const int kinds = rng.uniform(0, 4);
  for (int i = 0; i < kinds; ++i) s.troubles.push_back(rng.pick(all_troubles));
  // Only both together can take a fence back: then even a good server breaks its promise.
  if (s.may(count::crash_lost) || s.may(count::crash_rolled_back)) {
    std::erase(s.troubles, count::clock_back);
  }
  if (s.state_goes_back()) weight(s, form::adopt) = 0;
  s.trouble_count = s.troubles.empty() ? 0 : rng.uniform(1, 8);
  s.trouble_gap = rng.uniform(s.lease / 8, s.lease * 3 / 2);
  s.trouble_length = rng.uniform(s.lease / 4, 3 * s.lease);
  if (rng.chance(0.4)) s.pause_inside = 0.1;
}

}  // namespace

bool scenario::may(count trouble) const noexcept {
  return std::find(troubles.begin(), troubles.end(), trouble) != troubles.end();
}

bool scenario::shares() const noexcept {
  return std::any_of(weights.begin() + first_sharing, weights.begin() + last_sharing + 1,
                     [](unsigned each) { return each != 0; });
}

bool scenario::state_goes_back() const noexcept {
  return may(count::crash_rolled_back) || may(count::clock_back);
}

duration scenario::calm_bound() const noexcept {
  const duration slop = 2ms + 100 * drift_max + 8 * wake_delay + 20 * interrupted_max;
  const duration offer = seam::offer_lease(lease);
  const duration look = std::min(offer / 3, look_every);
  const duration by_wake_up = 6 * delay_max + slop;
  // Whoever is offered the lock unheard, and leaves, costs the next one a look.
  const int waiting = processes * (strict_fifo || shares() ? threads : 1);
  if (calm) return wake_ups_lost ? waiting * (by_wake_up + look) : by_wake_up;
  // Whoever has just been frozen or cut off may still be offered the lock, in vain.
  return by_wake_up + look + 2 * threads * offer;
}

duration scenario::after_fault_bound() const noexcept {
  const duration asking = (retry.tries + 2) * (timeout + retry.cap);
  const duration step_back = may(count::clock_back) ? lease : duration::zero();
  return calm_bound() + 2 * longest_lease() + asking + late_max + step_back;
}

duration scenario::everything_over() const noexcept {
  return longest_lease() + late_max + trouble_length + 10 * delay_max + 100ms;
}

void draw_interruptions(scenario& s) {
  random_stream rng{s.seed ^ 0x696e7472U};  // of its own: the other draws stay as they were
  if (!rng.chance(0.25)) return;
  s.interrupted = rng.uniform(1U, 20U) / 100.0;
  s.interrupted_max = rng.uniform(duration{1us}, duration{200us});
}

scenario draw_scenario(std::uint64_t seed) {
  random_stream rng{seed ^ 0x7363656eU};
  scenario s;
  s.seed = seed;
  s.calm = rng.chance(0.15);
  draw_people(s, rng);
  draw_settings(s, rng);
  if (s.calm) {
    s.late_max = s.delay_max;
    s.wake_ups_lost = rng.chance(0.2);
    weight(s, form::break_it) = 0;
    weight(s, form::forge) = 1;
  } else {
    draw_storm(s, rng);
    draw_troubles(s, rng);
  }
  draw_interruptions(s);
  return s;
}

namespace {

/// Many queue in their own process and are stopped, often while they look around.
void crowd_and_interrupt(scenario& s) {
  s.calm = false;
  s.storm = {};
  s.troubles.clear();
  s.trouble_count = 0;
  s.timeout = std::max<duration>(20ms, 8 * s.delay_max);
  s.lease = 1s;
  s.threads = 3;
  s.names = 1;
  s.spurious = 0;
  s.strict_fifo = false;
  s.max_hold = duration::max();
  s.pause_inside = 0;
  s.interrupted = 0.3;
  s.interrupted_max = 5ms;  // so long that a loss would be told late: nothing may be lost
  s.weights = {};
  weight(s, form::blocking) = 5;
  weight(s, form::stoppable) = 20;
}

}  // namespace

scenario draw_scenario_for(seam::mutant which, std::uint64_t seed) {
  scenario s = draw_scenario(seed);
  random_stream rng{seed ^ 0x6d757461U};
  const auto play = [&](std::vector<count> troubles) {
    s.calm = false;
    s.trouble_count = 4;
    s.troubles = std::move(troubles);
    s.trouble_gap = rng.uniform(s.lease / 8, s.lease);
    s.trouble_length = rng.uniform(s.lease / 2, 2 * s.lease);
  };
  const auto wind = [&](storm_rates rates) {
    s.calm = false;
    s.storm = rates;
    s.late_max = rng.uniform(s.delay_max, s.lease);
  };
  switch (which) {
    case seam::mutant::deadline_from_response:
      play({count::server_paused});
      wind({.late = 200});
      s.trouble_length = rng.uniform(s.lease / 8, s.lease / 2);
      weight(s, form::fixed_lease) = 9;
      break;
    case seam::mutant::release_without_owner:
      wind({.drop_replies = 60});
      weight(s, form::forge) = 2;
      break;
    case seam::mutant::renew_creates:
      play({count::process_paused});
      wind({});
      s.pause_inside = 0.3;
      break;
    case seam::mutant::fence_stands_still:
      play({count::crash_lost});
      break;
    case seam::mutant::no_look_behind_wake_up:
      play({count::wake_ups_dropped});
      wind({.drop_replies = 30});
      break;
    case seam::mutant::retry_with_new_owner:
      wind({.drop_replies = 100});
      break;
    case seam::mutant::loss_told_by_io_thread:
      play({count::cut_both_ways, count::cut_to_client});
      s.pass.passes = 1;
      break;
    case seam::mutant::word_noted_late:
      crowd_and_interrupt(s);
      break;
    case seam::mutant::one_permit_too_many:
      weight(s, form::permit) = 9;
      break;
    case seam::mutant::upgrade_beside_any:
      weight(s, form::read) = weight(s, form::upgrade) = 9;
      break;
    default:  // M11: any contention shows it; M6: only real servers do, see tests/faults/mutants
      break;
  }
  return s;
}

std::string scenario::to_string() const {
  const auto ms = [](duration d) {
    return d == duration::max() ? std::string{"none"}
                                : std::to_string(static_cast<double>(d.count()) / 1e6) + "ms";
  };
  std::ostringstream out;
  out << (calm ? "calm, " : "") << (shares() ? "sharing, " : "") << processes << " processes x "
      << threads << " threads x " << rounds << " rounds over " << names << " names; lease "
      << ms(lease) << ", timeout " << ms(timeout) << ", look_every " << ms(look_every)
      << ", max_hold " << ms(max_hold) << ", tries " << retry.tries << ", retry base "
      << ms(retry.base) << " cap " << ms(retry.cap) << ", passes " << pass.passes
      << (strict_fifo ? ", strict_fifo" : "") << "; delays " << ms(delay_min) << " to "
      << ms(delay_max) << ", late up to " << ms(late_max) << "; drop " << storm.drop_requests << "/"
      << storm.drop_replies << " late " << storm.late << " twice " << storm.twice << " permille"
      << (wake_ups_lost ? ", no wake-ups" : "") << "; " << trouble_count << " troubles of:";
  for (const count each : troubles) out << ' ' << simulation::to_string(each) << ';';
  out << " gap " << ms(trouble_gap) << " length " << ms(trouble_length) << "; paused inside "
      << pause_inside << "; drift " << ms(drift_max) << " spurious " << spurious << " interrupted "
      << interrupted << " up to " << ms(interrupted_max) << " wake_delay " << ms(wake_delay)
      << "; bounds " << ms(calm_bound()) << " and " << ms(after_fault_bound());
  return out.str();
}

}  // namespace crosslock::simulation
