// Two shapes that most tests of the world need.
#pragma once

#include "world/world.hpp"

#include <memory>
#include <vector>

namespace crosslock::world {

/// A latch on a park word: nobody is missed, whatever the schedule.
struct gate {
  seam::park_word word{0};

  void open(process& p) {
    word = 1;
    p.unpark(word);
  }
  bool pass(process& p, time_point until) {
    while (word == 0 && p.now() < until) p.park(word, 0, until);
    return word != 0;
  }
};

using thread_list = std::vector<std::unique_ptr<seam::thread>>;

inline void join_all(thread_list& threads) {
  for (auto& each : threads) each->join();
}

}  // namespace crosslock::world
