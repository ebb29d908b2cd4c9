// Acquiring without a thread that waits: the callback gets the hold, or a failure, or neither.
#include <crosslock/crosslock.hpp>

#include <future>
#include <iostream>
#include <optional>
#include <utility>

using namespace std::chrono_literals;

int main() {
  auto locks = crosslock::connect();
  auto others = crosslock::connect();
  crosslock::mutex theirs{others, "job"};
  crosslock::mutex ours{locks, "job"};
  auto held = theirs.acquire();

  // Called exactly once, on the client's own thread; options::executor can choose another place.
  std::promise<std::optional<crosslock::hold>> granted;
  const auto done = [&](crosslock::acquire_result result) {
    if (result.failure) {
      granted.set_exception(result.failure);
    } else {
      granted.set_value(std::move(result.hold));
    }
  };
  ours.acquire_async(done, {}, 10s);  // returns at once; empty after 10 s

  std::cout << "asked; now they let go\n";
  held.release();
  const auto hold = granted.get_future().get();
  if (!hold) return 1;
  std::cout << "granted with fence " << hold->fence().to_string() << '\n';
}
