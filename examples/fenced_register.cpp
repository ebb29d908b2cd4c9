// A value beside the lock that refuses what a former holder writes late. How to do the same in a
// store of your own is in fenced_write.cpp.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

int main() {
  auto locks = crosslock::connect();
  auto others = crosslock::connect();
  crosslock::mutex slow{locks, "stock/sku-42"};
  crosslock::mutex quick{others, "stock/sku-42"};
  crosslock::fenced_register stock{locks, "stock/sku-42"};

  // A fixed lease stands for a holder that was paused for longer than its lease.
  auto late = slow.acquire({.lease = 50ms});
  const bool first = stock.write(late, "17");

  auto next = quick.acquire();           // granted when that lease has ended
  const auto before = stock.open(next);  // from here on the late one is shut out
  const bool second = stock.write(next, std::to_string(std::stoi(*before) - 1));
  const bool stale = stock.write(late, "100");

  std::cout << "in time " << first << ", the next " << second << ", too late " << stale
            << "; the register has " << stock.read().value << '\n';
  return first && second && !stale && stock.read().value == "16" ? 0 : 1;
}
