// How much memory of the heap things take. The engine's own server counts too where it lives in
// this process.
#include "benchmarks/workload.hpp"

#include <malloc.h>

#include <cstdlib>
#include <thread>

namespace crosslock::bench {
namespace {

double heap_bytes() {
  const auto now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

/// Threads of real programs have done that: what the heap keeps for each of them is not ours.
void use_heap() {
  void* volatile something = std::malloc(1);
  std::free(something);
}

}  // namespace

measured weigh_idle_locks(subject& subject, surroundings& around) {
  constexpr std::size_t count = 1000;
  const std::string name = around.fresh_name();
  // The client is made, and every table grown, before anything is weighed.
  const auto first = subject.assemble({setting::kind::own_names, 1, name + "/first"});
  const double before = heap_bytes();
  const auto locks = subject.assemble({setting::kind::own_names, count, name});
  measured result;
  result.bytes = (heap_bytes() - before) / static_cast<double>(count);
  return result;
}

measured weigh_held_locks(subject& subject, surroundings& around) {
  using namespace std::chrono_literals;
  constexpr std::size_t count = 1000;
  const std::string name = around.fresh_name();
  const auto first = subject.hold_many(name + "/first", 1, 30s);
  const double before = heap_bytes();
  const auto locks = subject.hold_many(name, count, 30s);
  measured result;
  result.bytes = (heap_bytes() - before) / static_cast<double>(count);
  return result;
}

measured weigh_waiters(subject& subject, surroundings& around) {
  using namespace std::chrono_literals;
  constexpr std::size_t count = 256;
  const parties everybody =
      subject.assemble({setting::kind::threads, count + 1, around.fresh_name()});
  measured result;
  everybody[count]->lock();
  const double before = heap_bytes();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&party = *everybody[i]] {
        use_heap();
        party.lock();
        party.unlock();
      });
    }
    std::this_thread::sleep_for(50ms);  // until they all sleep
    result.bytes = (heap_bytes() - before) / static_cast<double>(count);
    everybody[count]->unlock();
  }
  return result;
}

}  // namespace crosslock::bench
