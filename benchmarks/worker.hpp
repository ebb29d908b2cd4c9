// One party's part in a setting, whether it has a thread or a process to itself.
#pragma once

#include "benchmarks/histogram.hpp"
#include "benchmarks/subject.hpp"
#include "benchmarks/workload.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace crosslock::bench {

/// What a lock protects here. Atomic only because a broken lock must not break the benchmark; on a
/// cache line of its own, because those of different names have nothing to do with each other.
struct alignas(64) guarded {
  std::atomic<std::size_t> owner{static_cast<std::size_t>(-1)};
  std::atomic<std::int64_t> fence{0};
  std::atomic<bool> inside{false};
};

enum class phase { preparing, warming, measuring, over };

/// What one party has seen. It alone writes; it may lie in memory that processes share.
struct alignas(64) tally {
  std::atomic<std::uint64_t> count{0};
  histogram latency;
  std::uint64_t rounds = 0;         ///< whether they count or not, while measured
  std::uint64_t allocations = 0;    ///< in these
  std::array<char, 256> failure{};  ///< what went wrong first

  void fail(std::string_view why) noexcept;
};

/// With all on one name only handovers count: an owner that comes again at once has handed nothing
/// over. `alone`: nobody else has this name, and every round counts.
class worker {
 public:
  worker(std::size_t number, party& party, guarded& guarded, tally& tally, bool alone) noexcept
      : number_{number}, party_{party}, guarded_{guarded}, tally_{tally}, alone_{alone} {}

  /// Takes the lock once, and looks whether it keeps its promises.
  void once();
  /// Takes it again and again until all is over. Throws nothing: the tally has the failure.
  void work(const std::atomic<phase>& now) noexcept;

 private:
  const std::size_t number_;
  party& party_;
  guarded& guarded_;
  tally& tally_;
  const bool alone_;
};

/// Called when everybody works: warms up, measures, and ends it.
measured watch(std::span<const tally> everybody, std::atomic<phase>& now, bool alone,
               surroundings& around);

/// When nobody works any more: throws if something went wrong, and adds up the latencies.
void collect(std::span<const tally> everybody, measured& result);

}  // namespace crosslock::bench
