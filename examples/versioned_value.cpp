// The optimistic way: no lock, and no update is lost. Whoever comes too late computes again.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

int main() {
  constexpr int visitors = 8;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < visitors; ++i) {
      threads.emplace_back([] {
        auto locks = crosslock::connect();  // as if each were a process of its own
        crosslock::versioned visits{locks, "visits"};
        // Asked again with the newer value when somebody else was quicker.
        visits.update([](const std::string& before) {
          return std::to_string(before.empty() ? 1 : std::stoi(before) + 1);
        });
      });
    }
  }
  auto locks = crosslock::connect();
  crosslock::versioned visits{locks, "visits"};
  const auto [value, version] = visits.read();
  std::cout << value << " visits\n";

  // The same by hand: it succeeds only if nobody has written since.
  const bool written = visits.compare_and_set(version, "0").has_value();
  const bool stale = visits.compare_and_set(version, "100").has_value();
  std::cout << "reset: " << written << ", with the old version: " << stale << '\n';
  return value == std::to_string(visitors) && written && !stale ? 0 : 1;
}
