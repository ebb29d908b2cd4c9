// Judging whether something ends in time on a machine that has other work to do.
#pragma once

#include "engine/clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace crosslock {

/// `wait` takes at least `least`, every time, and less than `least + slack`, once in a few times: a
/// busy machine makes some waits longer, but it never makes all of them longer by that much, and
/// what the code itself adds is added each time.
template <class Wait>
void expect_punctual(duration least, Wait&& wait, duration slack = std::chrono::milliseconds{25}) {
  constexpr int tries = 10;
  duration shortest = duration::max();
  for (int i = 0; i < tries && shortest >= least + slack; ++i) {
    const time_point before = seam::real_clock().now();
    wait();
    shortest = std::min(shortest, seam::real_clock().now() - before);
    EXPECT_GE(shortest, least) << "too early";
  }
  EXPECT_LT(shortest, least + slack) << "too late, each of " << tries << " times";
}

}  // namespace crosslock
