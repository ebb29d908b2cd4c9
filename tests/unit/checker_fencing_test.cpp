#include "unit/checker_story.hpp"

namespace crosslock::checker {
namespace {

TEST(fencing, rising_tokens_are_accepted) {
  expect_kept(story{}
                  .holds(1, 0, 1, 5)
                  .releases(1, 2, 3, 5)
                  .holds(2, 4, 5, 6)
                  .releases(2, 6, 7, 6)
                  .holds(1, 8, 9, 1000));
}

TEST(fencing, a_later_grant_with_a_smaller_token_is_refused) {
  expect_broken(story{}.holds(1, 0, 1, 5).releases(1, 2, 3, 5).holds(2, 4, 5, 4),
                {invariant::fencing});
}

TEST(fencing, a_token_is_given_only_once) {
  story told;
  told.holds(1, 0, 1, 5).releases(1, 2, 3, 5);
  event again = story::blank(2, 0, phase::inv, action::acq, 0);
  again.req = "other";
  told.put(again);
  again.t = 4 * story::ms;
  again.ph = phase::ok;
  again.token = 5;
  told.put(again);
  expect_broken(told, {invariant::fencing});
}

TEST(fencing, a_token_is_positive) {
  expect_broken(story{}.holds(1, 0, 1, 0), {invariant::fencing});
  expect_broken(story{}.holds(1, 0, 1, -7), {invariant::fencing});
}

TEST(fencing, calls_that_overlap_may_have_tokens_in_any_order) {
  const story told = story{}.holds(1, 0, 10, 7).releases(1, 11, 12, 7).holds(2, 5, 20, 6);
  expect_kept(told);
  expect_broken(told, {invariant::fencing}, {.tokens_in_grant_order = true});
}

TEST(fencing, an_answer_at_the_moment_of_the_next_call_leaves_the_order_open) {
  const story told = story{}.holds(1, 0, 10, 7).releases(1, 11, 12, 7).holds(2, 10, 20, 6);
  expect_kept(told);
  expect_broken(story{}.holds(1, 0, 10, 7).releases(1, 11, 12, 7).holds(2, 11, 20, 6),
                {invariant::fencing});
}

TEST(fencing, readers_need_no_order_among_themselves_but_with_writers) {
  expect_kept(story{}
                  .shared()
                  .holds(1, 0, 1, 5)
                  .holds(2, 2, 3, 4)
                  .releases(1, 4, 5, 5)
                  .releases(2, 4, 5, 4)
                  .exclusive()
                  .holds(3, 6, 7, 6));
  expect_broken(
      story{}.shared().holds(1, 0, 1, 5).releases(1, 2, 3, 5).exclusive().holds(3, 4, 5, 4),
      {invariant::fencing});
  expect_broken(story{}.holds(1, 0, 1, 5).releases(1, 2, 3, 5).shared().holds(3, 4, 5, 4),
                {invariant::fencing});
}

TEST(fencing, permits_are_ordered_only_if_they_do_not_fit_together) {
  expect_kept(story{}.permits(1, 3).holds(1, 0, 1, 5).holds(2, 2, 3, 4));
  expect_broken(story{}.permits(2, 3).holds(1, 0, 1, 5).releases(1, 2, 3, 5).holds(2, 4, 5, 4),
                {invariant::fencing});
}

TEST(fencing, no_loss_of_state_excuses_a_smaller_token) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 100)
                    .nemesis(2, fault::state_loss)
                    .holds(2, 4, 5, 4)
                    .releases(1, 6, 7, 5, phase::fail),
                {invariant::fencing});
}

TEST(fencing, a_passed_hold_rests_on_the_request_of_the_first_holder) {
  // The server was made to forget 1 and let 3 in; 1, who does not know, passes on to 2.
  const auto told = [](std::int64_t sent) {
    event passed = story::blank(1, 7, phase::ok, action::acq, 6);
    passed.sent = sent * story::ms;
    return story{}
        .holds(1, 0, 1, 5)
        .nemesis(2, fault::admin_delete)
        .holds(3, 3, 4, 9)
        .asks(1, 6, 6)
        .releases(1, 7, 8, 5, phase::info)
        .put(passed);
  };
  expect_kept(told(1));
  EXPECT_TRUE(check(told(6).events).broken().contains(invariant::fencing));
}

TEST(fencing, locks_have_their_own_tokens) {
  expect_kept(story{}.holds(1, 0, 1, 5).on("other").holds(1, 2, 3, 5));
}

