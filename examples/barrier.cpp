// Phases that begin together and end together, and what happens when somebody gives up.
#include <crosslock/crosslock.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main() {
  constexpr int parties = 3;
  std::atomic<int> ready{0};
  std::atomic<int> together{0};
  std::vector<std::jthread> members;
  for (int i = 0; i < parties; ++i) {
    members.emplace_back([&] {
      auto locks = crosslock::connect();  // as if each were a process of its own
      crosslock::barrier phase{locks, "simulation/step", parties};
      ++ready;
      phase.enter();  // nobody goes on until all are ready
      if (ready == parties) ++together;
      phase.leave();  // and nobody is done until all are
    });
  }
  members.clear();

  // Somebody waits for a partner that gives up: it is told, instead of waiting for ever.
  auto locks = crosslock::connect();
  crosslock::barrier phase{locks, "simulation/step", parties};
  std::jthread quits{[&] {
    auto others = crosslock::connect();
    crosslock::barrier same{others, "simulation/step", parties};
    try {
      (void)same.enter_for(200ms);
    } catch (const crosslock::error&) {  // the other one was quicker to give up
    }
  }};
  bool told = false;
  try {
    told = !phase.enter_for(10s);
  } catch (const crosslock::error& why) {
    told = why.which() == crosslock::errc::broken;
    std::cout << why.what() << '\n';
  }
  std::cout << together << " went in together\n";
  return together == parties && told ? 0 : 1;
}
