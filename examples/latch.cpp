// Waiting for work that others do, wherever they are. What has been counted stays counted, also
// if its counter dies right after.
#include <crosslock/crosslock.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main() {
  constexpr int parts = 4;
  std::atomic<int> done{0};
  std::vector<std::jthread> workers;
  for (int i = 0; i < parts; ++i) {
    workers.emplace_back([&done] {
      auto locks = crosslock::connect();  // as if each were a process of its own
      crosslock::count_down_latch finished{locks, "import/2026-11", parts};
      ++done;
      finished.count_down();
    });
  }
  auto locks = crosslock::connect();
  crosslock::count_down_latch finished{locks, "import/2026-11", parts};
  const bool in_time = finished.wait_for(10s);
  std::cout << done << " of " << parts << " parts done, " << finished.count() << " missing\n";
  return in_time && done == parts ? 0 : 1;
}
