// Two accounts at once: held together or not at all, and no deadlock whatever the order.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <map>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

std::map<std::string, int> balance{{"alice", 100}, {"bob", 100}};

bool transfer(const crosslock::client& locks, const std::string& from, const std::string& to) {
  crosslock::multi_lock both{locks, {"account/" + from, "account/" + to}};
  auto hold = both.try_acquire_for(10s);
  if (!hold) return false;  // one of them was busy for too long: neither is held
  hold->check();            // throws if either was lost meanwhile
  balance[from] -= 1;
  balance[to] += 1;
  return true;
}

}  // namespace

int main() {
  auto locks = crosslock::connect();
  int there = 0;
  int back = 0;
  std::thread one{[&] {
    for (int i = 0; i < 100; ++i) there += transfer(locks, "alice", "bob");
  }};
  std::thread other{[&] {
    for (int i = 0; i < 100; ++i) back += transfer(locks, "bob", "alice");
  }};
  one.join();
  other.join();
  std::cout << there << " there, " << back << " back; alice has " << balance["alice"] << '\n';
  return there == 100 && back == 100 && balance["alice"] == 100 ? 0 : 1;
}
