// Requests and answers that are late, lost, cut or repeated, at every place of a cycle.
#include "faults/suites.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::faults {
namespace {

using proxy::fate;
using proxy::way;
using verb = observer::verb;

TEST_P(wire_faults, F4_a_release_delivered_after_the_lease_does_not_free_the_successor) {
  const auto how = stage().protocol();
  const client viewer = connect();
  const auto holder = start("holder", bounds().brief, 300ms);
  const auto next = start("next", bounds().lasting);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  proxy::door& late = wire(*holder);
  const auto held = late.add({.going = way::to_server,
                              .matches = how.is(verb::release),
                              .times = how.repeated_releases,
                              .what = fate::hold()});
  const auto answered = late.add(
      {.going = way::to_client, .matches = how.is(verb::release), .times = proxy::rule::always});
  holder->send("release name");
  ASSERT_TRUE(late.await(held));
  next->send("acquire name 60000");
  EXPECT_EQ(holder->answer(), "unknown");
  // It comes with the end of the lease, or with a release that was said again on another
  // connection.
  const fence second = fence_in(next->answer());
  late.remove(held);
  late.release();
  if (how.answers_late_requests) {
    ASSERT_TRUE(late.await(answered));  // it has been carried out
  }
  EXPECT_EQ(next->say("valid name"), "yes");
  EXPECT_EQ(next->say("work name 1000"), "held");
  ASSERT_EQ(viewer.look("name").holders.size(), 1U);
  EXPECT_EQ(viewer.look("name").holders[0].fence, second);
  EXPECT_EQ(next->say("release name"), "released");
  judge(bounds().calm.late_release);
}

TEST_P(wire_faults, F4_a_wait_that_is_shorter_than_a_round_trip_is_no_outage) {
  const client far = connect(impatient(2s));
  mutex lock{far, "name"};
  count_down_latch gate{far, "gate", 1};
  EXPECT_TRUE(lock.try_acquire_for(10s));
  EXPECT_GT(gate.count(), 0);
  for (const auto going : {way::to_server, way::to_client}) {
    own_wire().add({.going = going, .times = proxy::rule::always, .what = fate::delay(100ms)});
  }
  for (int i = 0; i < 3; ++i) {
    const time_point began = now();
    EXPECT_EQ(code_of([&] { (void)lock.try_acquire_for(10ms); }), errc{});
    EXPECT_LE(now() - began, 100ms + stall);
    EXPECT_EQ(code_of([&] { (void)lock.async_acquire({}, 10ms).future().get(); }), errc{});
    EXPECT_EQ(code_of([&] { EXPECT_FALSE(gate.wait_for(10ms)); }), errc{});
    EXPECT_LE(now() - began, 3 * (100ms + stall));
  }
  own_wire().remove_all();
  // Nothing is left behind of them.
  EXPECT_TRUE(eventually([&] { return code_of([&] { (void)lock.try_acquire(); }) == errc{}; }));
  EXPECT_TRUE(eventually([&] { return lock.try_acquire_for(1s).has_value(); }));
}

TEST_P(wire_faults, F4_a_renewal_delivered_after_the_lease_brings_nothing_back) {
  const auto how = stage().protocol();
  const client viewer = connect();
  const auto holder = start("holder", bounds().brief, 300ms);
  const auto next = start("next", bounds().lasting);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  proxy::door& late = wire(*holder);
  const auto held = late.add({.going = way::to_server,
                              .matches = how.is(verb::renew),
                              .times = proxy::rule::always,
                              .what = fate::hold()});
  const auto answered = late.add(
      {.going = way::to_client, .matches = how.is(verb::renew), .times = proxy::rule::always});
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  next->send("acquire name 60000");
  ASSERT_TRUE(late.await(held));
  EXPECT_EQ(holder->answer(), "lost");
  const fence second = fence_in(next->answer());
  EXPECT_EQ(next->say("write name 2"), "accepted");
  late.remove(held);
  late.release();
  if (how.answers_late_requests) {
    ASSERT_TRUE(late.await(answered));
  }
  EXPECT_EQ(holder->say("valid name"), "no");
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(next->say("work name 500"), "held");
  EXPECT_EQ(viewer.look("name").holders.at(0).fence, second);
  EXPECT_EQ(next->say("release name"), "released");
  judge_with_stale_write();
}

/// Acquire, renew, write, release; its fence.
fence play_cycle(real_actor& victim, const protocol& how, int value, bool may_be_lost) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(how.cycle_work).count();
  const std::string acquired = victim.say("acquire name 20000");
  EXPECT_TRUE(acquired.starts_with("held ")) << acquired;
  const std::string worked = victim.say("work name " + std::to_string(ms));
  EXPECT_TRUE(worked == "held" || (may_be_lost && worked == "lost")) << worked;
  if (worked == "held") {
    EXPECT_EQ(victim.say("write name " + std::to_string(value)), "accepted");
  }
  const std::string released = victim.say("release name");
  EXPECT_TRUE(released == "released" || released == "unknown" ||
              (may_be_lost && released == "lost"))
      << released;
  return fence{acquired.starts_with("held ") ? std::stoll(acquired.substr(5)) : 0};
}

