// The workloads: the same names and the same code for every engine.
#pragma once

#include "benchmarks/engines/engine.hpp"
#include "benchmarks/measured.hpp"
#include "benchmarks/subject.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::bench {

struct surroundings {
  crosslock::bench::engine& engine;
  std::string_view engine_name;
  seconds span;  ///< how long to measure
  int names = 0;

  /// A name that no run before has used.
  std::string fresh_name() { return "bench/" + std::to_string(++names); }
};

struct workload {
  std::string name;
  std::string_view what;  ///< one operation, for people
  std::function<measured(subject&, surroundings&)> run;
  std::string_view variant{};  ///< only on engines that have it
  /// Neighbours of one family take turns, and are compared with its first.
  std::string_view family{};
  /// Somebody without us that is the same on every engine, and takes part in this workload only.
  std::function<std::unique_ptr<subject>()> rival{};
};

/// In the order in which they are run and printed.
std::vector<workload> workloads();

// How they are run. Each throws std::runtime_error when a subject breaks a promise.
measured run_setting(subject& subject, const setting& asked, surroundings& around);
measured run_processes(subject& subject, const setting& setting, surroundings& around);
/// How long it takes from a release until the next one is in, who waits by a thread or, `async`,
/// without one. The rate is one by the median of that.
measured run_waits(subject& subject, bool async, surroundings& around);
/// Locks of the standard library: readers only.
std::unique_ptr<subject> make_standard_readers();
measured run_reentry(subject& subject, surroundings& around);
measured run_renewals(subject& subject, std::size_t count, surroundings& around);
/// What holding that many for a second costs where the lease is a session. The rate is how many
/// such clients one CPU could carry.
measured run_holding(subject& subject, std::size_t count, surroundings& around);
/// How long it takes from kill -9 of a holder until the next one is in; the rate is one by that.
measured run_kill(subject& subject, surroundings& around);
/// What a lock that nobody holds costs, one that is held, and a thread that waits for one.
measured weigh_idle_locks(subject& subject, surroundings& around);
measured weigh_held_locks(subject& subject, surroundings& around);
measured weigh_waiters(subject& subject, surroundings& around);

}  // namespace crosslock::bench
