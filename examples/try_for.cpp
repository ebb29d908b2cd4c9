// Waiting for a bounded time. A lock that stays busy is a value, not an error.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <string_view>

using namespace std::chrono_literals;

int main() {
  // Two clients stand for two programs.
  auto locks = crosslock::connect();
  auto others = crosslock::connect();
  crosslock::mutex ours{locks, "report"};
  crosslock::mutex theirs{others, "report"};

  auto held = theirs.acquire();
  const auto work = [&](std::string_view when) {
    if (auto hold = ours.try_acquire_for(50ms)) {
      std::cout << when << ": got it, fence " << hold->fence().to_string() << '\n';
      return true;
    }
    std::cout << when << ": busy, something else can be done\n";
    return false;
  };

  const bool got_in = work("while they hold it");
  held.release();
  return !got_in && work("after their release") ? 0 : 1;
}
