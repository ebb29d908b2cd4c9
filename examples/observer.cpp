// Listening to what the locks of a client do.
#include <crosslock/crosslock.hpp>

#include <atomic>
#include <iostream>
#include <memory>
#include <string_view>
#include <thread>

// Calls come from whichever thread the event happens on: an observer is quick and thread-safe, and
// does not call crosslock.
class teller final : public crosslock::observer {
 public:
  void acquired(const acquired_event& event) noexcept override { cause = event.cause; }
  void waited(std::string_view, wait_result, crosslock::duration) noexcept override { ++in_vain; }
  void round_trip(verb, crosslock::duration) noexcept override { ++round_trips; }

  std::atomic<crosslock::acquire_cause> cause{};
  std::atomic<int> in_vain{0};
  std::atomic<int> round_trips{0};
};

int main() {
  const auto heard = std::make_shared<teller>();
  crosslock::options options;
  options.observer = heard;
  auto locks = crosslock::connect(options);
  auto others = crosslock::connect();
  crosslock::mutex ours{locks, "job"};
  crosslock::mutex theirs{others, "job"};

  { auto hold = ours.acquire(); }
  std::cout << "a free lock: " << to_string(heard->cause) << ", " << heard->round_trips
            << " round trips\n";

  auto held = theirs.acquire();
  if (ours.try_acquire()) return 1;
  std::cout << "a busy one: " << heard->in_vain << " try in vain\n";
  {
    std::jthread waiter{[&] { ours.acquire().release(); }};
    while (others.look("job").line.empty()) std::this_thread::yield();
    held.release();
  }
  std::cout << "after a wait: " << to_string(heard->cause) << '\n';
  return heard->cause == crosslock::acquire_cause::pushed ? 0 : 1;
}
