// A std::stop_token ends a wait; nothing is left behind in the line.
#include <crosslock/crosslock.hpp>

#include <future>
#include <iostream>
#include <stop_token>
#include <thread>

int main() {
  auto locks = crosslock::connect();
  auto others = crosslock::connect();
  crosslock::mutex theirs{others, "job"};
  crosslock::mutex ours{locks, "job"};
  auto held = theirs.acquire();

  std::promise<bool> ended;
  std::jthread worker{[&](std::stop_token stop) {
    const auto hold = ours.acquire(stop);  // empty when stopped
    ended.set_value(hold.has_value());
  }};
  while (locks.look("job").line.empty()) std::this_thread::yield();
  std::cout << "one waits behind " << locks.look("job").holders.at(0).who << '\n';

  worker.request_stop();
  const bool granted = ended.get_future().get();
  const auto left = locks.look("job").line.size();
  std::cout << (granted ? "granted" : "stopped") << "; waiting now: " << left << '\n';
  return !granted && left == 0 ? 0 : 1;
}
