// Many locks are held and nobody does anything: what the process uses of the CPU is renewing.
#include "benchmarks/cpu_time.hpp"
#include "benchmarks/workload.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>

namespace crosslock::bench {

measured run_renewals(subject& subject, std::size_t count, surroundings& around) {
  using namespace std::chrono_literals;
  // Renewed every third of it. Many locks take a while to acquire: on a busy machine the first must
  // not be lost before the last are there.
  const auto lease = count > 1000 ? 1500ms : 600ms;
  const auto locks = subject.hold_many(around.fresh_name() + "/", count, lease);
  // The batches find their rhythm: the first renewals come while the last locks are still taken.
  std::this_thread::sleep_for(lease / 3);

  const std::uint64_t requests = around.engine.requests();
  const std::uint64_t round_trips = around.engine.round_trips();
  const std::uint64_t renewed = locks->renewals();
  const seconds used = cpu_time();
  // Whole periods, so that every lock is renewed equally often.
  const auto period = seconds{lease} / 3;
  std::this_thread::sleep_for(period * std::max(2.0, std::floor(around.span / period)));
  const seconds cost = cpu_time() - used;
  const auto renewals = static_cast<double>(locks->renewals() - renewed);
  if (renewals == 0) throw std::runtime_error{"nothing was renewed"};

  measured result;
  result.rate = renewals / cost.count();
  result.cpu_us_per_op = cost.count() * 1e6 / renewals;
  if (around.engine.counts(subject.name())) {
    result.requests_per_op = static_cast<double>(around.engine.requests() - requests) / renewals;
    const auto trips = static_cast<double>(around.engine.round_trips() - round_trips);
    if (trips > 0) result.round_trips_per_op = trips / renewals;
  }
  return result;
}

}  // namespace crosslock::bench
