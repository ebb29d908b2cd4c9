#include "unit/checker_story.hpp"

namespace crosslock::checker {
namespace {

using std::chrono::milliseconds;

TEST(loss, told_once_by_the_deadline_is_accepted) {
  const story told = story{}.holds(1, 0, 1, 5, 50).lost(1, 50, 5).nemesis(200, fault::other);
  expect_kept(told);
  EXPECT_EQ(check(told.events).losses, 1U);
}

TEST(loss, told_early_is_accepted) {
  expect_kept(story{}.holds(1, 0, 1, 5, 50).lost(1, 20, 5).nemesis(200, fault::other));
}

TEST(loss, told_after_the_deadline_is_refused) {
  const story told = story{}.holds(1, 0, 1, 5, 50).lost(1, 51, 5);
  expect_broken(told, {invariant::loss});
  expect_kept(told, {.loss_slack = milliseconds{1}});
}

TEST(loss, never_told_is_refused) {
  expect_broken(story{}.holds(1, 0, 1, 5, 50).nemesis(51, fault::other), {invariant::loss});
  expect_broken(story{}.holds(1, 0, 1, 5, 50).releases(1, 60, 61, 5, phase::fail),
                {invariant::loss});
  expect_kept(story{}.holds(1, 0, 1, 5, 50).nemesis(49, fault::other));
}

TEST(loss, told_twice_is_refused) {
  expect_broken(story{}.holds(1, 0, 1, 5, 50).lost(1, 20, 5).lost(1, 30, 5), {invariant::loss});
}

TEST(loss, told_after_an_ordinary_release_is_refused) {
  expect_broken(story{}.holds(1, 0, 1, 5, 50).releases(1, 10, 11, 5).lost(1, 20, 5),
                {invariant::loss});
}

TEST(loss, a_release_that_is_refused_may_come_with_a_notice) {
  expect_kept(story{}.holds(1, 0, 1, 5, 50).releases(1, 10, 20, 5, phase::fail).lost(1, 20, 5));
  expect_kept(
      story{}.holds(1, 0, 1, 5, 50).releases(1, 10, 20, 5, phase::fail).nemesis(90, fault::other));
}

TEST(loss, told_of_what_was_never_granted_is_refused) {
  expect_broken(story{}.holds(1, 0, 1, 5, 50).releases(1, 10, 11, 5).lost(2, 20, 6),
                {invariant::loss});
}

TEST(loss, a_renewal_moves_the_time_of_the_notice) {
  expect_kept(story{}.holds(1, 0, 1, 5, 50).renews(1, 30, 31, 5, 80).lost(1, 80, 5));
  expect_broken(story{}.holds(1, 0, 1, 5, 50).renews(1, 30, 31, 5, 80).lost(1, 81, 5),
                {invariant::loss});
}

TEST(loss, a_dead_process_needs_no_notice) {
  expect_kept(story{}.holds(1, 0, 1, 5, 50).nemesis(20, fault::kill, 1).nemesis(90, fault::other));
  expect_broken(story{}.holds(1, 0, 1, 5, 50).nemesis(20, fault::kill, 2).nemesis(90, fault::other),
                {invariant::loss});
}

TEST(loss, a_thawed_process_is_told_within_fifty_milliseconds) {
  const auto told = [](std::int64_t t) {
    return story{}
        .holds(1, 0, 1, 5, 50)
        .nemesis(20, fault::pause, 1)
        .nemesis(200, fault::thaw, 1)
        .lost(1, t, 5);
  };
  expect_kept(told(250));
  expect_broken(told(251), {invariant::loss});
}

TEST(loss, the_thaw_of_another_process_excuses_nothing) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 50)
                    .nemesis(20, fault::pause, 2)
                    .nemesis(200, fault::thaw, 2)
                    .lost(1, 210, 5),
                {invariant::loss});
}

TEST(loss, a_process_that_stays_frozen_is_not_awaited) {
  expect_kept(
      story{}.holds(1, 0, 1, 5, 50).nemesis(20, fault::pause, 1).nemesis(900, fault::other));
}

TEST(loss, no_renewal_succeeds_after_the_notice) {
  expect_broken(story{}.holds(1, 0, 1, 5, 50).lost(1, 40, 5).renews(1, 41, 42, 5, 90),
                {invariant::loss});
  expect_kept(story{}.holds(1, 0, 1, 5, 50).lost(1, 40, 5).renews(1, 41, 42, 5, 0, phase::fail));
}

