#include "unit/checker_story.hpp"

namespace crosslock::checker {
namespace {

event thief(int proc, std::int64_t t, phase ph, action f, std::int64_t token) {
  event e = story::blank(proc, t, ph, f, token);
  e.req = "thief";
  return e;
}

TEST(owner, refused_attempts_with_stolen_receipts_are_accepted) {
  expect_kept(story{}
                  .holds(1, 0, 1, 5)
                  .put(thief(2, 2, phase::inv, action::rel, 5))
                  .put(thief(2, 3, phase::fail, action::rel, 5))
                  .put(thief(2, 4, phase::inv, action::renew, 5))
                  .put(thief(2, 5, phase::fail, action::renew, 5))
                  .releases(1, 8, 9, 5));
}

TEST(owner, a_release_by_another_is_refused) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5)
                    .put(thief(2, 2, phase::inv, action::rel, 5))
                    .put(thief(2, 3, phase::ok, action::rel, 5))
                    .releases(1, 8, 9, 5),
                {invariant::owner});
}

TEST(owner, a_renewal_by_another_is_refused) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5)
                    .put(thief(2, 2, phase::inv, action::renew, 5))
                    .put(thief(2, 3, phase::ok, action::renew, 5))
                    .releases(1, 8, 9, 5),
                {invariant::owner});
}

TEST(owner, the_right_id_with_a_wrong_token_is_refused_too) {
  story told;
  told.holds(1, 0, 1, 5);
  event e = story::blank(1, 2, phase::inv, action::rel, 4);
  e.req = "r5";
  told.put(e);
  e.t = 3 * story::ms;
  e.ph = phase::ok;
  told.put(e);
  expect_broken(told, {invariant::owner});
}

TEST(owner, a_release_after_an_acquire_of_unknown_outcome_is_explained) {
  expect_kept(story{}.asks(1, 0, 5).answered(1, 1, phase::info, 5).releases(1, 2, 3, 5));
}

TEST(owner, a_late_release_that_is_refused_is_accepted) {
  expect_kept(story{}
                  .holds(1, 0, 1, 5, 10)
                  .lost(1, 10, 5)
                  .holds(2, 11, 12, 6)
                  .releases(1, 13, 14, 5, phase::fail)
                  .releases(2, 20, 21, 6));
}

TEST(owner, a_late_release_that_is_taken_for_good_is_refused) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 10)
                    .lost(1, 10, 5)
                    .holds(2, 11, 12, 6)
                    .releases(1, 13, 14, 5)
                    .releases(2, 20, 21, 6),
                {invariant::owner, invariant::loss});
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 10)
                    .nemesis(5, fault::pause, 1)
                    .holds(2, 11, 12, 6)
                    .nemesis(13, fault::thaw, 1)
                    .releases(1, 13, 14, 5)
                    .releases(2, 20, 21, 6),
                {invariant::owner});
}

TEST(owner, no_loss_of_state_excuses_a_late_release) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 90)
                    .nemesis(5, fault::state_loss)
                    .holds(2, 11, 12, 6)
                    .releases(1, 13, 14, 5)
                    .releases(2, 20, 21, 6),
                {invariant::owner});
}

TEST(owner, a_release_that_is_in_flight_while_the_next_one_gets_in_is_ordinary) {
  expect_kept(
      story{}.holds(1, 0, 1, 5, 90).holds(2, 2, 6, 6).releases(1, 5, 8, 5).releases(2, 20, 21, 6));
}

TEST(owner, a_late_release_that_frees_the_successor_is_refused) {
  story told;
  told.holds(1, 0, 1, 5, 10)
      .lost(1, 9, 5)
      .holds(2, 11, 12, 6, 100)
      .releases(1, 13, 14, 5, phase::fail)
      .holds(3, 14, 15, 7, 100)
      .releases(2, 40, 41, 6, phase::fail)
      .releases(3, 50, 51, 7);
  expect_broken(told, {invariant::exclusion, invariant::owner});
}

TEST(owner, a_release_delayed_beyond_the_lease_that_frees_the_successor_is_refused) {
  story told;
  told.holds(1, 0, 1, 5, 10)
      .releases(1, 8, 30, 5, phase::info)
      .holds(2, 11, 12, 6, 100)
      .holds(3, 14, 20, 7, 100)
      .releases(2, 40, 41, 6, phase::fail)
      .releases(3, 50, 51, 7);
  expect_broken(told, {invariant::exclusion, invariant::owner});
}

TEST(owner, an_overlap_with_no_late_release_about_is_not_blamed_on_one) {
  expect_broken(
      story{}.holds(1, 0, 1, 5, 90).releases(1, 5, 6, 5).holds(2, 7, 8, 6).holds(3, 9, 10, 7),
      {invariant::exclusion});
}

TEST(owner, a_successor_that_loses_its_lock_to_a_late_release_is_noticed) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 10)
                    .lost(1, 10, 5)
                    .holds(2, 11, 12, 6, 100)
                    .releases(1, 13, 14, 5, phase::fail)
                    .lost(2, 30, 6),
                {invariant::owner});
  expect_kept(story{}
                  .holds(1, 0, 1, 5, 10)
                  .lost(1, 10, 5)
                  .holds(2, 11, 12, 6, 100)
                  .releases(1, 13, 14, 5, phase::fail)
                  .nemesis(20, fault::other)
                  .lost(2, 30, 6));
}

