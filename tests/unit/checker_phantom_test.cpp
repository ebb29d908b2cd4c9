#include "unit/checker_story.hpp"

namespace crosslock::checker {
namespace {

/// The server was asked at `sent`, answered at `t`, and named that token; zero: nobody.
event look(std::int64_t sent, std::int64_t t, std::int64_t token) {
  event e = story::blank(event::nobody, t, phase::shown, action::none, token);
  e.sent = sent * story::ms;
  e.req.clear();
  return e;
}

TEST(phantom, a_hold_that_the_server_showed_once_is_accepted) {
  const story told =
      story{}.holds(1, 0, 10, 5).put(look(11, 12, 0)).put(look(13, 14, 5)).releases(1, 20, 21, 5);
  expect_kept(told);
  EXPECT_EQ(check(told.events).confirmed, 1U);
}

TEST(phantom, a_hold_that_no_state_of_the_server_ever_showed_is_refused) {
  expect_broken(story{}.holds(1, 0, 10, 5).put(look(11, 12, 0)).releases(1, 20, 21, 5),
                {invariant::phantom});
}

TEST(phantom, whatever_the_fence_says) {
  // The server named the next one; the phantom's token is lower, and nobody else has it.
  expect_broken(story{}
                    .holds(2, 0, 10, 9000)
                    .holds(1, 0, 11, 5)
                    .put(look(12, 13, 9000))
                    .releases(1, 20, 21, 5)
                    .releases(2, 30, 31, 9000),
                {invariant::exclusion, invariant::phantom});
}

TEST(phantom, a_look_that_is_not_wholly_inside_the_belief_says_nothing) {
  const story told =
      story{}.holds(1, 0, 10, 5).put(look(9, 12, 0)).put(look(18, 22, 0)).releases(1, 20, 21, 5);
  expect_kept(told);
  EXPECT_EQ(check(told.events).confirmed, 0U);
}

TEST(phantom, a_hold_that_was_passed_on_is_shown_by_the_first_fence_of_its_grant) {
  expect_kept(story{}.holds(1, 0, 10, 9).put(look(11, 12, 5)).releases(1, 20, 21, 9));
  expect_broken(story{}.holds(1, 0, 10, 5000).put(look(11, 12, 5)).releases(1, 20, 21, 5000),
                {invariant::phantom});
}

TEST(phantom, a_server_that_lost_its_state_is_an_excuse) {
  expect_kept(story{}
                  .holds(1, 0, 10, 5)
                  .nemesis(12, fault::state_loss)
                  .put(look(15, 16, 0))
                  .releases(1, 20, 21, 5));
}

}  // namespace
}  // namespace crosslock::checker