TEST(fencing, re_entry_keeps_its_token_and_is_no_new_grant) {
  const auto reenters = [](int proc, std::int64_t t, std::int64_t token) {
    return story::blank(proc, t, phase::ok, action::reenter, token);
  };
  story told;
  told.holds(1, 0, 1, 5).put(reenters(1, 2, 5)).releases(1, 8, 9, 5);
  expect_kept(told);
  EXPECT_EQ(check(told.events).grants, 1U);
  expect_broken(story{}.holds(1, 0, 1, 5).put(reenters(1, 2, 6)).releases(1, 8, 9, 5),
                {invariant::fencing});
  expect_broken(story{}.holds(1, 0, 1, 5).put(reenters(2, 2, 5)).releases(1, 8, 9, 5),
                {invariant::fencing});
}

TEST(fencing, the_same_claim_answered_twice_is_one_grant) {
  story told;
  told.holds(1, 0, 1, 5, 50).holds(1, 10, 11, 5, 80).releases(1, 60, 61, 5);
  expect_kept(told);
  EXPECT_EQ(check(told.events).grants, 1U);
}

TEST(resource, rising_writes_and_refused_stale_ones_are_accepted) {
  story told;
  told.writes(1, 1, 5).writes(1, 2, 5).writes(2, 3, 6).writes(1, 4, 5, phase::fence_rej);
  expect_kept(told, {.need_stale_write = true});
  EXPECT_EQ(check(told.events).stale_writes_refused, 1U);
}

TEST(resource, a_stale_write_that_gets_through_is_refused) {
  expect_broken(story{}.writes(1, 1, 5).writes(2, 3, 6).writes(1, 4, 5), {invariant::resource});
}

TEST(resource, a_refusal_without_a_newer_token_is_refused) {
  expect_broken(story{}.writes(1, 1, 5).writes(1, 4, 5, phase::fence_rej), {invariant::resource});
  expect_broken(story{}.writes(1, 4, 5, phase::fence_rej).writes(2, 5, 6), {invariant::resource});
}

TEST(resource, a_run_without_a_stale_write_proves_nothing_where_one_is_needed) {
  expect_kept(story{}.writes(1, 1, 5));
  expect_broken(story{}.writes(1, 1, 5), {invariant::resource}, {.need_stale_write = true});
}

TEST(resource, writes_that_overlap_may_have_happened_in_either_order) {
  const auto begins = [](int proc, std::int64_t t, std::int64_t token) {
    return story::blank(proc, t, phase::inv, action::write, token);
  };
  expect_kept(story{}.put(begins(2, 1, 6)).put(begins(1, 2, 5)).writes(2, 3, 6).writes(1, 4, 5));
  expect_broken(story{}.put(begins(2, 1, 6)).writes(2, 3, 6).put(begins(1, 4, 5)).writes(1, 5, 5),
                {invariant::resource});
}

TEST(resource, a_writer_that_died_before_its_answer_explains_a_refusal) {
  story told;
  told.put(story::blank(2, 1, phase::inv, action::write, 6))
      .nemesis(2, fault::kill, 2)
      .writes(1, 3, 5, phase::fence_rej);
  expect_kept(told);
}

TEST(resource, no_loss_of_state_excuses_a_stale_write) {
  expect_broken(story{}.writes(2, 1, 6).nemesis(2, fault::rollback).writes(1, 3, 5),
                {invariant::resource});
}

TEST(counter, all_increments_are_there_at_the_end) {
  expect_kept(story{}.counts(1, 1, 1, 1).counts(2, 2, 2, 2).ends_at_value(9, 2));
}

TEST(counter, a_lost_increment_is_refused) {
  expect_broken(story{}.counts(1, 1, 1, 1).counts(2, 2, 2, 2).ends_at_value(9, 1),
                {invariant::counter});
}

TEST(counter, an_increment_from_nowhere_is_refused) {
  expect_broken(story{}.counts(1, 1, 1, 1).ends_at_value(9, 2), {invariant::counter});
}

TEST(counter, two_increments_to_the_same_value_are_named) {
  const story told = story{}.counts(1, 1, 1, 1).counts(2, 2, 2, 1);
  expect_broken(told, {invariant::counter});
  EXPECT_EQ(check(told.events).violations.front().second->proc, 2);
}

TEST(counter, an_increment_of_unknown_outcome_counts_or_not) {
  const auto told = [](std::int64_t value) {
    return story{}.counts(1, 1, 1, 1).writes(2, 2, 2, phase::info).ends_at_value(9, value);
  };
  expect_kept(told(1));
  expect_kept(told(2));
  expect_broken(told(3), {invariant::counter});
}

}  // namespace
}  // namespace crosslock::checker
