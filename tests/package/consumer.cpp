// What any user writes: connects, takes a lock, shows its fence.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <mutex>

int main() {
  auto locks = crosslock::connect();
  crosslock::mutex stock{locks, "stock/sku-42"};
  std::scoped_lock guard{stock};
  std::cout << "fence " << stock.fence().to_string() << '\n';
}
