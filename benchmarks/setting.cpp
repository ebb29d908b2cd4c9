// Settings in this process: every party has a thread. (Several processes: process_setting.cpp.)
#include "benchmarks/worker.hpp"
#include "benchmarks/workload.hpp"

#include <latch>
#include <thread>

namespace crosslock::bench {
namespace {

/// Lets everybody in once, so that connections and threads are there, and then measures.
measured run_workers(std::span<worker> workers, std::span<const tally> tallies, party* gate,
                     surroundings& around) {
  using namespace std::chrono_literals;
  for (worker& worker : workers) worker.once();
  // Whoever has a name to share begins in a full line: a queue lock that is empty when its first
  // party comes may stay so for long, because that party never has to sleep.
  if (gate) gate->lock();
  std::atomic<phase> now{phase::warming};
  std::latch started{static_cast<std::ptrdiff_t>(workers.size())};
  std::vector<std::jthread> threads;
  for (worker& worker : workers) {
    threads.emplace_back([&] {
      started.arrive_and_wait();
      worker.work(now);
    });
  }
  started.wait();
  std::this_thread::sleep_for(20ms);
  if (gate) gate->unlock();
  const measured result = watch(tallies, now, gate == nullptr, around);
  threads.clear();
  return result;
}

measured run_threads(subject& subject, setting setting, surroundings& around) {
  const bool alone = setting.apart();
  const bool sharing = setting.who == setting::kind::readers;
  const std::size_t count = setting.count;
  if (!alone || sharing) ++setting.count;  // the last one is the gate, or a reader that stays
  const parties everybody = subject.assemble(setting);
  if (sharing) everybody.back()->lock();
  std::vector<guarded> guarded(alone ? count : 1);
  std::vector<tally> tallies(count);
  std::vector<worker> workers;
  for (std::size_t i = 0; i < count; ++i) {
    workers.emplace_back(i, *everybody[i], guarded[alone ? i : 0], tallies[i], alone);
  }
  measured result = run_workers(workers, tallies, alone ? nullptr : everybody.back().get(), around);
  if (sharing) everybody.back()->unlock();
  collect(tallies, result);
  return result;
}

}  // namespace

measured run_setting(subject& subject, const setting& asked, surroundings& around) {
  const setting setting = around.engine.staged(asked, subject.name());
  const auto requests = [&] { return around.engine.requests(); };
  auto played = subject.play(setting, around.span, requests);
  measured result = played ? *played
                    : setting.who == setting::kind::processes
                        ? run_processes(subject, setting, around)
                        : run_threads(subject, setting, around);
  if (!around.engine.counts(subject.name())) {
    result.requests_per_op.reset();
    result.round_trips_per_op.reset();
    result.notices_per_op.reset();
  }
  return result;
}

}  // namespace crosslock::bench
