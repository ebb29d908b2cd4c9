#include "unit/checker_story.hpp"

namespace crosslock::checker {
namespace {

TEST(exclusion, holds_one_after_another_are_accepted) {
  expect_kept(story{}
                  .holds(1, 0, 1, 1, 100)
                  .releases(1, 10, 11, 1)
                  .holds(2, 5, 12, 2, 100)
                  .releases(2, 20, 21, 2));
}

TEST(exclusion, overlapping_holds_of_two_clients_are_refused) {
  expect_broken(
      story{}.holds(1, 0, 1, 1).holds(2, 5, 10, 2).releases(1, 20, 21, 1).releases(2, 30, 31, 2),
      {invariant::exclusion});
}

TEST(exclusion, a_violation_shows_both_grants_and_what_happened_around_them) {
  const verdict v =
      check(story{}.holds(1, 0, 1, 1).holds(2, 5, 10, 2).holds(9, 5000, 5001, 3).events);
  ASSERT_FALSE(v.violations.empty());
  const violation& first = v.violations.front();
  EXPECT_EQ(first.first->proc, 1);
  EXPECT_EQ(first.second->proc, 2);
  EXPECT_EQ(first.context.size(), 4U);
  EXPECT_NE(v.to_string().find("I1 exclusion"), std::string::npos);
}

TEST(exclusion, a_hold_that_begins_when_the_other_ends_does_not_overlap) {
  expect_kept(story{}.holds(1, 0, 1, 1).releases(1, 10, 12, 1).holds(2, 5, 10, 2));
  expect_kept(story{}.holds(1, 0, 1, 1, 10).lost(1, 10, 1).holds(2, 5, 10, 2));
}

TEST(exclusion, one_millisecond_before_the_end_is_an_overlap) {
  expect_broken(story{}.holds(1, 0, 1, 1).releases(1, 11, 12, 1).holds(2, 5, 10, 2),
                {invariant::exclusion});
}

TEST(exclusion, belief_ends_at_the_deadline_even_of_a_stopped_holder) {
  expect_kept(story{}
                  .holds(1, 0, 1, 1, 50)
                  .nemesis(20, fault::pause, 1)
                  .holds(2, 60, 61, 2)
                  .releases(2, 70, 71, 2)
                  .nemesis(90, fault::thaw, 1)
                  .lost(1, 100, 1));
}

TEST(exclusion, renewals_move_the_end_of_belief) {
  story told;
  told.holds(1, 0, 1, 1, 50)
      .renews(1, 30, 31, 1, 90)
      .holds(2, 40, 60, 2)
      .releases(2, 65, 66, 2)
      .releases(1, 80, 81, 1, phase::fail);
  expect_broken(told, {invariant::exclusion});
}

TEST(exclusion, death_and_loss_end_belief) {
  expect_kept(story{}
                  .holds(1, 0, 1, 1, 100)
                  .nemesis(10, fault::kill, 1)
                  .holds(2, 5, 20, 2, 500)
                  .lost(2, 30, 2)
                  .holds(3, 30, 31, 3));
}

TEST(exclusion, a_hold_of_no_length_clashes_only_with_what_goes_on_around_it) {
  expect_broken(
      story{}.holds(1, 0, 10, 1).releases(1, 30, 31, 1).holds(2, 20, 20, 2).releases(2, 20, 21, 2),
      {invariant::exclusion});
  expect_kept(
      story{}.holds(2, 9, 10, 1).releases(2, 10, 10, 1).holds(1, 10, 10, 2).releases(1, 30, 31, 2));
}

TEST(exclusion, the_order_of_recording_decides_ties_where_it_is_known) {
  story told;
  told.asks(1, 0, 1).granted(1, 1, 1).asks(2, 2, 2).granted(2, 10, 2).releases(1, 10, 10, 1);
  expect_kept(told);
  expect_broken(told, {invariant::exclusion}, {.ties_in_order = true});
}

TEST(exclusion, readers_share_and_writers_do_not) {
  expect_kept(story{}
                  .shared()
                  .holds(1, 0, 1, 1)
                  .holds(2, 0, 2, 2)
                  .releases(1, 8, 9, 1)
                  .releases(2, 10, 11, 2)
                  .exclusive()
                  .holds(3, 5, 12, 3)
                  .releases(3, 15, 16, 3));
  expect_broken(story{}
                    .shared()
                    .holds(1, 0, 1, 1)
                    .holds(2, 0, 2, 2)
                    .releases(1, 8, 9, 1)
                    .releases(2, 12, 13, 2)
                    .exclusive()
                    .holds(3, 5, 10, 3),
                {invariant::exclusion});
  expect_broken(story{}.holds(3, 0, 5, 3).shared().holds(1, 6, 7, 4), {invariant::exclusion});
}

TEST(exclusion, permits_add_up_to_no_more_than_there_are) {
  expect_kept(story{}
                  .permits(2, 3)
                  .holds(1, 0, 1, 1)
                  .permits(1, 3)
                  .holds(2, 0, 1, 2)
                  .releases(2, 5, 6, 2)
                  .holds(3, 5, 6, 3));
  expect_broken(story{}
                    .permits(2, 3)
                    .holds(1, 0, 1, 1)
                    .permits(1, 3)
                    .holds(2, 0, 1, 2)
                    .holds(3, 5, 6, 3)
                    .releases(2, 7, 8, 2),
                {invariant::exclusion});
}

TEST(exclusion, different_locks_do_not_exclude_each_other) {
  expect_kept(story{}.holds(1, 0, 1, 1).on("other").holds(2, 0, 1, 1));
}

TEST(exclusion, an_acquire_of_unknown_outcome_excuses_no_overlap) {
  story told;
  told.holds(1, 0, 1, 1).asks(3, 2, 9).answered(3, 4, phase::info, 9).holds(2, 5, 10, 2);
  expect_broken(told, {invariant::exclusion});
}

TEST(exclusion, an_overlap_after_the_server_lost_its_state_is_expected_and_counted) {
  for (const fault kind :
       {fault::state_loss, fault::rollback, fault::clock_step, fault::admin_delete}) {
    story told;
    told.holds(1, 0, 1, 1, 40)
        .nemesis(5, kind)
        .holds(2, 6, 10, 2)
        .lost(1, 30, 1)
        .releases(2, 50, 51, 2);
    expect_kept(told);
    const verdict v = check(told.events);
    EXPECT_EQ(v.expected_overlaps, 1U);
    EXPECT_EQ(v.longest_expected_overlap, std::chrono::milliseconds{20});
  }
}

TEST(exclusion, other_faults_times_and_locks_excuse_nothing) {
  const auto told = [](std::int64_t t, fault kind, std::string lock) {
    return story{}
        .holds(1, 20, 21, 1, 60)
        .nemesis(t, kind, event::nobody, std::move(lock))
        .holds(2, 25, 30, 2)
        .lost(1, 40, 1);
  };
  expect_broken(told(25, fault::server_down, ""), {invariant::exclusion});
  expect_broken(told(10, fault::state_loss, ""), {invariant::exclusion});
  expect_broken(told(35, fault::state_loss, ""), {invariant::exclusion});
  expect_broken(told(25, fault::admin_delete, "other"), {invariant::exclusion});
  expect_kept(told(25, fault::admin_delete, "stock"));
}

TEST(exclusion, a_pass_within_a_process_is_an_ordinary_grant) {
  expect_kept(story{}
                  .holds(1, 0, 1, 4096, 90)
                  .releases(1, 10, 11, 4096)
                  .holds(1, 5, 11, 4097, 90)
                  .releases(1, 20, 21, 4097));
  expect_broken(story{}
                    .holds(1, 0, 1, 4096, 90)
                    .holds(1, 5, 8, 4097, 90)
                    .releases(1, 10, 11, 4096)
                    .releases(1, 20, 21, 4097),
                {invariant::exclusion});
}

TEST(record, answers_without_calls_are_refused) {
  expect_broken(story{}.granted(1, 5, 1), {invariant::record});
  expect_broken(story{}.asks(1, 1, 1).asks(1, 2, 1), {invariant::record});
}

}  // namespace
}  // namespace crosslock::checker
