// What the checker says of readers, writers and permits together, and of holds that change.
#include "checker/wgl.hpp"
#include "unit/checker_story.hpp"

namespace crosslock::checker {
namespace {

TEST(downgrade, readers_may_share_it_from_the_call_on) {
  story told;
  told.holds(1, 0, 1, 5).downgrades(1, 10, 14, 5).shared().holds(2, 8, 11, 6);
  told.exclusive().releases(1, 20, 21, 5).shared().releases(2, 22, 23, 6);
  told.exclusive().holds(3, 12, 24, 7).releases(3, 30, 31, 7);
  expect_kept(told);
  EXPECT_EQ(search_shared(told.events, "stock"), search_result::possible);
}

TEST(downgrade, before_its_call_it_excludes_readers) {
  story told;
  told.holds(1, 0, 1, 5).downgrades(1, 10, 14, 5).shared().holds(2, 6, 9, 6);
  expect_broken(told, {invariant::exclusion});
  EXPECT_EQ(search_shared(told.events, "stock"), search_result::impossible);
}

TEST(downgrade, a_writer_that_gets_in_between_is_refused) {
  for (const std::int64_t in : {11, 13, 16}) {
    story told;
    told.holds(1, 0, 1, 5).downgrades(1, 10, 14, 5).holds(2, 5, in, 6).releases(1, 20, 21, 5);
    expect_broken(told, {invariant::exclusion});
    EXPECT_EQ(search_shared(told.events, "stock"), search_result::impossible);
  }
}

TEST(downgrade, its_token_counts_as_that_of_a_writer) {
  story told;
  told.holds(1, 0, 1, 5).downgrades(1, 10, 14, 5).shared().holds(2, 15, 16, 4);
  expect_broken(told, {invariant::fencing});
  EXPECT_EQ(search_shared(told.events, "stock"), search_result::impossible);
}

TEST(downgrade, a_late_release_beside_readers_who_came_later_harms_nobody) {
  story told;
  told.holds(1, 0, 1, 5, 20).downgrades(1, 5, 6, 5).lost(1, 20, 5).shared().holds(2, 21, 22, 6);
  expect_kept(story{told}.exclusive().releases(1, 30, 31, 5, phase::fail));
  expect_broken(story{told}.exclusive().releases(1, 30, 31, 5), {invariant::loss});
}

TEST(downgrade, of_a_hold_that_the_server_has_forgotten_is_excused_like_the_hold) {
  story told;
  told.holds(1, 0, 1, 5, 90).nemesis(10, fault::state_loss).holds(2, 11, 12, 6);
  told.downgrades(1, 20, 21, 5).lost(1, 30, 5).releases(2, 40, 41, 6);
  expect_kept(told);
  EXPECT_EQ(check(told.events).expected_overlaps, 2U);
}

TEST(downgrade, of_what_was_never_held_exclusively_is_no_history) {
  expect_broken(story{}.downgrades(1, 5, 6, 9), {invariant::record});
  expect_broken(story{}.shared().holds(1, 0, 1, 5).downgrades(1, 5, 6, 5), {invariant::record});
}

TEST(downgrade, survives_the_way_through_a_file) {
  story told;
  told.downgrades(1, 5, 6, 9);
  for (const event& each : told.events) {
    EXPECT_EQ(from_json(to_json(each)), each);
  }
}

/// An upgrade is a second claim; the shared one ends in the step that grants it.
TEST(upgrade, is_a_claim_that_begins_where_the_shared_one_ends) {
  story told;
  told.shared().holds(1, 0, 1, 5).holds(2, 0, 1, 6);
  told.exclusive().asks(1, 5, 7);
  told.shared().releases(2, 10, 11, 6).releases(1, 12, 12, 5).exclusive().granted(1, 12, 7);
  expect_kept(told);
}

TEST(upgrade, beside_another_reader_is_refused) {
  story told;
  told.shared().holds(1, 0, 1, 5).holds(2, 0, 1, 6);
  told.exclusive().asks(1, 5, 7);
  told.shared().releases(1, 12, 12, 5).exclusive().granted(1, 12, 7);
  told.shared().releases(2, 15, 16, 6);
  expect_broken(told, {invariant::exclusion});
}

TEST(upgrade, with_the_token_of_the_shared_hold_is_refused) {
  story told;
  told.shared().holds(1, 0, 1, 5).releases(1, 12, 12, 5);
  event upgraded = story::blank(1, 5, phase::inv, action::acq, 0);
  upgraded.req = "upgrade";
  told.put(upgraded);
  upgraded.t = 12 * story::ms;
  upgraded.ph = phase::ok;
  upgraded.token = 5;
  told.put(upgraded);
  expect_broken(told, {invariant::fencing});
}

TEST(modes, no_two_grants_have_the_same_token_whatever_they_are) {
  for (const bool readers : {true, false}) {
    story told;
    readers ? told.shared() : told.permits(1, 3);
    told.holds(1, 0, 1, 5);
    event second = told.events.back();
    second.req = "other";
    second.proc = 2;
    second.t = 3 * story::ms;
    event asked = second;
    asked.ph = phase::inv;
    asked.token = 0;
    told.put(asked).put(second);
    expect_broken(told, {invariant::fencing});
  }
}

TEST(modes, a_mutex_and_a_semaphore_of_one_name_exclude_each_other) {
  expect_broken(story{}.permits(1, 3).holds(1, 0, 1, 5).exclusive().holds(2, 2, 3, 6),
                {invariant::exclusion});
  expect_broken(story{}.holds(2, 0, 1, 5).permits(1, 3).holds(1, 2, 3, 6), {invariant::exclusion});
}

TEST(modes, readers_fall_asleep_beside_a_shared_hold_only_behind_a_writer) {
  const check_options how{.calm_bound = std::chrono::milliseconds{50}};
  story told;
  told.holds(1, 0, 1, 5).downgrades(1, 10, 11, 5).shared().asks(2, 5, 6).granted(2, 100, 6);
  expect_broken(told, {invariant::wake_up}, how);
  story behind_writer;
  behind_writer.holds(1, 0, 1, 5).downgrades(1, 10, 11, 5).asks(3, 4, 7);
  behind_writer.shared().asks(2, 5, 6).answered(2, 100, phase::fail, 6);
  behind_writer.exclusive().releases(1, 100, 101, 5).granted(3, 102, 7);
  expect_kept(behind_writer, how);
}

TEST(modes, two_requests_for_most_of_the_permits_clash_in_pairs_and_in_sums) {
  story told;
  told.permits(3, 4).holds(1, 0, 1, 5).permits(1, 4).holds(2, 0, 1, 6);
  expect_kept(told);
  expect_broken(story{told}.holds(3, 2, 3, 7), {invariant::exclusion});
  EXPECT_EQ(search_permits(story{told}.holds(3, 2, 3, 7).events, "stock"),
            search_result::impossible);
}

TEST(search, knows_readers_and_writers) {
  const story readers = story{}.shared().holds(1, 0, 1, 5).holds(2, 2, 3, 4);
  EXPECT_EQ(search_shared(readers.events, "stock"), search_result::possible);
  EXPECT_EQ(search_shared(story{readers}.exclusive().holds(3, 4, 5, 6).events, "stock"),
            search_result::impossible);
  const story late = story{readers}.releases(1, 6, 7, 5).releases(2, 6, 7, 4);
  EXPECT_EQ(search_shared(story{late}.exclusive().holds(3, 4, 9, 6).events, "stock"),
            search_result::possible);
}

}  // namespace
}  // namespace crosslock::checker
