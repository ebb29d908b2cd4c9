// Holds, places in line, everything that is stored, and wake-ups, taken away by others.
#include "faults/suites.hpp"

namespace crosslock::faults {
namespace {

using checker::fault;

TEST_P(data_faults, F14_a_hold_taken_away_by_hand_is_told_as_soon_as_promised) {
  const client viewer = connect();
  int written = 0;
  fence last;
  const auto play = [&](const harm& how, bool somebody_waits) {
    const auto write = [&written] { return "write name " + std::to_string(++written); };
    const auto holder = start("holder", bounds().renewed);
    const auto next = start("next", bounds().lasting);
    const fence first = fence_in(holder->say("acquire name 20000"));
    EXPECT_GT(first, last);
    EXPECT_EQ(holder->say(write()), "accepted");
    if (somebody_waits) {
      next->send("acquire name 60000");
      EXPECT_TRUE(line_reaches(viewer, "name", 1));
    }
    settle(*holder);
    note(fault::admin_delete, "name");
    how.begin(*holder);
    const time_point taken = now();
    if (!somebody_waits) next->send("acquire name 20000");
    const fence second = fence_in(next->answer());
    EXPECT_LE(now() - taken, how.next_in);
    EXPECT_GT(second, first);
    last = second;
    EXPECT_EQ(holder->answer(), "lost");
    const notice told = ask_notice(*holder, "name");
    EXPECT_EQ(told.times, 1);
    EXPECT_LE(told.when - taken, how.noticed);
    EXPECT_EQ(holder->say("release name"), "lost");
    EXPECT_EQ(next->say("valid name"), "yes");
    EXPECT_EQ(next->say(write()), "accepted");
    EXPECT_EQ(holder->say(write()), "refused");
    EXPECT_EQ(next->say("release name"), "released");
  };
  for (const harm& how : stage().removals()) {
    for (const bool somebody_waits : {false, true}) {
      SCOPED_TRACE(how.name + (somebody_waits ? ", somebody waits" : ""));
      play(how, somebody_waits);
    }
  }
  judge_with_stale_write();
}

TEST_P(data_faults, F14_a_broken_lock_is_told_at_once) {
  const client admin = connect();
  const auto holder = start("holder", bounds().lasting);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  settle(*holder);
  note(fault::admin_delete, "name");
  EXPECT_TRUE(admin.break_lock("name", admin.look("name").holders.at(0).owner));
  const time_point broken = now();
  EXPECT_EQ(holder->answer(), "lost");
  const notice told = ask_notice(*holder, "name");
  EXPECT_LE(told.when - broken, bounds().break_told);  // long before the next renewal
  EXPECT_EQ(told.why, "broken");
  judge();
}

TEST_P(data_faults, F14_a_place_in_line_taken_away_by_hand_is_taken_again) {
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, bounds().lasting, bounds().brief);
  EXPECT_GT(stage().remove_places(), 0);
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  EXPECT_EQ(holder->say("release name"), "released");
  in_at(*waiter);
  EXPECT_EQ(waiter->say("work name 300"), "held");
  EXPECT_EQ(waiter->say("release name"), "released");
  // Nobody believes in the place that is gone.
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release name"), "released");
  judge();
}

TEST_P(data_faults, F30_after_a_wipe_fences_rise_and_everybody_goes_on) {
  const client viewer = connect();
  int written = 0;
  fence last;
  const auto bystander = start("bystander", bounds().lasting);
  EXPECT_EQ(bystander->say("loop other 1 0"), "done 1");
  const auto write = [&written] { return "write name " + std::to_string(++written); };
  const auto play = [&](const harm& wipe) {
    const auto [holder, next, first] =
        holder_and_waiter(viewer, bounds().renewed, bounds().lasting);
    EXPECT_GT(first, last);
    EXPECT_EQ(holder->say(write()), "accepted");
    settle(*holder);
    note(fault::state_loss);
    wipe.begin(*holder);
    const time_point wiped = now();
    const fence second = fence_in(next->answer());
    EXPECT_LE(now() - wiped, wipe.next_in);
    EXPECT_GT(second, first);
    EXPECT_EQ(next->say(write()), "accepted");
    EXPECT_EQ(holder->answer(), "lost");
    EXPECT_LE(ask_notice(*holder, "name").when - wiped, wipe.noticed);
    EXPECT_EQ(holder->say(write()), "refused");
    EXPECT_EQ(holder->say("release name"), "lost");
    EXPECT_EQ(next->say("release name"), "released");
    last = fence_in(holder->say("acquire name 20000"));
    EXPECT_GT(last, second);
    EXPECT_EQ(holder->say("release name"), "released");
  };
  for (const harm& each : stage().wipes()) {
    SCOPED_TRACE(each.name);
    if (each.amid_holds) play(each);
    // Nor do they fall when nobody holds anything and could remember.
    for (int round = 0; round < 3; ++round) {
      note(fault::state_loss);
      each.begin(*bystander);
      const auto newcomer = start("newcomer", bounds().lasting);
      const fence given = fence_in(newcomer->say("acquire name 20000"));
      EXPECT_GT(given, last);
      last = given;
      EXPECT_EQ(newcomer->say("release name"), "released");
    }
  }
  judge_with_stale_write();
}

TEST_P(data_faults, F31_waiters_outlive_the_loss_of_their_wake_ups) {
  const client viewer = connect();
  for (const harm& how : stage().news_harms()) {
    SCOPED_TRACE(how.name);
    const auto [holder, waiter, first] =
        holder_and_waiter(viewer, bounds().lasting, bounds().lasting);
    how.begin(*waiter);
    const time_point released = now();
    EXPECT_EQ(holder->say("release name"), "released");
    how.meanwhile(*waiter);
    EXPECT_LE(in_at(*waiter) - released, how.next_in);
    EXPECT_EQ(waiter->say("release name"), "released");
    how.end(*waiter);
    EXPECT_EQ(waiter->say("loop name 20 0"), "done 20");
    how.after(*waiter);
  }
  judge(bounds().calm.news);
}

}  // namespace
}  // namespace crosslock::faults
