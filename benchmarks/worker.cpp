// Locking and unlocking as fast as possible, and counting it from outside.
#include "benchmarks/worker.hpp"

#include "benchmarks/allocations.hpp"
#include "benchmarks/cpu_time.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>

namespace crosslock::bench {
namespace {

using steady = std::chrono::steady_clock;
constexpr auto relaxed = std::memory_order_relaxed;

struct reading {
  steady::time_point moment;
  std::uint64_t requests = 0;
  std::uint64_t round_trips = 0;
  std::uint64_t notices = 0;
  seconds cpu{};
  std::vector<std::uint64_t> counts;
};

reading read(std::span<const tally> everybody, const engine& engine) {
  reading now{.moment = steady::now(),
              .requests = engine.requests(),
              .round_trips = engine.round_trips(),
              .notices = engine.notices(),
              .cpu = cpu_time(),
              .counts = {}};
  for (const tally& one : everybody) now.counts.push_back(one.count.load(relaxed));
  return now;
}

/// Until everybody has had some turns: the more there are, the longer it takes until all stacks and
/// tables have been touched. Whoever starves is not waited for.
void warm_up(std::span<const tally> everybody, seconds span) {
  constexpr std::uint64_t turns = 8;
  const auto end = steady::now() + span;
  const auto is_warm = [](const tally& one) { return one.count.load(relaxed) >= turns; };
  std::this_thread::sleep_for(span / 8);
  while (!std::ranges::all_of(everybody, is_warm) && steady::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

measured compare(const reading& before, const reading& after, bool alone) {
  std::vector<double> each;
  double sum = 0;
  for (std::size_t i = 0; i < before.counts.size(); ++i) {
    each.push_back(static_cast<double>(after.counts[i] - before.counts[i]));
    sum += each.back();
  }
  measured result;
  result.rate = sum / seconds{after.moment - before.moment}.count();
  const auto [least, most] = std::ranges::minmax(each);
  if (!alone) result.share_max_min = most / least;  // infinite when one got nothing
  const auto requests = static_cast<double>(after.requests - before.requests);
  const auto round_trips = static_cast<double>(after.round_trips - before.round_trips);
  const auto notices = static_cast<double>(after.notices - before.notices);
  if (sum == 0) return result;
  result.requests_per_op = requests / sum;
  if (round_trips > 0) result.round_trips_per_op = round_trips / sum;
  if (notices > 0) result.notices_per_op = notices / sum;
  result.cpu_us_per_op = seconds{after.cpu - before.cpu}.count() * 1e6 / sum;
  return result;
}

}  // namespace

void tally::fail(std::string_view why) noexcept {
  if (failure.front() == '\0') why.copy(failure.data(), failure.size() - 1);
}

void worker::once() {
  const std::int64_t fence = party_.lock();
  if (guarded_.inside.exchange(true, relaxed)) tally_.fail("two were inside at once");
  if (fence != 0) {
    if (fence <= guarded_.fence.load(relaxed)) tally_.fail("a fence did not rise");
    guarded_.fence.store(fence, relaxed);
  }
  const bool handover = alone_ || guarded_.owner.load(relaxed) != number_;
  if (handover) {
    guarded_.owner.store(number_, relaxed);
    tally_.count.store(tally_.count.load(relaxed) + 1, relaxed);
  }
  guarded_.inside.store(false, relaxed);
  party_.unlock();
}

void worker::work(const std::atomic<phase>& now) noexcept try {
  // Reading the clock would be a good part of a short operation: alone, measure every 16th.
  const std::uint64_t sample = alone_ ? 16 : 1;
  std::optional<std::uint64_t> allocated;
  for (std::uint64_t round = 0;; ++round) {
    const phase seen = now.load(relaxed);
    if (allocated) tally_.allocations = allocations_of_this_thread() - *allocated;
    if (seen == phase::over) return;
    if (seen == phase::measuring) {
      if (!allocated) allocated = allocations_of_this_thread();
      ++tally_.rounds;
    }
    if (round % sample != 0 || seen == phase::warming) {
      once();
      continue;
    }
    const auto before = steady::now();
    once();
    tally_.latency.add(steady::now() - before);
  }
} catch (const std::exception& failure) {
  tally_.fail(failure.what());
}

measured watch(std::span<const tally> everybody, std::atomic<phase>& now, bool alone,
               surroundings& around) {
  warm_up(everybody, around.span);
  now = phase::measuring;
  const reading before = read(everybody, around.engine);
  std::this_thread::sleep_for(around.span);
  const reading after = read(everybody, around.engine);
  now = phase::over;
  return compare(before, after, alone);
}

void collect(std::span<const tally> everybody, measured& result) {
  std::uint64_t rounds = 0;
  std::uint64_t allocations = 0;
  for (const tally& one : everybody) {
    if (one.failure.front() != '\0') throw std::runtime_error{one.failure.data()};
    result.latency.add(one.latency);
    rounds += one.rounds;
    allocations += one.allocations;
  }
  if (rounds > 0) {
    result.allocations_per_op = static_cast<double>(allocations) / static_cast<double>(rounds);
  }
}

}  // namespace crosslock::bench
