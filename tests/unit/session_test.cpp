// One deadline for everything that is held within a session.
#include "engine/session.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace crosslock::seam {
namespace {

using namespace std::chrono_literals;

constexpr time_point at(duration since) { return time_point{since}; }

TEST(session, lasts_from_the_request_that_proves_it) {
  const session tested{at(1s), 10s};
  EXPECT_EQ(tested.deadline(), valid_until(at(1s), 10s));
  EXPECT_EQ(tested.lease(), 10s);
  EXPECT_LT(tested.tell_at(), tested.deadline());
  EXPECT_FALSE(tested.ended());
}

TEST(session, each_proof_moves_the_deadline_and_an_older_one_does_not_take_it_back) {
  session tested{at(1s), 10s};
  EXPECT_TRUE(tested.extend(at(3s), 10s, at(4s)));
  EXPECT_EQ(tested.deadline(), valid_until(at(3s), 10s));
  EXPECT_TRUE(tested.extend(at(2s), 10s, at(5s)));
  EXPECT_EQ(tested.deadline(), valid_until(at(3s), 10s));
}

TEST(session, what_has_passed_stays_passed) {
  session tested{at(1s), 10s};
  const time_point over = tested.deadline();
  EXPECT_FALSE(tested.extend(at(10s), 10s, over));
  EXPECT_FALSE(tested.extend(at(11s), 10s, over + 1s));
  EXPECT_EQ(tested.deadline(), over);
}

TEST(session, one_that_comes_back_shorter_caps_the_deadline_at_once) {
  session tested{at(1s), 30s};
  EXPECT_TRUE(tested.shorten(at(1s), 10s));
  EXPECT_EQ(tested.deadline(), valid_until(at(1s), 10s));
  EXPECT_EQ(tested.lease(), 10s);
  EXPECT_FALSE(tested.shorten(at(1s), 10s)) << "nothing has changed";
  EXPECT_TRUE(tested.extend(at(5s), 10s, at(6s)));
  EXPECT_EQ(tested.deadline(), valid_until(at(5s), 10s)) << "proofs count for what they are worth";
}

TEST(session, one_that_comes_back_longer_is_worth_no_more_until_it_is_proven) {
  session tested{at(1s), 10s};
  EXPECT_FALSE(tested.shorten(at(1s), 30s));
  EXPECT_EQ(tested.deadline(), valid_until(at(1s), 10s));
  EXPECT_TRUE(tested.extend(at(5s), 30s, at(6s)));
  EXPECT_EQ(tested.deadline(), valid_until(at(5s), 30s));
}

TEST(session, capped_to_the_past_it_is_over_for_good) {
  session tested{at(1s), 30s};
  EXPECT_TRUE(tested.shorten(at(1s), 4s));
  EXPECT_FALSE(tested.extend(at(9s), 4s, at(10s)));
  EXPECT_EQ(tested.deadline(), valid_until(at(1s), 4s));
}

TEST(session, one_that_has_ended_is_not_extended) {
  session tested{at(1s), 10s};
  tested.end();
  EXPECT_TRUE(tested.ended());
  EXPECT_FALSE(tested.extend(at(2s), 10s, at(3s)));
}

}  // namespace
}  // namespace crosslock::seam
