// What one seed plays: who takes part, what they do, and what goes wrong.
#pragma once

#include "engine/mutant.hpp"
#include "simulation/totals.hpp"

#include <crosslock/options.hpp>
#include <crosslock/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace crosslock::simulation {

/// What a worker may do next. Those up to `permit_callback` take the lock.
enum class form : std::size_t {
  blocking,
  run,
  fixed_lease,
  try_once,
  timed,
  timed_fixed,
  stoppable,
  callback,
  standard,
  recursive,
  read,
  read_try,
  read_timed,
  read_callback,
  upgrade,
  downgrade,
  permit,
  permit_try,
  permit_timed,
  permit_callback,
  adopt,
  break_it,
  look,
  forge,
  size_
};
inline constexpr std::size_t form_count = static_cast<std::size_t>(form::size_);

/// What may happen to messages while the storm lasts, in permille, beyond their usual delay.
struct storm_rates {
  unsigned drop_requests = 0;
  unsigned drop_replies = 0;  ///< and pushes
  unsigned late = 0;
  unsigned twice = 0;

  bool any() const noexcept { return drop_requests + drop_replies + late + twice != 0; }
};

struct scenario {
  std::uint64_t seed = 0;
  bool calm = false;  ///< nothing goes wrong at all: the strict bounds hold

  int processes = 2;
  int threads = 1;
  int names = 1;
  int rounds = 5;   ///< for each worker
  int permits = 3;  ///< of the semaphore
  std::array<unsigned, form_count> weights{};

  duration lease{};
  duration timeout{};
  duration look_every{};
  duration max_hold = duration::max();
  retry_options retry;
  pass_options pass;
  bool strict_fifo = false;

  duration delay_min{};
  duration delay_max{};  ///< of a message on a good day
  storm_rates storm;
  duration late_max{};  ///< of one that is late
  bool wake_ups_lost = false;

  std::vector<count> troubles;  ///< which faults may happen; each as likely as the others
  int trouble_count = 0;
  duration trouble_gap{};
  duration trouble_length{};
  double pause_inside = 0;  ///< how often a worker's process is paused in its critical section
  double callback_on_loss = 0.5;

  duration drift_max{};
  double spurious = 0;
  double interrupted = 0;
  duration interrupted_max{};
  duration wake_delay{};

  bool may(count trouble) const noexcept;
  /// Somebody takes locks in other ways than one after the other.
  bool shares() const noexcept;
  /// A server that goes back to an older state may honour old receipts again.
  bool state_goes_back() const noexcept;
  /// The longest any lease in this run can be.
  duration longest_lease() const noexcept { return lease; }
  /// I4: without any fault near, and after one.
  duration calm_bound() const noexcept;
  duration after_fault_bound() const noexcept;
  /// When what was sent, or done to a process, before now has surely had its effect.
  duration everything_over() const noexcept;

  std::string to_string() const;
};

scenario draw_scenario(std::uint64_t seed);
/// The same, with much of what the mutant cannot stand.
scenario draw_scenario_for(seam::mutant which, std::uint64_t seed);

}  // namespace crosslock::simulation
