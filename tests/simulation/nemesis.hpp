// Makes things go wrong, and right again.
#pragma once

#include "simulation/sim_process.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace crosslock::simulation {

using sim_processes = std::vector<std::unique_ptr<sim_process>>;

/// Lives on a simulated thread of its own, outside of all processes.
class nemesis {
 public:
  /// `spawn` starts a process in place of one that is gone.
  nemesis(stage& stage, const sim_processes& processes, std::function<void()> spawn);
  /// Strikes as often as the scenario says; returns when everything is right again.
  void live();

 private:
  void strike(count trouble);
  void pause_server();
  void crash_server(count how);
  void step_clock(count how);
  void replace_later();
  sim_process& victim();
  duration draw_length();
  /// Runs it then, and counts it among what live() waits for.
  void later(duration delay, std::function<void()> undo);

  stage& stage_;
  const scenario& play_;
  const sim_processes& processes_;
  const std::function<void()> spawn_;
  bool server_hit_ = false;
  bool stepped_back_ = false;
  int replacements_ = 0;
  time_point busy_until_{};
};

}  // namespace crosslock::simulation
