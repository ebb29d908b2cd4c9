// Races between pushes, asks and withdrawals, each forced by holding messages back on the wire.
#include "faults/redis_case.hpp"

#include <utility>

namespace crosslock::faults {
namespace {

class redis_races : public redis_case {
 protected:
  /// Held until release(): all that matches.
  static proxy::door::rule_id hold_back(proxy::door& line, way going,
                                        conformance::sighting_test what) {
    return line.add({.going = going,
                     .matches = std::move(what),
                     .times = proxy::rule::always,
                     .what = fate::hold()});
  }
  static conformance::sighting_test is_command() {
    return [](const proxy::sighting& seen) { return !seen.subscription; };
  }
};

TEST_F(redis_races, F31_a_push_before_the_answer_to_the_ask) {
  const client viewer = connect();
  for (const bool answer_comes : {true, false}) {
    const auto holder = start("holder", long_lease);
    const auto waiter =
        start("waiter", long_lease, {.through = {}, .parameters = "?timeout=1s", .url = {}});
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    proxy::door& line = wire(*waiter);
    const auto held =
        line.add({.going = way::to_client, .matches = is_verb(verb::ask), .what = fate::hold()});
    const auto pushed = line.add({.going = way::to_client, .matches = proxy::is_push()});
    waiter->send("acquire name 60000");
    ASSERT_TRUE(line.await(held));
    EXPECT_TRUE(line_reaches(viewer, "name", 1));
    const time_point released = now();
    EXPECT_EQ(holder->say("release name"), "released");
    ASSERT_TRUE(line.await(pushed));
    if (answer_comes) line.release();
    // Without it, it takes the time of a request until the next ask finds itself the owner.
    EXPECT_LE(in_at(*waiter) - released, answer_comes ? stall : 1s + look_cap);
    EXPECT_EQ(waiter->say("work name 1000"), "held");
    line.release();
    EXPECT_EQ(waiter->say("work name 300"), "held");
    EXPECT_EQ(waiter->say("release name"), "released");
    EXPECT_TRUE(holder->say("acquire name 5000").starts_with("held"));  // exactly once granted
    EXPECT_EQ(holder->say("release name"), "released");
  }
  auto how = strictness();
  how.calm_bound = 1s + look_cap;
  judge(how);
}

TEST_F(redis_races, F31_a_push_after_the_end_of_its_offer_and_a_new_place_is_dropped) {
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, lease);
  const auto third = start("third", long_lease);
  proxy::door& line = wire(*waiter);
  // Nothing reaches the waiter, and nothing comes from it, but its connections live.
  const auto pushes = hold_back(line, way::to_client, proxy::is_push());
  const auto requests = hold_back(line, way::to_server, is_command());
  EXPECT_EQ(holder->say("release name"), "released");
  ASSERT_TRUE(line.await(pushes));  // the offer, on its way
  third->send("acquire name 60000");
  in_at(*third);  // the offer has ended
  EXPECT_EQ(third->say("write name 1"), "accepted");
  // It asks again, and stands in line with another ticket.
  line.remove(requests);
  line.release();
  // The old push has come with that, too: whatever the order, third is the only one inside.
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  EXPECT_EQ(third->say("work name 2500"), "held");
  EXPECT_FALSE(waiter->has_answered());
  EXPECT_EQ(third->say("release name"), "released");
  line.remove(pushes);
  line.release();
  in_at(*waiter);
  EXPECT_EQ(waiter->say("write name 2"), "accepted");
  EXPECT_EQ(waiter->say("work name 500"), "held");
  EXPECT_EQ(waiter->say("release name"), "released");
  judge();
}

TEST_F(redis_races, F31_an_old_push_that_comes_while_in_line_again_is_dropped) {
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, lease);
  const auto third = start("third", long_lease);
  proxy::door& line = wire(*waiter);
  const auto pushes = hold_back(line, way::to_client, proxy::is_push());
  const auto requests = hold_back(line, way::to_server, is_command());
  EXPECT_EQ(holder->say("release name"), "released");
  ASSERT_TRUE(line.await(pushes));
  third->send("acquire name 60000");
  in_at(*third);
  // Only its connection for commands goes on, anew: the push is still on its way.
  line.remove(requests);
  line.reset([](const proxy::connection_seen& each) { return !each.subscription; });
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  const auto refreshed = line.add(
      {.going = way::to_client, .matches = is_verb(verb::ask), .times = proxy::rule::always});
  ASSERT_TRUE(line.await(refreshed));  // it knows its new ticket
  line.remove(pushes);
  line.release();
  EXPECT_EQ(third->say("work name 1500"), "held");
  EXPECT_FALSE(waiter->has_answered());
  EXPECT_EQ(third->say("release name"), "released");
  in_at(*waiter);
  EXPECT_EQ(waiter->say("work name 500"), "held");
  EXPECT_EQ(waiter->say("release name"), "released");
  judge();
}

