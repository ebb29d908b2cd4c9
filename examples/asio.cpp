// With Asio (Debian: libasio-dev): any completion token; here coroutines on one io_context.
#include <crosslock/asio.hpp>
#include <crosslock/crosslock.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <iostream>

using namespace std::chrono_literals;

namespace {

asio::awaitable<void> work(crosslock::mutex& lock, int number, int& done) {
  // Empty after 10 s, or when cancelled by Asio; a failure is thrown here.
  const auto hold =
      co_await crosslock::async_acquire(lock.async_acquire({}, 10s), asio::use_awaitable);
  if (!hold) co_return;
  std::cout << number << " is in, with fence " << hold->fence().to_string() << '\n';
  ++done;
}

}  // namespace

int main() {
  auto locks = crosslock::connect();
  crosslock::mutex lock{locks, "job"};
  asio::io_context context;
  int done = 0;
  for (int i = 0; i < 3; ++i) asio::co_spawn(context, work(lock, i, done), asio::detached);
  context.run();  // ends when all three are through
  return done == 3 ? 0 : 1;
}
