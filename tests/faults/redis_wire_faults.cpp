// Requests and answers that are late, lost, cut or repeated, at every place of a cycle.
#include "faults/redis_case.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::faults {
namespace {

/// So that a lost answer is missed soon.
const conformance::redis_start soon{.through = {}, .parameters = "?timeout=300ms", .url = {}};

TEST_F(redis_faults, F4_a_release_delivered_after_the_lease_does_not_free_the_successor) {
  const client eyes = connect();
  const auto holder = start("holder", lease, soon);
  const auto next = start("next", long_lease);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  proxy::door& late = wire(*holder);
  const auto held = late.add({.going = way::to_server,
                              .matches = is_verb(verb::release),
                              .times = proxy::rule::always,
                              .what = fate::hold()});
  const auto answered = late.add(
      {.going = way::to_client, .matches = is_verb(verb::release), .times = proxy::rule::always});
  holder->send("release name");
  ASSERT_TRUE(late.await(held));
  next->send("acquire name 60000");
  EXPECT_EQ(holder->answer(), "unknown");
  const fence second = fence_in(next->answer());
  late.remove(held);
  late.release();
  ASSERT_TRUE(late.await(answered));  // it has been carried out
  EXPECT_EQ(next->say("valid name"), "yes");
  ASSERT_EQ(eyes.look("name").holders.size(), 1U);
  EXPECT_EQ(eyes.look("name").holders[0].fence, second);
  EXPECT_EQ(next->say("release name"), "released");
  judge();
}

TEST_F(redis_faults, F4_a_renewal_delivered_after_the_lease_brings_nothing_back) {
  const client eyes = connect();
  const auto holder = start("holder", lease, soon);
  const auto next = start("next", long_lease);
  proxy::door& late = wire(*holder);
  const auto held = late.add({.going = way::to_server,
                              .matches = is_verb(verb::renew),
                              .times = proxy::rule::always,
                              .what = fate::hold()});
  const auto answered = late.add(
      {.going = way::to_client, .matches = is_verb(verb::renew), .times = proxy::rule::always});
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  next->send("acquire name 60000");
  ASSERT_TRUE(late.await(held));
  EXPECT_EQ(holder->answer(), "lost");
  const fence second = fence_in(next->answer());
  EXPECT_EQ(next->say("write name 2"), "accepted");
  late.remove(held);
  late.release();
  ASSERT_TRUE(late.await(answered));
  EXPECT_EQ(holder->say("valid name"), "no");
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(next->say("work name 500"), "held");
  EXPECT_EQ(eyes.look("name").holders.at(0).fence, second);
  EXPECT_EQ(next->say("release name"), "released");
  auto how = strictness();
  how.need_stale_write = true;
  judge(how);
}

/// What happens to one request, or to its answer, of an acquire-renew-release cycle.
struct mishap {
  std::string name;
  way going;
  fate what;
};

class redis_cycle : public redis_case, public testing::WithParamInterface<mishap> {
 protected:
  /// Acquire, renew once, release: the fence, and what the release said.
  std::pair<fence, std::string> play(real_actor& victim) {
    const fence given = fence_in(victim.say("acquire name 20000"));
    EXPECT_EQ(victim.say("work name 600"), "held");
    EXPECT_EQ(victim.say("write name " + std::to_string(++written_)), "accepted");
    return {given, victim.say("release name")};
  }

