// An acquire as a std::future: no thread waits, and the hold is in the future when it is granted.
#include <crosslock/crosslock.hpp>

#include <future>
#include <iostream>
#include <optional>

using namespace std::chrono_literals;

int main() {
  auto locks = crosslock::connect();
  auto others = crosslock::connect();
  crosslock::mutex theirs{others, "job"};
  crosslock::mutex ours{locks, "job"};
  auto held = theirs.acquire();

  // Described by async_acquire, begun by future(). Empty after 10 s; a failure is thrown by get().
  std::future<std::optional<crosslock::hold>> later = ours.async_acquire({}, 10s).future();
  std::cout << "asked; now they let go\n";
  held.release();

  const auto hold = later.get();
  if (!hold) return 1;
  std::cout << "granted with fence " << hold->fence().to_string() << '\n';
}
