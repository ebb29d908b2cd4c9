// kill -9 of a process at every step of acquire, handover, renewal and release. Nothing may stay
// stuck: whoever comes next is in as soon as a dead holder is seen, with a higher fence.
#include "engines/sqlite/steps.hpp"
#include "faults/sqlite_case.hpp"

namespace crosslock::faults {
namespace {

/// Parameter: the step, by its name.
class stop_points : public sqlite_case, public testing::WithParamInterface<std::string> {
 protected:
  /// `stop_at VERB STEP`, for the parameter's step.
  void arm(real_actor& victim, const std::string& verb) {
    EXPECT_EQ(victim.say("stop_at " + verb + ' ' + GetParam()), "set");
  }
  /// Waits until the victim has come to the point, and kills it there. A verb that does not pass
  /// that step, because one statement did it all, goes on; false then.
  bool kill_there(real_actor& victim) {
    const bool stopped =
        eventually([&] { return victim.has_answered() || victim.is_stopped(); }, 10s);
    EXPECT_TRUE(stopped);
    if (victim.has_answered()) return false;
    EXPECT_TRUE(victim.wait_until_stopped());
    victim.kill();
    return true;
  }
  /// Takes and gives back the name, in time.
  void expect_next_in(const std::string& name, duration within) {
    const client locks = connect();
    mutex lock{locks, name};
    const time_point asked = now();
    const auto held = conformance::acquire(here(), lock, 20s);
    EXPECT_LE(now() - asked, within);
    ASSERT_TRUE(held);
    EXPECT_GT(held->held().fence(), last_);
    last_ = held->held().fence();
  }
  void end() {
    judge();
    expect_nothing_left();
  }

 private:
  fence last_;
};

TEST_P(stop_points, of_an_acquire_of_a_free_name) {
  expect_next_in("name", stall);  // so that there is a fence to be higher than
  for (const bool first_use : {true, false}) {
    const std::string name = first_use ? "never-used" : "name";
    const auto victim = start("victim", long_lease);
    arm(*victim, "ask");
    victim->send("acquire " + name + " 20000");
    const bool killed = kill_there(*victim);
    if (!killed) {
      EXPECT_TRUE(victim->answer().starts_with("held"));
      EXPECT_EQ(victim->say("release " + name), "released");
    }
    expect_next_in(name, seen_dead);
  }
  end();
}

TEST_P(stop_points, of_an_acquire_that_has_to_wait) {
  const client viewer = connect();
  const auto holder = start("holder", long_lease);
  const auto victim = start("victim", long_lease);
  const auto behind = start("behind", long_lease);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  arm(*victim, "ask");
  victim->send("acquire name 60000");
  // Here every step is passed: it takes more than a statement to stand in line.
  ASSERT_TRUE(kill_there(*victim));
  behind->send("acquire name 60000");
  EXPECT_TRUE(eventually([&] { return viewer.look("name").line.size() >= 1; }));
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_LE(in_at(*behind) - released, seen_dead);
  EXPECT_EQ(behind->say("release name"), "released");
  end();
}

TEST_P(stop_points, of_a_release_that_hands_over) {
  const client viewer = connect();
  const auto victim = start("victim", long_lease);
  const auto next = start("next", long_lease);
  const auto behind = start("behind", long_lease);
  EXPECT_TRUE(victim->say("acquire name 20000").starts_with("held"));
  next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  behind->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 2));
  arm(*victim, "release");
  victim->send("release name");
  ASSERT_TRUE(kill_there(*victim));
  const time_point killed = now();
  // Handed over but not told: the waiter finds it at its next look, at the latest.
  EXPECT_LE(in_at(*next) - killed, look_cap);
  EXPECT_EQ(next->say("release name"), "released");
  in_at(*behind);
  EXPECT_EQ(behind->say("release name"), "released");
  end();
}

TEST_P(stop_points, of_a_release_without_waiters) {
  const auto victim = start("victim", long_lease);
  EXPECT_TRUE(victim->say("acquire name 20000").starts_with("held"));
  arm(*victim, "release");
  victim->send("release name");
  if (!kill_there(*victim)) {
    EXPECT_EQ(victim->answer(), "released");
  }
  expect_next_in("name", seen_dead);
  end();
}

TEST_P(stop_points, of_a_renewal) {
  const client viewer = connect();
  const auto victim = start("victim", lease);
  const auto next = start("next", long_lease);
  EXPECT_TRUE(victim->say("acquire name 20000").starts_with("held"));
  next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  arm(*victim, "renew");
  victim->send("work name 60000");
  ASSERT_TRUE(kill_there(*victim));
  const time_point killed = now();
  EXPECT_LE(in_at(*next) - killed, seen_dead);
  EXPECT_EQ(next->say("release name"), "released");
  end();
}

TEST_P(stop_points, of_the_one_that_is_handed_the_name) {
  const client viewer = connect();
  const auto holder = start("holder", long_lease);
  const auto victim = start("victim", long_lease);
  const auto behind = start("behind", long_lease);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  victim->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  behind->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 2));
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_TRUE(victim->answer().starts_with("held"));
  // The first renewal takes up the offer.
  arm(*victim, "renew");
  victim->send("work name 60000");
  ASSERT_TRUE(kill_there(*victim));
  const time_point killed = now();
  EXPECT_LE(in_at(*behind) - killed, seen_dead);
  EXPECT_EQ(behind->say("release name"), "released");
  end();
}

TEST_P(stop_points, of_a_withdrawal) {
  const client viewer = connect();
  const auto holder = start("holder", long_lease);
  const auto victim = start("victim", long_lease);
  const auto behind = start("behind", long_lease);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  arm(*victim, "withdraw");
  victim->send("acquire name 300");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  behind->send("acquire name 60000");
  ASSERT_TRUE(kill_there(*victim));
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_LE(in_at(*behind) - released, seen_dead);
  EXPECT_EQ(behind->say("release name"), "released");
  end();
}

INSTANTIATE_TEST_SUITE_P(sqlite, stop_points,
                         testing::ValuesIn(std::vector<std::string>{sqlite::step_names.begin(),
                                                                    sqlite::step_names.end()}),
                         [](const auto& which) { return which.param; });

}  // namespace
}  // namespace crosslock::faults
