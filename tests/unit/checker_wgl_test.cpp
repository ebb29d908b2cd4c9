// The two judges must agree: what the exhaustive search finds impossible, the sweeps refuse.
#include "checker/wgl.hpp"
#include "unit/checker_server.hpp"
#include "unit/checker_story.hpp"

#include <set>
#include <string>

namespace crosslock::checker {
namespace {

/// All that the search can see is switched on.
check_options strictest() {
  check_options how;
  how.tokens_in_grant_order = true;
  how.owner_never_refused = true;
  return how;
}

history correct(std::uint64_t seed, int total) { return correct_server{seed, total}.run(40); }

std::string as_text(const history& events) {
  std::string text;
  for (const event& e : merge({events})) {
    text += to_json(e) + "\n";
  }
  return text;
}

search_result search_for(const history& events, int total) {
  if (total < 0) return search_shared(events, "stock");
  return total > 0 ? search_permits(events, "stock") : search_mutex(events, "stock");
}

constexpr std::uint64_t seeds = 2000;

class two_judges : public ::testing::TestWithParam<int> {};

TEST_P(two_judges, both_accept_what_a_correct_server_did) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const history events = correct(seed, GetParam());
    ASSERT_EQ(search_for(events, GetParam()), search_result::possible) << "seed " << seed << "\n"
                                                                       << as_text(events);
    const verdict v = check(events, strictest());
    ASSERT_TRUE(v.kept()) << "seed " << seed << "\n" << v.to_string() << as_text(events);
  }
}

TEST_P(two_judges, the_sweeps_refuse_whatever_the_search_finds_impossible) {
  int impossible = 0;
  int both_accept = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const history events = mutated(correct(seed, GetParam()), seed);
    const search_result found = search_for(events, GetParam());
    ASSERT_NE(found, search_result::too_large) << "seed " << seed;
    const std::set<invariant> broken = check(events, strictest()).broken();
    both_accept += broken.empty() ? 1 : 0;
    if (found == search_result::impossible) {
      ++impossible;
      const bool refused = broken.contains(invariant::record) ||
                           broken.contains(invariant::exclusion) ||
                           broken.contains(invariant::fencing) || broken.contains(invariant::owner);
      ASSERT_TRUE(refused) << "seed " << seed << "\n" << as_text(events);
    }
  }
  EXPECT_GT(impossible, 200);
  EXPECT_GT(both_accept, 200);
}

INSTANTIATE_TEST_SUITE_P(mutex_readers_and_permits, two_judges, ::testing::Values(-1, 0, 1, 3));

TEST(search, finds_the_order_of_overlapping_calls) {
  const story told = story{}.holds(1, 0, 20, 2).holds(2, 1, 10, 1).releases(2, 11, 12, 1);
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::possible);
}

TEST(search, sees_a_release_by_another) {
  story told;
  told.holds(1, 0, 1, 5);
  for (const phase ph : {phase::inv, phase::ok}) {
    event e = story::blank(2, ph == phase::inv ? 3 : 4, ph, action::rel, 5);
    e.req = "thief";
    told.put(std::move(e));
  }
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::impossible);
}

TEST(search, sees_a_fence_that_falls) {
  const story told = story{}.holds(1, 0, 1, 5).releases(1, 2, 3, 5).holds(2, 4, 5, 4);
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::impossible);
}

TEST(search, lets_an_unknown_acquire_happen_or_not) {
  story told;
  told.asks(1, 0, 5).answered(1, 1, phase::info, 5);
  EXPECT_EQ(search_mutex(story{told}.holds(2, 2, 3, 6).events, "stock"), search_result::possible);
  EXPECT_EQ(search_mutex(story{told}.releases(1, 2, 3, 5).events, "stock"),
            search_result::possible);
}

TEST(search, lets_an_unknown_release_happen_late) {
  const story told =
      story{}.holds(1, 0, 1, 5).releases(1, 2, 3, 5, phase::info).holds(2, 50, 60, 6);
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::possible);
}

TEST(search, counts_permits) {
  story told;
  told.permits(2, 3).holds(1, 0, 1, 1).permits(1, 3).holds(2, 0, 1, 2);
  EXPECT_EQ(search_permits(told.events, "stock"), search_result::possible);
  told.holds(3, 2, 3, 3);
  EXPECT_EQ(search_permits(told.events, "stock"), search_result::impossible);
}

TEST(search, refuses_to_start_on_large_histories) {
  story told;
  for (int i = 1; i <= 101; ++i) {
    told.holds(1, 10 * i, 10 * i + 1, i).releases(1, 10 * i + 2, 10 * i + 3, i);
  }
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::too_large);
}

}  // namespace
}  // namespace crosslock::checker
