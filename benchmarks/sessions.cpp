// Engines whose leases are one session of the client: what it costs to keep that alive, and how
// long the others wait when a holder dies.
#include "benchmarks/cpu_time.hpp"
#include "benchmarks/processes.hpp"
#include "benchmarks/workload.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace crosslock::bench {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto session = 10s;

/// A process that holds a lock until it is killed. Returns when it holds it.
void start_holder(processes& others, subject& subject, const std::string& name,
                  surroundings& around) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "a pipe"};
  }
  others.start({std::string{hold_on}, std::string{around.engine_name}, std::string{subject.name()},
                subject.address(), name, std::to_string(ends[1])},
               ends[1]);
  close(ends[1]);
  char word = 0;
  const bool holds = read(ends[0], &word, 1) == 1;
  close(ends[0]);
  if (!holds) throw std::runtime_error{"the process that should hold a lock does not"};
}

}  // namespace

int hold_on_until_killed(std::span<char* const> words) {
  if (words.size() != 5) return 1;
  const auto subject = join(words[0], words[1], words[2]);
  const auto party = subject->assemble({setting::kind::clients, 1, words[3]});
  party.front()->lock();
  static_cast<void>(!write(std::stoi(words[4]), "+", 1));
  for (;;) pause();
}

measured run_holding(subject& subject, std::size_t count, surroundings& around) {
  if (subject.name() != "crosslock") return {};
  const auto locks = subject.hold_many(around.fresh_name() + "/", count, session);
  // Heartbeats are at most a sixth of the session apart. With the first ones long holds are guarded
  // against removal by hand, once: measured is what comes after.
  std::this_thread::sleep_for(session / 3);
  const seconds span = std::max<seconds>(around.span, session / 3);
  const std::uint64_t requests = around.engine.requests();
  const seconds used = cpu_time();
  std::this_thread::sleep_for(span);
  const seconds cost = cpu_time() - used;
  const auto asked = static_cast<double>(around.engine.requests() - requests);
  locks->renewals();  // throws if one was lost

  measured result;
  result.rate = span / cost;
  result.cpu_us_per_op = cost / span * 1e6;
  result.requests_per_op = asked / span.count();
  return result;
}

measured run_kill(subject& subject, surroundings& around) {
  if (subject.name() != "crosslock") return {};
  const std::string name = around.fresh_name();
  std::optional<processes> others{std::in_place};
  start_holder(*others, subject, name, around);
  const parties next = subject.assemble({setting::kind::clients, 1, name});
  steady::time_point in;
  std::jthread waiter{[&] {
    next.front()->lock();
    in = steady::now();
    next.front()->unlock();
  }};
  std::this_thread::sleep_for(100ms);  // until it stands in line
  const auto killed = steady::now();
  others.reset();
  waiter.join();
  if (in < killed) throw std::runtime_error{"a lock was granted while another held it"};

  measured result;
  result.latency.add(in - killed);
  result.rate = 1 / seconds{in - killed}.count();
  return result;
}

}  // namespace crosslock::bench
