// One leader at a time, whom everybody can ask for and watch.
#include <crosslock/crosslock.hpp>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

int main() {
  auto locks = crosslock::connect();
  crosslock::election office{locks, "scheduler"};

  // Hears of every leader, until stopped.
  std::atomic<int> heard{0};
  std::jthread watcher{[&](std::stop_token stop) {
    office.observe(stop, [&](const crosslock::leader_info& who) {
      std::cout << who.value << " leads with fence " << who.fence.to_string() << std::endl;
      heard = std::stoi(who.value.substr(5));
      heard.notify_all();
    });
  }};

  std::vector<std::jthread> candidates;
  for (int i = 1; i <= 3; ++i) {
    candidates.emplace_back([i, &heard] {
      auto mine = crosslock::connect();
      crosslock::election same{mine, "scheduler"};
      auto leads = same.campaign("node-" + std::to_string(i));
      // Leads until it has been heard of; a real one, until leads.lost() or its work is done.
      for (int seen = heard; seen != i; seen = heard) heard.wait(seen);
      leads.check();
    });  // resigns
  }
  candidates.clear();
  std::cout << "and now " << (office.leader() ? "somebody" : "nobody") << " leads\n";
  return office.leader() ? 1 : 0;
}
