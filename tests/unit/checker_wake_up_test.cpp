#include "unit/checker_story.hpp"

namespace crosslock::checker {
namespace {

using std::chrono::milliseconds;

const check_options bounds{.calm_bound = milliseconds{100}, .after_fault_bound = milliseconds{500}};

TEST(wake_up, a_waiter_served_soon_after_the_release_is_accepted) {
  const story told = story{}.holds(1, 0, 1, 1).holds(2, 5, 150, 2).releases(1, 60, 61, 1);
  expect_kept(told, bounds);
  EXPECT_EQ(check(told.events, bounds).longest_wait_while_free, milliseconds{90});
}

TEST(wake_up, a_waiter_that_is_not_woken_is_refused) {
  expect_broken(story{}.holds(1, 0, 1, 1).holds(2, 5, 162, 2).releases(1, 60, 61, 1),
                {invariant::wake_up}, bounds);
}

TEST(wake_up, exactly_the_bound_is_accepted) {
  expect_kept(story{}.holds(1, 0, 1, 1).holds(2, 5, 160, 2).releases(1, 60, 61, 1), bounds);
}

TEST(wake_up, a_waiter_that_gives_up_or_hangs_was_not_woken_either) {
  expect_broken(story{}.asks(2, 5, 2).answered(2, 300, phase::fail, 2), {invariant::wake_up},
                bounds);
  expect_broken(story{}.asks(2, 5, 2).nemesis(1, fault::other).on("other").holds(1, 899, 900, 1),
                {invariant::wake_up}, bounds);
}

TEST(wake_up, a_long_wait_for_a_held_lock_is_ordinary) {
  expect_kept(story{}.holds(1, 0, 1, 1).holds(2, 5, 5050, 2).releases(1, 5000, 5001, 1), bounds);
}

TEST(wake_up, many_short_holds_of_others_are_not_one_long_stretch) {
  story told;
  told.asks(9, 0, 99);
  for (int i = 1; i <= 20; ++i) {
    told.holds(i, i * 50 - 5, i * 50, i).releases(i, i * 50, i * 50 + 1, i);
  }
  told.granted(9, 1100, 99);
  expect_kept(told, bounds);
}

TEST(wake_up, the_death_of_the_holder_allows_more_time) {
  const auto told = [](std::int64_t t) {
    return story{}.holds(1, 0, 1, 1, 400).nemesis(20, fault::kill, 1).holds(2, 5, t, 2);
  };
  expect_kept(told(520), bounds);
  expect_broken(told(521), {invariant::wake_up}, bounds);
}

TEST(wake_up, a_lost_or_expired_hold_allows_more_time) {
  expect_kept(story{}.holds(1, 0, 1, 1, 40).lost(1, 30, 1).holds(2, 5, 520, 2), bounds);
  expect_broken(story{}.holds(1, 0, 1, 1, 40).lost(1, 30, 1).holds(2, 5, 531, 2),
                {invariant::wake_up}, bounds);
}

TEST(wake_up, a_release_that_did_not_arrive_allows_more_time) {
  expect_kept(
      story{}.holds(1, 0, 1, 1, 400).releases(1, 20, 50, 1, phase::info).holds(2, 5, 500, 2),
      bounds);
}

TEST(wake_up, nobody_is_served_while_the_server_is_down) {
  const auto told = [](std::int64_t t) {
    return story{}
        .holds(2, 5, t, 2)
        .nemesis(10, fault::server_down)
        .nemesis(3000, fault::server_up);
  };
  expect_kept(told(3400), bounds);
  expect_broken(told(3501), {invariant::wake_up}, bounds);
  expect_kept(story{}.holds(2, 5, 3000, 2).nemesis(10, fault::partition).nemesis(2900, fault::heal),
              bounds);
}

TEST(wake_up, a_frozen_or_cut_off_waiter_is_not_owed_the_lock_but_the_others_are) {
  const auto told = [](fault from, fault to, std::int64_t other) {
    return story{}
        .holds(2, 5, 3100, 3)
        .nemesis(10, from, 2)
        .nemesis(3000, to, 2)
        .holds(3, 20, other, 2)
        .releases(3, 3050, 3051, 2);
  };
  expect_kept(told(fault::pause, fault::thaw, 300), bounds);
  expect_kept(told(fault::partition, fault::heal, 300), bounds);
  expect_broken(told(fault::pause, fault::thaw, 600), {invariant::wake_up}, bounds);
}

TEST(wake_up, readers_beside_a_reader_are_owed_the_lock) {
  expect_broken(story{}.shared().holds(1, 0, 1, 1).holds(2, 5, 200, 2), {invariant::wake_up},
                bounds);
  expect_kept(story{}
                  .shared()
                  .holds(1, 0, 1, 1)
                  .holds(2, 5, 250, 3)
                  .exclusive()
                  .holds(3, 4, 210, 2)
                  .releases(3, 215, 216, 2)
                  .shared()
                  .releases(1, 200, 201, 1),
              bounds);
}

TEST(wake_up, served_readers_do_not_add_up_to_one_long_stretch) {
  story told;
  told.shared();
  for (int i = 1; i <= 20; ++i) {
    told.holds(i, i * 50, i * 50 + 60, i).releases(i, i * 50 + 70, i * 50 + 71, i);
  }
  expect_kept(told, bounds);
}

TEST(wake_up, who_waits_for_more_permits_than_are_left_is_not_owed_them) {
  const auto told = [](int k) {
    return story{}
        .permits(2, 3)
        .holds(1, 0, 1, 1)
        .permits(k, 3)
        .holds(2, 5, 310, 2)
        .permits(2, 3)
        .releases(1, 300, 301, 1);
  };
  expect_kept(told(2), bounds);
  story fits;
  fits.permits(2, 3).holds(1, 0, 1, 1).permits(1, 3).holds(2, 5, 310, 2);
  expect_broken(fits, {invariant::wake_up}, bounds);
}

const check_options in_order{.fifo = fifo_scope::server_claims};
const check_options strict{.fifo = fifo_scope::every_call};

story overtaken(bool queued) {
  story told;
  told.holds(1, 0, 1, 1).asks(2, 2, 3).queued(2, 3, 3).asks(3, 4, 2);
  if (queued) {
    told.queued(3, 5, 2);
  }
  told.releases(1, 10, 11, 1).granted(3, 12, 2).releases(3, 14, 15, 2).granted(2, 16, 3);
  return told;
}

TEST(fifo, first_come_first_served_is_accepted) {
  story told;
  told.holds(1, 0, 1, 1)
      .asks(2, 2, 2)
      .queued(2, 3, 2)
      .asks(3, 4, 3)
      .queued(3, 5, 3)
      .releases(1, 10, 11, 1)
      .granted(2, 12, 2)
      .releases(2, 14, 15, 2)
      .granted(3, 16, 3);
  expect_kept(told, in_order);
  expect_kept(told, strict);
}

TEST(fifo, one_who_overtakes_is_refused_only_if_asked_for) {
  expect_broken(overtaken(true), {invariant::fifo}, in_order);
  expect_kept(overtaken(true));
}

TEST(fifo, a_pass_within_the_process_may_overtake_unless_strict) {
  expect_kept(overtaken(false), in_order);
  expect_broken(overtaken(false), {invariant::fifo}, strict);
}

TEST(fifo, calls_at_the_same_time_have_no_order) {
  story told;
  told.holds(1, 0, 1, 1)
      .asks(2, 2, 3)
      .asks(3, 3, 2)
      .queued(2, 3, 3)
      .queued(3, 5, 2)
      .releases(1, 10, 11, 1)
      .granted(3, 12, 2)
      .releases(3, 14, 15, 2)
      .granted(2, 16, 3);
  expect_kept(told, in_order);
}

TEST(fifo, one_who_gave_up_or_was_frozen_may_be_overtaken) {
  story gave_up;
  gave_up.holds(1, 0, 1, 1)
      .asks(2, 2, 3)
      .queued(2, 3, 3)
      .asks(3, 4, 2)
      .queued(3, 5, 2)
      .releases(1, 10, 11, 1)
      .granted(3, 12, 2)
      .answered(2, 13, phase::fail, 3);
  expect_kept(gave_up, in_order);
  expect_kept(overtaken(true).nemesis(5, fault::pause, 2).nemesis(13, fault::thaw, 2), in_order);
  expect_broken(overtaken(true).nemesis(5, fault::pause, 3).nemesis(13, fault::thaw, 3),
                {invariant::fifo}, in_order);
}

TEST(fifo, one_who_still_waits_at_the_end_was_overtaken) {
  story told;
  told.holds(1, 0, 1, 1)
      .asks(2, 2, 3)
      .queued(2, 3, 3)
      .asks(3, 4, 2)
      .queued(3, 5, 2)
      .releases(1, 10, 11, 1)
      .granted(3, 12, 2);
  expect_broken(told, {invariant::fifo}, in_order);
}

TEST(fifo, a_retry_keeps_the_place_of_its_first_try) {
  expect_kept(story{}
                  .holds(1, 0, 1, 5)
                  .asks(2, 2, 6)
                  .answered(2, 3, phase::info, 6)
                  .asks(3, 4, 7)
                  .queued(3, 5, 7)
                  .asks(2, 6, 6)
                  .queued(2, 7, 6)
                  .releases(1, 8, 9, 5)
                  .granted(2, 10, 6)
                  .releases(2, 11, 12, 6)
                  .granted(3, 13, 7),
              strict);
}

TEST(fifo, readers_may_pass_each_other_but_not_a_writer) {
  story readers;
  readers.holds(1, 0, 1, 1)
      .shared()
      .asks(2, 2, 3)
      .queued(2, 3, 3)
      .asks(3, 4, 2)
      .queued(3, 5, 2)
      .exclusive()
      .releases(1, 10, 11, 1)
      .shared()
      .granted(3, 12, 2)
      .granted(2, 13, 3);
  expect_kept(readers, in_order);
  story writer;
  writer.shared()
      .holds(1, 0, 1, 1)
      .exclusive()
      .asks(2, 2, 3)
      .queued(2, 3, 3)
      .shared()
      .asks(3, 4, 2)
      .queued(3, 5, 2)
      .granted(3, 6, 2)
      .releases(1, 10, 11, 1)
      .releases(3, 10, 11, 2)
      .exclusive()
      .granted(2, 13, 3);
  expect_broken(writer, {invariant::fifo}, in_order);
}

}  // namespace
}  // namespace crosslock::checker
