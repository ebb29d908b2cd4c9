// Each trouble plans its own end when it begins, so that several may overlap.
#include "simulation/nemesis.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::simulation {

using checker::fault;

nemesis::nemesis(stage& stage, const sim_processes& processes, std::function<void()> spawn)
    : stage_{stage}, play_{stage.play}, processes_{processes}, spawn_{std::move(spawn)} {}

void nemesis::live() {
  if (play_.wake_ups_lost) {
    stage_.seen.add(count::wake_ups_dropped);
    stage_.network->drop_pushes(true);
  }
  for (int i = 0; i < play_.trouble_count; ++i) {
    stage_.world.sleep(stage_.rng().uniform(duration::zero(), 2 * play_.trouble_gap));
    strike(stage_.rng().pick(play_.troubles));
  }
  while (stage_.now() <= busy_until_) {
    stage_.world.sleep(busy_until_ - stage_.now() + duration{1});
  }
}

sim_process& nemesis::victim() {
  return *processes_[static_cast<std::size_t>(stage_.rng().below(processes_.size()))];
}

duration nemesis::draw_length() {
  return stage_.rng().uniform(duration::zero(), play_.trouble_length);
}

void nemesis::later(duration delay, std::function<void()> undo) {
  busy_until_ = std::max(busy_until_, stage_.now() + delay);
  stage_.world.after(delay, std::move(undo));
}

void nemesis::strike(count trouble) {
  sim_process& hit = victim();
  const duration length = draw_length();
  switch (trouble) {
    case count::process_paused:
      if (!hit.can_suffer()) return;
      stage_.seen.add(count::process_paused);
      return hit.freeze(length);
    case count::server_paused:
      return pause_server();
    case count::cut_both_ways:
    case count::cut_to_server:
    case count::cut_to_client:
    case count::refused:
      return hit.cut(trouble, length);
    case count::clock_forward:
    case count::clock_back:
      return step_clock(trouble);
    case count::crash_kept:
    case count::crash_lost:
    case count::crash_rolled_back:
      return crash_server(trouble);
    case count::killed:
      hit.kill();
      return replace_later();
    case count::closed_early:
      hit.close_early();
      return replace_later();
    case count::wake_ups_dropped:
      stage_.seen.add(count::wake_ups_dropped);
      stage_.network->drop_pushes(true);
      return later(length, [this] { stage_.network->drop_pushes(play_.wake_ups_lost); });
    default:
      return;
  }
}

void nemesis::pause_server() {
  if (std::exchange(server_hit_, true)) return;
  stage_.seen.add(count::server_paused);
  stage_.nemesis(fault::server_down, checker::event::nobody, {}, "paused");
  stage_.network->pause_server();
  later(draw_length(), [this] {
    server_hit_ = false;
    stage_.nemesis(fault::server_up);
    stage_.network->resume_server();
  });
}

void nemesis::crash_server(count how) {
  using memory_after = memory::faulty_network::memory_after;
  if (std::exchange(server_hit_, true)) return;
  if (how == count::crash_rolled_back) stage_.network->take_snapshot();
  const duration length = draw_length();
  later(stage_.rng().uniform(duration::zero(), play_.lease), [this, how, length] {
    stage_.seen.add(how);
    stage_.nemesis(fault::server_down, checker::event::nobody, {}, to_string(how));
    if (how == count::crash_lost) stage_.nemesis(fault::state_loss);
    if (how == count::crash_rolled_back) stage_.nemesis(fault::rollback);
    stage_.network->crash_server();
    later(length, [this, how] {
      server_hit_ = false;
      stage_.nemesis(fault::server_up);
      stage_.network->restart_server(how == count::crash_lost          ? memory_after::empty
                                     : how == count::crash_rolled_back ? memory_after::snapshot
                                                                       : memory_after::kept);
    });
  });
}

void nemesis::step_clock(count how) {
  const bool back = how == count::clock_back;
  // More than one step back would only make the bounds longer.
  if (back && std::exchange(stepped_back_, true)) return;
  stage_.seen.add(how);
  stage_.nemesis(fault::clock_step, checker::event::nobody, {}, to_string(how));
  const duration by = stage_.rng().uniform(duration::zero(), back ? play_.lease : 2 * play_.lease);
  stage_.network->step_server_clock(back ? -by : by);
}

void nemesis::replace_later() {
  constexpr int most = 3;
  if (replacements_ >= most || stage_.rng().chance(0.3)) return;
  ++replacements_;
  later(draw_length(), spawn_);
}

}  // namespace crosslock::simulation