 private:
  int written_ = 0;
};

TEST_P(redis_cycle, F5_at_every_request_index_the_hold_is_the_same_and_nothing_is_left) {
  const client eyes = connect();
  const auto victim = start("victim", lease, soon);
  proxy::door& line = wire(*victim);
  play(*victim);  // the texts of the scripts are there now
  const auto count = line.add({.matches = is_verb(), .times = proxy::rule::always});
  fence last = play(*victim).first;
  const std::uint64_t requests = line.applied(count);
  EXPECT_EQ(requests, 3U);  // ask, renew, release
  line.remove(count);
  const auto next = start("next", long_lease);
  for (std::uint64_t index = 0; index < requests; ++index) {
    SCOPED_TRACE("request " + std::to_string(index));
    const auto rule = line.add(
        {.going = GetParam().going, .matches = is_verb(), .skip = index, .what = GetParam().what});
    const auto [given, released] = play(*victim);
    EXPECT_EQ(line.applied(rule), 1U);  // the fault has bitten
    EXPECT_TRUE(released == "released" || released == "unknown") << released;
    EXPECT_GT(given, last);
    line.remove(rule);
    line.release();
    // An answer that nobody waits for any more is nobody else's; and nothing stays behind.
    const fence other = fence_in(next->say("acquire name 5000"));
    EXPECT_GT(other, given);
    last = other;
    EXPECT_EQ(next->say("work name 100"), "held");
    EXPECT_EQ(next->say("release name"), "released");
  }
  judge();
}

INSTANTIATE_TEST_SUITE_P(
    redis, redis_cycle,
    testing::Values(mishap{"answer_lost_and_connection_silent", way::to_client, fate::mute()},
                    mishap{"answer_lost_and_connection_reset", way::to_client, fate::reset()},
                    mishap{"answer_held", way::to_client, fate::hold()},
                    mishap{"answer_cut_in_two", way::to_client, fate::cut_after(2)},
                    mishap{"request_lost_and_connection_silent", way::to_server, fate::mute()},
                    mishap{"request_lost_and_connection_reset", way::to_server, fate::reset()},
                    mishap{"request_held", way::to_server, fate::hold()},
                    mishap{"request_cut_in_two", way::to_server, fate::cut_after(40)},
                    mishap{"request_carried_out_twice", way::to_server, fate::replay()}),
    [](const auto& which) { return which.param.name; });

TEST_F(redis_faults, F5_a_trickle_is_as_good_as_a_stream) {
  const auto victim = start("victim", long_lease);
  proxy::door& line = wire(*victim);
  EXPECT_EQ(victim->say("loop name 1 0"), "done 1");  // the texts of the scripts are there
  for (const way going : {way::to_server, way::to_client}) {
    const auto slow =
        line.add({.going = going, .matches = is_verb(), .times = 3, .what = fate::trickle(500us)});
    EXPECT_EQ(victim->say("loop name 3 0"), "done 3");
    EXPECT_EQ(line.applied(slow), 3U);
    line.remove(slow);
  }
  judge();
}

TEST_F(redis_faults, F5_an_acquire_that_nobody_answers_leaves_no_orphan) {
  const client locks = connect(long_lease, impatient(300ms));
  mutex lock{locks, "name"};
  const auto lost = own_wire().add(
      {.going = way::to_client, .matches = is_verb(verb::ask), .what = fate::mute()});
  EXPECT_THROW((void)conformance::acquire(here(), lock, 200ms), error);
  EXPECT_EQ(own_wire().applied(lost), 1U);
  // It had been granted for half a minute: the withdrawal in the background gives it back.
  const time_point gave_up = now();
  const auto next = start("next", long_lease);
  next->send("acquire name 20000");
  EXPECT_LE(in_at(*next) - gave_up, 2s + stall);
  EXPECT_EQ(next->say("release name"), "released");
  judge();
}

TEST_F(redis_faults, F17_killed_connections_are_made_anew_and_nothing_else_happens) {
  std::vector<std::unique_ptr<real_actor>> actors;
  for (int i = 0; i < 4; ++i) {
    actors.push_back(start("p", long_lease));
    EXPECT_EQ(actors.back()->say("sleep 0"), "awake");
  }
  for (const auto& each : actors) each->send("loop name 150 1000");
  int killed = 0;
  const auto done = [&] {
    return std::all_of(actors.begin(), actors.end(),
                       [](auto& each) { return each->has_answered(); });
  };
  while (!done()) {
    for (const std::string type : {"normal", "pubsub"}) {
      const auto said = server().say({"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
      killed += std::stoi(said.text);
    }
    note(fault::other);
    sleep_for_real(100ms);
  }
  EXPECT_GT(killed, 8);
  for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 150");
  judge();
}

TEST_F(redis_faults, F17_reset_connections_are_made_anew_and_nothing_else_happens) {
  std::vector<std::unique_ptr<real_actor>> actors;
  for (int i = 0; i < 4; ++i) {
    actors.push_back(start("p", long_lease));
    EXPECT_EQ(actors.back()->say("sleep 0"), "awake");
  }
  for (const auto& each : actors) each->send("loop name 100 1000");
  for (int round = 0; round < 20; ++round) {
    proxy::door& line = wire(*actors[static_cast<std::size_t>(round) % actors.size()]);
    const bool ears = round % 2 == 1;
    line.reset([ears](const proxy::connection_seen& each) { return each.subscription == ears; });
    note(fault::other);
    sleep_for_real(50ms);
  }
  for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 100");
  judge();
}

TEST_F(redis_faults, F19_scripts_flushed_all_the_time_are_sent_again) {
  std::vector<std::unique_ptr<real_actor>> actors;
  for (int i = 0; i < 3; ++i) {
    actors.push_back(start("p", long_lease));
    actors.back()->send("loop name 100 1000");
  }
  int flushed = 0;
  while (!actors.back()->has_answered()) {
    EXPECT_EQ(server().say({"SCRIPT", "FLUSH"}).text, "OK");
    ++flushed;
    sleep_for_real(10ms);
  }
  for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 100");
  EXPECT_GT(flushed, 10);
  judge();
}

TEST_F(redis_faults, F19_a_flush_amid_many_renewals_loses_none_of_them) {
  const client locks = connect(lease);
  std::vector<std::unique_ptr<mutex>> objects;
  std::vector<hold> holds;
  for (int i = 0; i < 200; ++i) {
    objects.push_back(std::make_unique<mutex>(locks, "name/" + std::to_string(i)));
    holds.push_back(objects.back()->acquire());
  }
  const time_point end = now() + 4 * lease;
  while (now() < end) {
    server().say({"SCRIPT", "FLUSH"});
    sleep_for_real(10ms);
  }
  for (const hold& each : holds) EXPECT_TRUE(each.valid());
}

TEST_F(redis_faults, F27_an_answer_about_as_late_as_the_lease_is_no_spent_grant) {
  const client eyes = connect();
  take_and_release("name");  // the texts of the scripts are there
  for (const int percent : {90, 98, 99, 100, 101, 110, 120}) {
    const auto late = start("late", lease, {.through = {}, .parameters = "?timeout=5s", .url = {}});
    const auto rule = wire(*late).add({.going = way::to_client,
                                       .matches = is_verb(verb::ask),
                                       .what = fate::delay(percent * lease / 100)});
    EXPECT_TRUE(late->say("acquire name 20000").starts_with("held")) << percent;
    EXPECT_EQ(wire(*late).applied(rule), 1U);
    // Whether it was good when it was given, the checker says. With a few milliseconds left it may
    // be lost before it can be renewed; asked for anew, it has a whole lease.
    const bool fresh = percent >= 100;
    const std::string worked = late->say("work name 500");
    EXPECT_TRUE(worked == "held" || (worked == "lost" && !fresh)) << percent << worked;
    EXPECT_EQ(late->say("release name"), worked == "held" ? "released" : "lost") << percent;
    EXPECT_TRUE(eventually([&] { return eyes.list().empty(); }, lease / 2)) << percent;
  }
  judge();
}

}  // namespace
}  // namespace crosslock::faults