TEST(loss, a_renewal_that_was_over_before_the_notice_may_be_noted_behind_it) {
  const auto frozen = [] {
    return story{}
        .holds(1, 0, 1, 5, 50)
        .nemesis(30, fault::pause, 1)
        .nemesis(500, fault::thaw, 1)
        .lost(1, 501, 5);
  };
  expect_kept(frozen().renews(1, 502, 502, 5, 80));
  expect_broken(frozen().renews(1, 502, 502, 5, 502), {invariant::loss});
}

TEST(loss, no_renewal_succeeds_after_the_deadline) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 50)
                    .nemesis(10, fault::pause, 1)
                    .nemesis(60, fault::thaw, 1)
                    .renews(1, 61, 62, 5, 120)
                    .releases(1, 70, 71, 5),
                {invariant::loss});
}

TEST(loss, a_hold_that_comes_back_beside_its_successor_overlaps_it) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 50)
                    .nemesis(10, fault::pause, 1)
                    .holds(2, 52, 53, 6)
                    .nemesis(60, fault::thaw, 1)
                    .renews(1, 61, 62, 5, 120)
                    .releases(1, 70, 71, 5, phase::fail)
                    .releases(2, 80, 81, 6),
                {invariant::loss, invariant::exclusion});
}

TEST(loss, neither_re_entry_nor_release_bring_a_lost_hold_back) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 50)
                    .lost(1, 40, 5)
                    .put(story::blank(1, 45, phase::ok, action::reenter, 5)),
                {invariant::loss});
  expect_broken(story{}.holds(1, 0, 1, 5, 50).lost(1, 40, 5).releases(1, 45, 46, 5),
                {invariant::loss});
}

TEST(loss, no_loss_of_state_excuses_a_late_notice) {
  expect_broken(story{}.holds(1, 0, 1, 5, 50).nemesis(20, fault::state_loss).lost(1, 60, 5),
                {invariant::loss});
}

TEST(loss, a_session_lock_without_deadline_is_not_awaited) {
  expect_kept(story{}.holds(1, 0, 1, 5).nemesis(900, fault::other));
}

event with_terms(event e, std::int64_t sent, std::int64_t lease, std::int64_t deadline) {
  e.sent = sent * story::ms;
  e.lease = lease * story::ms;
  e.deadline = deadline * story::ms;
  return e;
}

event ok(std::int64_t t) { return story::blank(1, t, phase::ok, action::acq, 5); }

TEST(deadline, counted_from_before_the_send_is_accepted) {
  expect_kept(story{}.asks(1, 10, 5).put(with_terms(ok(20), 10, 50, 60)).releases(1, 30, 31, 5));
}

TEST(deadline, counted_from_the_answer_is_refused) {
  expect_broken(story{}.asks(1, 10, 5).put(with_terms(ok(20), 10, 50, 61)).releases(1, 30, 31, 5),
                {invariant::deadline});
  expect_broken(story{}.asks(1, 10, 5).put(with_terms(ok(20), 0, 50, 71)).releases(1, 30, 31, 5),
                {invariant::deadline});
}

TEST(deadline, of_a_renewal_beyond_its_lease_is_refused) {
  const auto told = [](std::int64_t deadline) {
    return story{}
        .holds(1, 0, 1, 5, 50)
        .put(story::blank(1, 20, phase::inv, action::renew, 5))
        .put(with_terms(story::blank(1, 30, phase::ok, action::renew, 5), 20, 50, deadline))
        .releases(1, 35, 36, 5);
  };
  expect_kept(told(70));
  expect_broken(told(71), {invariant::deadline});
}

TEST(deadline, that_goes_back_is_refused) {
  expect_broken(story{}.holds(1, 0, 1, 5, 50).renews(1, 20, 21, 5, 49).releases(1, 30, 31, 5),
                {invariant::deadline});
  expect_kept(story{}.holds(1, 0, 1, 5, 50).renews(1, 20, 21, 5, 50).releases(1, 30, 31, 5));
}

TEST(deadline, that_has_come_when_the_lock_is_granted_is_refused) {
  expect_broken(story{}.holds(1, 0, 50, 5, 50).lost(1, 50, 5), {invariant::deadline});
  expect_kept(story{}.holds(1, 0, 49, 5, 50).lost(1, 50, 5));
  expect_broken(story{}.holds(1, 0, 49, 5, 50).lost(1, 50, 5), {invariant::deadline},
                {.min_validity = milliseconds{1}});
}

