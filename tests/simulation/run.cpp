// Two histories are judged: what users saw (all invariants) and what crossed the seam (order of the
// server's line, who may release, orphans), because threads of a process share claims.
#include "simulation/run.hpp"

#include "simulation/nemesis.hpp"
#include "simulation/stage.hpp"

#include <chrono>
#include <sstream>
#include <utility>

namespace crosslock::simulation {

namespace {

using namespace std::chrono_literals;
using checker::invariant;

world::options world_options(const scenario& play, bool tell_all) {
  world::options how;
  how.step_limit = 400'000;
  how.drift_max = play.drift_max;
  how.spurious = play.spurious;
  how.interrupted = play.interrupted;
  how.interrupted_max = play.interrupted_max;
  how.trace_lines = tell_all ? 200'000 : 0;
  return how;
}

/// Long after everything should have come to its end by itself.
duration patience(const scenario& play) {
  const int turns = play.rounds * play.threads * (play.processes + 3);
  return turns * 3 * play.lease + 3 * play.after_fault_bound() +
         play.trouble_count * (2 * play.trouble_gap + play.trouble_length);
}

/// I9: nothing is left on the server.
void check_clean_end(stage& stage) {
  memory::server copy = stage.network->server_copy();
  const auto left = copy.apply(0, memory::list_request{}, stage.network->server_now()).answer;
  for (const lock_info& info : std::get<memory::list_reply>(left).infos) {
    stage.complain("I9: '", info.name, "' has ", info.holders.size(), " holders and ",
                   info.line.size(), " waiters at the end");
  }
}

/// The first thread of the world.
void direct(stage& stage) {
  storm weather{stage};
  sim_processes processes;
  const time_point closing = stage.now() + patience(stage.play);
  const auto spawn = [&] {
    const auto number = static_cast<std::int32_t>(processes.size());
    processes.push_back(std::make_unique<sim_process>(stage, weather, number, closing));
    processes.back()->start();
  };
  for (int i = 0; i < stage.play.processes; ++i) spawn();
  nemesis trouble{stage, processes, spawn};
  trouble.live();
  for (std::size_t i = 0; i < processes.size(); ++i) processes[i]->join();
  weather.end();
  // Notices on their way still speak of the processes.
  stage.world.sleep(2 * stage.play.everything_over() + 2s);
  check_clean_end(stage);
  for (const auto& [name, counter] : stage.registers) {
    stage.calls.final_value(stage.now(), name, counter.value());
    stage.seen.add(count::lost_without_fence,
                   static_cast<std::uint64_t>(counter.lost_without_fence()));
  }
  stage.network->set_script({});
}

checker::check_options options_for(const scenario& play) {
  checker::check_options how;
  how.calm_bound = play.calm_bound();
  how.after_fault_bound = play.after_fault_bound();
  how.ties_in_order = true;
  how.tokens_in_grant_order = play.calm;
  how.owner_never_refused = play.calm;
  how.violations_max = 3;
  return how;
}

bool order_is_judged(const scenario& play) {
  return !play.storm.any() && !play.wake_ups_lost && !play.may(count::wake_ups_dropped);
}

void judge(stage& stage, outcome& result) {
  checker::check_options how = options_for(stage.play);
  const checker::verdict users = check(stage.calls.events(), how);
  result.seen.add(count::expected_overlaps, users.expected_overlaps);
  result.broken = users.broken();
  result.broken.merge(stage.broken_here);
  if (!users.kept()) result.failure += users.to_string();

  how.tokens_in_grant_order = false;
  if (order_is_judged(stage.play)) {
    how.fifo = checker::fifo_scope::every_call;
    result.seen.add(count::fifo_judged);
  }
  checker::verdict seam = check(stage.claims.events(), how);
  const std::set<invariant> told{invariant::record, invariant::fifo, invariant::owner,
                                 invariant::orphan, invariant::phantom};
  std::erase_if(seam.violations, [&](const auto& each) { return !told.contains(each.which); });
  result.broken.merge(seam.broken());
  if (!seam.kept()) result.failure += "at the seam: " + seam.to_string();
}

std::uint64_t mix(std::uint64_t digest, const checker::history& events) {
  for (const checker::event& each : events) {
    for (const std::int64_t part :
         {each.t, each.token, each.deadline, static_cast<std::int64_t>(each.ph),
          static_cast<std::int64_t>(each.proc)}) {
      digest = (digest ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15U;
      digest ^= digest >> 29U;
    }
  }
  return digest;
}

std::string tell(const stage& stage) {
  std::ostringstream out;
  out << stage.world.trace_text() << "--- what users saw\n";
  write_jsonl(out, stage.calls.events());
  out << "--- what crossed the seam\n";
  write_jsonl(out, stage.claims.events());
  return out.str();
}

}  // namespace

outcome play(const scenario& scenario, bool tell_all) {
  outcome result;
  world::world world{scenario.seed, world_options(scenario, tell_all)};
  stage stage{scenario, world};
  try {
    world.run([&] { direct(stage); });
  } catch (const std::exception& why) {
    result.failure = std::string{"the world: "} + why.what() + "\n";
  }
  for (const std::string& each : stage.complaints) result.failure += each + "\n";
  judge(stage, result);
  stage.seen.add(count::calm_seeds, scenario.calm ? 1 : 0);
  stage.seen.add(count::strict_seeds, scenario.strict_fifo ? 1 : 0);
  result.seen.add(stage.seen);
  result.digest = mix(mix(world.digest(), stage.calls.events()), stage.claims.events());
  if (tell_all) result.story = tell(stage);
  return result;
}

}  // namespace crosslock::simulation
