// The standard way: a crosslock mutex in std::scoped_lock, one or several at a time.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

int main() {
  auto locks = crosslock::connect();  // CROSSLOCK_URL says where
  crosslock::mutex from{locks, "account/1"};
  crosslock::mutex to{locks, "account/2"};
  int first = 100;
  int second = 0;

  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 25; ++n) {
        std::scoped_lock both{from, to};  // in whatever order: no deadlock
        --first;
        ++second;
      }
    });
  }
  threads.clear();  // joins

  std::cout << "moved everything: " << first << " and " << second << '\n';
  return first == 0 && second == 100 ? 0 : 1;
}