TEST(deadline, that_passed_while_the_process_was_frozen_on_its_way_back_is_accepted) {
  expect_kept(story{}
                  .asks(1, 0, 5)
                  .nemesis(10, fault::pause, 1)
                  .nemesis(80, fault::thaw, 1)
                  .granted(1, 81, 5, 50)
                  .lost(1, 82, 5));
}

TEST(deadline, that_had_passed_before_the_process_was_frozen_is_refused) {
  const auto told = [](int frozen, int thawed, int granted) {
    return story{}
        .asks(1, 0, 5)
        .nemesis(frozen, fault::pause, 1)
        .nemesis(thawed, fault::thaw, 1)
        .granted(1, granted, 5, 50)
        .lost(1, granted + 1, 5);
  };
  expect_kept(told(49, 200, 249));
  expect_broken(told(10, 49, 60), {invariant::deadline});  // frozen, but not since
  const std::set late{invariant::deadline, invariant::loss};
  expect_broken(told(49, 200, 252), late);  // it had time to look at the clock
  expect_broken(told(120, 200, 201), late);
}

TEST(deadline, that_passed_while_the_process_stuttered_on_its_way_back_is_accepted) {
  const auto told = [](int proc, int granted) {
    return story{}
        .asks(1, 0, 5)
        .nemesis(48, fault::stutter, proc)
        .nemesis(86, fault::steady, proc)
        .nemesis(88, fault::stutter, proc)
        .nemesis(126, fault::steady, proc)
        .granted(1, granted, 5, 50)
        .lost(1, granted + 1, 5);
  };
  const check_options strict{.loss_slack = milliseconds{100}, .thaw_slack = milliseconds{5}};
  expect_kept(told(1, 88), strict);
  expect_kept(told(1, 129), strict);
  expect_broken(told(1, 132), {invariant::deadline}, strict);
  expect_broken(told(2, 88), {invariant::deadline}, strict);
}

TEST(loss, told_late_by_a_process_that_stuttered_is_refused_nevertheless) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 50)
                    .nemesis(49, fault::stutter, 1)
                    .nemesis(87, fault::steady, 1)
                    .lost(1, 88, 5),
                {invariant::loss});
}

TEST(loss, told_late_by_a_process_that_got_no_processor_is_accepted) {
  const auto told = [](int proc, int when) {
    return story{}.holds(1, 0, 1, 5, 50).stalls(30, 60, proc).stalls(64, 80, proc).lost(1, when, 5);
  };
  const check_options strict{.loss_slack = milliseconds{10}};
  expect_kept(told(1, 86),
              strict);  // it has run for ten since the deadline: 60 to 64, and 80 to 86
  expect_broken(told(1, 87), {invariant::loss}, strict);
  expect_broken(told(2, 86), {invariant::loss}, strict);
}

TEST(loss, told_late_after_a_thaw_is_accepted_only_from_a_process_that_did_not_run) {
  const auto told = [](int running_again, int when) {
    return story{}
        .holds(1, 0, 1, 5, 50)
        .nemesis(20, fault::pause, 1)
        .stalls(25, running_again, 1)
        .nemesis(100, fault::thaw, 1)
        .lost(1, when, 5);
  };
  expect_kept(told(130, 180));
  expect_broken(told(130, 181), {invariant::loss});
  expect_kept(told(101, 151));
  expect_broken(told(101, 152), {invariant::loss});
}

TEST(loss, told_late_by_a_process_that_the_case_starves_is_refused_whatever_it_notes) {
  expect_broken(story{}
                    .holds(1, 0, 1, 5, 50)
                    .nemesis(49, fault::stutter, 1)
                    .stalls(49, 87, 1)
                    .nemesis(87, fault::steady, 1)
                    .lost(1, 88, 5),
                {invariant::loss});
}

TEST(deadline, a_stall_and_the_freeze_it_comes_from_count_once) {
  const auto told = [](int granted) {
    return story{}
        .asks(1, 0, 5)
        .nemesis(60, fault::pause, 1)
        .stalls(61, 100, 1)
        .nemesis(99, fault::thaw, 1)
        .granted(1, granted, 5, 50)
        .lost(1, granted + 1, 5);
  };
  const check_options strict{.loss_slack = milliseconds{100}, .thaw_slack = milliseconds{12}};
  expect_kept(told(102), strict);
  expect_broken(told(103), {invariant::deadline}, strict);
}

}  // namespace
}  // namespace crosslock::checker