TEST(owner, two_accepted_releases_of_one_grant_are_refused) {
  expect_broken(story{}.holds(1, 0, 1, 5).releases(1, 2, 3, 5).releases(1, 4, 5, 5),
                {invariant::owner});
}

TEST(owner, a_refused_release_of_a_live_hold_is_refused_where_that_is_asked_for) {
  const story told = story{}.holds(1, 0, 1, 5, 90).releases(1, 8, 9, 5, phase::fail);
  expect_kept(told);
  expect_broken(told, {invariant::owner}, {.owner_never_refused = true});
}

event lost_because(int proc, std::int64_t t, std::int64_t token, std::string why) {
  event e = story::blank(proc, t, phase::lost, action::none, token);
  e.err = std::move(why);
  return e;
}

TEST(owner, a_hold_that_ends_by_itself_is_not_blamed_on_a_late_release) {
  for (const char* why : {"expired", "lease_ended", "max_hold", "closed"}) {
    expect_kept(story{}
                    .holds(1, 0, 1, 5, 10)
                    .put(story::blank(1, 5, phase::inv, action::rel, 5))
                    .holds(2, 6, 7, 6, 30)
                    .put(lost_because(2, 20, 6, why)));
  }
}

TEST(owner, a_release_is_refused_to_a_hold_that_its_own_client_has_just_ended) {
  const auto refused_after = [](const char* why) {
    return story{}
        .holds(1, 0, 1, 5, 90)
        .put(story::blank(1, 8, phase::inv, action::rel, 5))
        .put(lost_because(1, 9, 5, why))
        .put(story::blank(1, 9, phase::fail, action::rel, 5));
  };
  expect_kept(refused_after("max_hold"), {.owner_never_refused = true});
  expect_broken(refused_after("expired"), {invariant::owner}, {.owner_never_refused = true});
}

TEST(owner, a_pass_asks_no_server_that_has_forgotten_the_hold) {
  event passed = story::blank(1, 8, phase::ok, action::rel, 5);
  passed.err = passed_on;
  expect_kept(story{}
                  .holds(1, 0, 1, 5)
                  .nemesis(2, fault::admin_delete)
                  .holds(2, 3, 4, 6)
                  .put(story::blank(1, 7, phase::inv, action::rel, 5))
                  .put(passed));
}

TEST(owner, a_server_that_went_back_may_know_an_old_holder_again) {
  expect_kept(story{}
                  .holds(1, 0, 1, 5)
                  .nemesis(2, fault::state_loss)
                  .holds(2, 3, 4, 6)
                  .nemesis(6, fault::rollback)
                  .releases(1, 8, 9, 5));
}

TEST(orphan, a_retry_under_the_same_id_is_accepted) {
  expect_kept(
      story{}.asks(1, 0, 5).answered(1, 2, phase::info, 5).holds(1, 3, 4, 5).releases(1, 8, 9, 5));
}

TEST(orphan, a_retry_under_a_new_id_is_refused) {
  expect_broken(
      story{}.asks(1, 0, 5).answered(1, 2, phase::info, 5).holds(1, 3, 4, 6).releases(1, 8, 9, 6),
      {invariant::orphan});
}

TEST(orphan, a_withdrawn_claim_leaves_the_way_free_for_a_new_one) {
  expect_kept(story{}
                  .asks(1, 0, 5)
                  .answered(1, 2, phase::info, 5)
                  .put(story::blank(7, 2, phase::inv, action::withdraw, 5))
                  .holds(1, 3, 4, 6));
}

TEST(orphan, another_logical_process_may_ask_under_its_own_id) {
  expect_kept(story{}.asks(1, 0, 5).answered(1, 2, phase::info, 5).holds(2, 3, 4, 6));
}

TEST(orphan, a_retry_finds_the_token_that_the_first_try_was_given) {
  const auto told = [](std::int64_t token) {
    event unknown = story::blank(1, 2, phase::info, action::acq, 5);
    event again = story::blank(1, 3, phase::inv, action::acq, 0);
    event ok = story::blank(1, 4, phase::ok, action::acq, token);
    again.req = ok.req = "r5";
    return story{}.asks(1, 0, 5).put(unknown).put(again).put(ok);
  };
  expect_kept(told(5));
  expect_broken(told(6), {invariant::orphan});
}

TEST(orphan, what_an_unknown_acquire_left_behind_is_gone_in_time) {
  const auto told = [](std::int64_t until) {
    return story{}.asks(1, 0, 5).answered(1, 10, phase::info, 5).holds(2, 5, until, 6);
  };
  const check_options how{.calm_bound = std::chrono::milliseconds{100},
                          .after_fault_bound = std::chrono::milliseconds{500}};
  expect_kept(told(400), how);
  expect_broken(told(600), {invariant::orphan}, how);
}

}  // namespace
}  // namespace crosslock::checker