TEST_P(wire_cycle, F5_at_every_request_the_hold_is_the_same_and_nothing_is_left) {
  const auto how = stage().protocol();
  const bool may_be_lost = accident().silent && how.silence_may_cost_the_hold;
  const auto victim = start("victim", bounds().brief, how.timeout);
  proxy::door& line = wire(*victim);
  int written = 0;
  play_cycle(*victim, how, ++written, false);  // what is sent only once has been sent
  const auto count = line.add({.matches = how.any, .times = proxy::rule::always});
  fence last = play_cycle(*victim, how, ++written, false);
  if (how.requests_in_cycle) {
    EXPECT_EQ(line.applied(count), *how.requests_in_cycle);
    EXPECT_EQ(how.cycle.size(), *how.requests_in_cycle);  // none is left out
  }
  line.remove(count);
  const auto next = start("next", bounds().lasting);
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(how.next_in).count();
  fate what = accident().what;
  what.bytes = accident().going == way::to_client ? how.cut_answer : how.cut_request;
  for (const protocol::step& step : how.cycle) {
    SCOPED_TRACE(step.name);
    if (!step.repeatable && what.is == fate::kind::replay) continue;
    const auto rule = line.add(
        {.going = accident().going, .matches = step.matches, .skip = step.skip, .what = what});
    const fence given = play_cycle(*victim, how, ++written, may_be_lost);
    EXPECT_EQ(line.applied(rule), 1U);  // the fault has bitten
    EXPECT_GT(given, last);
    line.remove(rule);
    line.release();
    // An answer that nobody waits for any more is nobody else's; and nothing stays behind.
    const fence other = fence_in(next->say("acquire name " + std::to_string(wait)));
    EXPECT_GT(other, given);
    last = other;
    EXPECT_EQ(next->say("work name 100"), "held");
    EXPECT_EQ(next->say("release name"), "released");
  }
  judge(bounds().calm.cycle);
}

TEST_P(wire_faults, F5_a_trickle_is_as_good_as_a_stream) {
  const auto how = stage().protocol();
  const auto victim = start("victim", bounds().lasting);
  proxy::door& line = wire(*victim);
  EXPECT_EQ(victim->say("loop name 1 0"), "done 1");  // what is sent only once has been sent
  for (const way going : {way::to_server, way::to_client}) {
    const auto slow = line.add({.going = going,
                                .matches = how.any,
                                .times = how.trickled,
                                .what = fate::trickle(how.trickle_pause)});
    EXPECT_EQ(victim->say("loop name 3 0"), "done 3");
    EXPECT_EQ(line.applied(slow), how.trickled);
    line.remove(slow);
  }
  judge();
}

TEST_P(wire_faults, F5_an_acquire_that_nobody_answers_leaves_no_orphan) {
  const auto how = stage().protocol();
  const client locks = connect(impatient(300ms));
  mutex lock{locks, "name"};
  take_and_release("name");  // what is made only once has been made
  const auto lost = own_wire().add(
      {.going = way::to_client, .matches = how.is(verb::ask), .what = how.unanswered});
  // Silence that is shorter than a request may take is no outage; behind a connection that was cut
  // the wait goes on.
  EXPECT_NO_THROW((void)conformance::acquire(here(), lock, 200ms));
  EXPECT_EQ(own_wire().applied(lost), 1U);
  // It had been granted for long: the withdrawal in the background gives it back.
  const time_point gave_up = now();
  const auto next = start("next", bounds().lasting);
  next->send("acquire name 20000");
  EXPECT_LE(in_at(*next) - gave_up, 2s + stall);
  EXPECT_EQ(next->say("release name"), "released");
  judge();
}

TEST_P(wire_faults, F17_reset_connections_are_made_anew_and_nothing_else_happens) {
  std::vector<std::unique_ptr<real_actor>> actors;
  std::vector<std::int64_t> sessions;
  for (int i = 0; i < 4; ++i) {
    actors.push_back(start("p", bounds().lasting));
    EXPECT_EQ(actors.back()->say("loop other 1 0"), "done 1");
    sessions.push_back(stage().session_of(*actors.back()));
  }
  for (const auto& each : actors) each->send("loop name 100 1000");
  for (std::size_t round = 0; round < 20; ++round) {
    stage().reset_connections(*actors[round % actors.size()], round);
    note(checker::fault::other);
    sleep_for_real(bounds().between_resets);
  }
  for (std::size_t i = 0; i < actors.size(); ++i) {
    EXPECT_EQ(actors[i]->answer(), "done 100");
    EXPECT_EQ(stage().session_of(*actors[i]), sessions[i]);
  }
  judge(bounds().calm.reset);
}

TEST_P(wire_faults, F27_an_answer_about_as_late_as_the_lease_is_no_spent_grant) {
  const auto how = stage().protocol();
  const client viewer = connect();
  take_and_release("name");  // what is made only once has been made
  for (const int percent : {60, 90, 98, 99, 100, 101, 110, 120}) {
    SCOPED_TRACE(percent);
    const auto late = start("late", bounds().brief, 5s);
    const auto rule = wire(*late).add({.going = way::to_client,
                                       .matches = how.is(verb::ask),
                                       .what = fate::delay(percent * bounds().brief / 100)});
    EXPECT_TRUE(late->say("acquire name 20000").starts_with("held"));
    EXPECT_EQ(wire(*late).applied(rule), 1U);
    // Whether it was good when it was given, the checker says. With a few milliseconds left it may
    // be lost before it can be renewed; asked for anew, it has a whole lease.
    const bool may_be_lost = percent < 100 || how.late_grant_may_be_lost;
    const std::string worked = late->say("work name 500");
    EXPECT_TRUE(worked == "held" || (worked == "lost" && may_be_lost)) << worked;
    EXPECT_EQ(late->say("release name"), worked == "held" ? "released" : "lost");
    EXPECT_TRUE(eventually([&] { return viewer.list().empty(); }, how.late_gone));
  }
  judge(bounds().calm.late_answer);
}

}  // namespace
}  // namespace crosslock::faults
