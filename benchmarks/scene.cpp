// Threads that lock and unlock as fast as they can, each as one party. With all of them on one
// name only handovers count: an owner that comes again at once has handed nothing over.
#include "benchmarks/workload.hpp"

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace crosslock::bench {
namespace {

using steady = std::chrono::steady_clock;
constexpr auto relaxed = std::memory_order_relaxed;

/// What a lock protects here. Atomic only because a broken lock must not break the benchmark; on a
/// cache line of its own, because those of different names have nothing to do with each other.
struct alignas(64) guarded {
  std::atomic<std::size_t> owner{static_cast<std::size_t>(-1)};
  std::atomic<std::int64_t> fence{0};
  std::atomic<bool> inside{false};
};

enum class phase { warming, measuring, over };

struct shared_state {
  explicit shared_state(std::size_t count) : started{static_cast<std::ptrdiff_t>(count)} {}

  std::latch started;
  std::atomic<phase> now{phase::warming};

  void fail(const std::string& why) {
    const std::lock_guard guard{mutex_};
    if (failure_.empty()) failure_ = why;
  }
  void throw_failure() const {
    if (!failure_.empty()) throw std::runtime_error{failure_};
  }

 private:
  std::mutex mutex_;
  std::string failure_;
};

/// One thread's part. Its counter has one writer.
class worker {
 public:
  worker(std::size_t number, party& party, guarded& guarded, bool alone)
      : number_{number}, party_{party}, guarded_{guarded}, alone_{alone} {}

  void run(shared_state& all) {
    all.started.arrive_and_wait();
    try {
      work(all);
    } catch (const std::exception& failure) {
      all.fail(failure.what());
    }
  }

  /// Takes the lock once, and looks whether it keeps its promises.
  void once(shared_state& all) {
    const std::int64_t fence = party_.lock();
    if (guarded_.inside.exchange(true, relaxed)) all.fail("two were inside at once");
    if (fence != 0) {
      if (fence <= guarded_.fence.load(relaxed)) all.fail("a fence did not rise");
      guarded_.fence.store(fence, relaxed);
    }
    const bool handover = alone_ || guarded_.owner.load(relaxed) != number_;
    if (handover) {
      guarded_.owner.store(number_, relaxed);
      count_.store(count_.load(relaxed) + 1, relaxed);
    }
    guarded_.inside.store(false, relaxed);
    party_.unlock();
  }

  std::uint64_t count() const noexcept { return count_.load(relaxed); }
  const histogram& latency() const noexcept { return latency_; }

 private:
  void work(shared_state& all) {
    // Reading the clock would be a good part of a short operation: alone, measure every 16th.
    const std::uint64_t sample = alone_ ? 16 : 1;
    for (std::uint64_t round = 0;; ++round) {
      const phase now = all.now.load(relaxed);
      if (now == phase::over) return;
      if (round % sample != 0 || now == phase::warming) {
        once(all);
        continue;
      }
      const auto before = steady::now();
      once(all);
      latency_.add(steady::now() - before);
    }
  }

  const std::size_t number_;
  party& party_;
  guarded& guarded_;
  const bool alone_;
  std::atomic<std::uint64_t> count_{0};
  histogram latency_;
};

struct reading {
  steady::time_point moment;
  std::uint64_t requests = 0;
  std::vector<std::uint64_t> counts;
};

reading read(const std::vector<std::unique_ptr<worker>>& workers, const engine& engine) {
  reading now{steady::now(), engine.requests(), {}};
  for (const auto& worker : workers) now.counts.push_back(worker->count());
  return now;
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
  if (sum > 0) result.requests_per_op = requests / sum;
  return result;
}

/// Lets everybody in once, so that connections and threads are there, and then measures.
measured run_workers(const std::vector<std::unique_ptr<worker>>& workers, party* gate,
                     surroundings& around) {
  using namespace std::chrono_literals;
  shared_state all{workers.size()};
  for (const auto& worker : workers) worker->once(all);
  // Whoever has a name to share begins in a full line: a queue lock that is empty when its first
  // party comes may stay so for long, because that party never has to sleep.
  if (gate) gate->lock();
  std::vector<std::jthread> threads;
  for (const auto& worker : workers) threads.emplace_back([&] { worker->run(all); });
  all.started.wait();
  std::this_thread::sleep_for(20ms);
  if (gate) gate->unlock();

  std::this_thread::sleep_for(around.span / 8);
  all.now = phase::measuring;
  const reading before = read(workers, around.engine);
  std::this_thread::sleep_for(around.span);
  const reading after = read(workers, around.engine);
  all.now = phase::over;
  threads.clear();
  all.throw_failure();
  return compare(before, after, gate == nullptr);
}

}  // namespace

measured run_scene(subject& subject, scene scene, surroundings& around) {
  const bool alone = scene.who == scene::kind::own_names;
  const std::size_t count = scene.count;
  if (!alone) ++scene.count;  // the last one is the gate
  const parties everybody = subject.assemble(scene);
  std::vector<guarded> guarded(alone ? count : 1);
  std::vector<std::unique_ptr<worker>> workers;
  for (std::size_t i = 0; i < count; ++i) {
    auto& mine = guarded[alone ? i : 0];
    workers.push_back(std::make_unique<worker>(i, *everybody[i], mine, alone));
  }
  measured result = run_workers(workers, alone ? nullptr : everybody.back().get(), around);
  for (const auto& worker : workers) result.latency.add(worker->latency());
  if (subject.name() != "crosslock") result.requests_per_op.reset();
  return result;
}

}  // namespace crosslock::bench
