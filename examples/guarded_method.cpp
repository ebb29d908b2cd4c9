// A class one of whose methods is entered by one thread of the whole cluster at a time: the lock's
// name says which method it guards.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <thread>
#include <utility>
#include <vector>

class ledger {
 public:
  explicit ledger(crosslock::client locks) : locks_{std::move(locks)} {}

  void close_month() {
    locks_.run("ledger/close_month", [this] { months_closed_ = months_closed_ + 1; });
  }

  int months_closed() const { return months_closed_; }

 private:
  crosslock::client locks_;
  int months_closed_ = 0;
};

int main() {
  ledger books{crosslock::connect()};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 10; ++n) books.close_month();
      });
    }
  }
  std::cout << books.months_closed() << " months closed, none lost\n";
  return books.months_closed() == 80 ? 0 : 1;
}