TEST_F(redis_races, F31_a_withdrawal_that_meets_the_grant_frees_the_name_at_once) {
  const client viewer = connect();
  const auto [holder, impatient_one, first] = holder_and_waiter(viewer, long_lease, long_lease);
  // Away with the long wait of the pair: this one gives up soon.
  const auto waiter = start("waiter", long_lease);
  impatient_one->kill();
  proxy::door& line = wire(*waiter);
  const auto withdrawn = hold_back(line, way::to_server, is_verb(verb::withdraw));
  waiter->send("acquire name 700");
  EXPECT_TRUE(line_reaches(viewer, "name", 2));
  ASSERT_TRUE(line.await(withdrawn));  // it has given up, and nobody knows
  EXPECT_EQ(holder->say("release name"), "released");
  const auto next = start("next", long_lease);
  next->send("acquire name 60000");
  EXPECT_TRUE(
      eventually([&] { return viewer.look("name").line.size() >= 1 || next->has_answered(); }));
  line.remove(withdrawn);
  line.release();
  const time_point let_go = now();
  // Not after the offer of three seconds, let alone the lease.
  EXPECT_LE(in_at(*next) - let_go, 1s + stall);
  EXPECT_EQ(waiter->answer(), "busy");
  EXPECT_EQ(next->say("work name 500"), "held");
  EXPECT_EQ(next->say("release name"), "released");
  auto how = strictness();
  how.calm_bound = 6s;  // the name was with somebody who did not want it any more
  judge(how);
}

TEST_F(redis_races, F31_the_subscription_is_cut_while_commands_go_on) {
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, long_lease);
  proxy::door& line = wire(*waiter);
  for (int round = 0; round < 3; ++round) {
    // Nobody can listen anew, either: the next connection is refused.
    line.refuse_new(round == 1);
    line.reset([](const proxy::connection_seen& each) { return each.subscription; });
    const time_point released = now();
    EXPECT_EQ(holder->say("release name"), "released");
    EXPECT_LE(in_at(*waiter) - released, look_cap);
    line.refuse_new(false);
    EXPECT_EQ(waiter->say("release name"), "released");
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    waiter->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(viewer, "name", 1));
  }
  EXPECT_EQ(holder->say("release name"), "released");
  in_at(*waiter);
  EXPECT_EQ(waiter->say("release name"), "released");
  judge();
}

TEST_F(redis_races, F31_the_subscription_falls_silent_while_commands_go_on) {
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, long_lease);
  proxy::door& line = wire(*waiter);
  const auto silent =
      line.add({.going = way::to_client,
                .matches = [](const proxy::sighting& seen) { return seen.subscription; },
                .what = fate::mute()});
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_LE(in_at(*waiter) - released, look_cap);
  EXPECT_EQ(line.applied(silent), 1U);
  EXPECT_EQ(waiter->say("release name"), "released");
  judge();
}

TEST_F(redis_races, F31_commands_are_cut_while_the_subscription_goes_on) {
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, long_lease);
  proxy::door& line = wire(*waiter);
  line.refuse_new(true);
  line.reset([](const proxy::connection_seen& each) { return !each.subscription; });
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  // The push brings the grant although no request could be made.
  EXPECT_LE(in_at(*waiter) - released, stall);
  EXPECT_EQ(waiter->say("write name 1"), "accepted");
  line.refuse_new(false);
  // The offer of three seconds becomes a whole lease.
  EXPECT_EQ(waiter->say("work name 4500"), "held");
  EXPECT_EQ(waiter->say("release name"), "released");
  judge();
}

TEST_F(redis_races, F31_commands_fall_silent_while_the_subscription_goes_on) {
  const client viewer = connect();
  const auto holder = start("holder", long_lease);
  const auto waiter =
      start("waiter", long_lease, {.through = {}, .parameters = "?timeout=500ms", .url = {}});
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  waiter->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  proxy::door& line = wire(*waiter);
  line.add({.going = way::to_client, .matches = is_command(), .what = fate::mute()});
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_LE(in_at(*waiter) - released, stall);
  EXPECT_EQ(waiter->say("work name 4500"), "held");
  EXPECT_EQ(waiter->say("release name"), "released");
  judge();
}

TEST_F(redis_races, F31_a_lost_wanted_is_made_good) {
  // The holder passes among its threads without end as long as it does not know of others.
  const client locks = connect();
  const auto waiter = start("waiter", long_lease);
  own_wire().add({.going = way::to_client,
                  .matches = proxy::is_push(),
                  .times = proxy::rule::always,
                  .what = fate::drop()});
  case_threads threads;
  for (int i = 0; i < 3; ++i) {
    threads.start([&](const std::stop_token& stop) {
      mutex lock{locks, "name"};
      while (!stop.stop_requested()) {
        const std::scoped_lock held{lock};
        sleep_for_real(100us);
      }
    });
  }
  waiter->send("acquire name 60000");
  const time_point asked = now();
  // The next renewal tells that somebody waits: a third of the lease of half a minute.
  EXPECT_LE(in_at(*waiter) - asked, long_lease / 3 + 1s);
  EXPECT_EQ(waiter->say("release name"), "released");
  threads.stop();
}

}  // namespace
}  // namespace crosslock::faults
