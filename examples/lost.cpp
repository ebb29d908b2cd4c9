// A hold learns of its own end: by a stop_token, by valid(), by check().
#include <crosslock/crosslock.hpp>

#include <future>
#include <iostream>
#include <stop_token>

using namespace std::chrono_literals;

int main() {
  auto locks = crosslock::connect();
  crosslock::mutex mutex{locks, "job"};

  // A fixed lease is not renewed: it simply ends. Any other loss is told in the same way.
  auto hold = mutex.acquire({.lease = 50ms});
  std::promise<void> told;
  std::stop_callback on_loss{hold.lost(), [&] { told.set_value(); }};  // on a thread of its own

  std::cout << "held, valid: " << std::boolalpha << hold.valid() << '\n';
  told.get_future().wait();
  std::cout << "lost: " << to_string(hold.lost_reason()) << ", valid: " << hold.valid() << '\n';

  try {
    hold.check();
  } catch (const crosslock::error& why) {
    std::cout << why.what() << '\n';
    return why.which() == crosslock::errc::lost ? 0 : 1;
  }
  return 1;
}
