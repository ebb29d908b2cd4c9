// One suite for every kind of rows: a map, and whatever else instantiates it in a file of its own.
#pragma once

#include "line_rig.hpp"

namespace crosslock::memory {

using make_rig = std::unique_ptr<line_rig> (*)(std::int64_t longest_line);

class line_rules : public testing::TestWithParam<make_rig> {
 protected:
  /// Client 1 holds; returns its first fence.
  std::int64_t held_by_1() {
    const auto answer = on.ask(1);
    EXPECT_EQ(answer.result, seam::ask_result::granted);
    return answer.granted.first.value();
  }
  std::int64_t shared_by(std::uint32_t who) {
    const auto answer = on.shared(who);
    EXPECT_EQ(answer.result, seam::ask_result::granted);
    return answer.granted.first.value();
  }
  claim_mode mode_of_first() { return on.look().holders.at(0).mode; }

  const std::unique_ptr<line_rig> rig_ = GetParam()(seam::line_max);
  line_rig& on = *rig_;
};

class line_cells : public line_rules {
 protected:
  cell_writer at{on};
};

}  // namespace crosslock::memory
