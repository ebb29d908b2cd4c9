// Requests and answers that are late, lost, cut or repeated, at every request of a cycle.
#include "faults/zookeeper_case.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

namespace crosslock::faults {
namespace {

TEST_F(zookeeper_faults, F4_a_release_delivered_late_does_not_free_the_successor) {
  const client eyes = connect();
  const auto holder = start("holder", session, {.parameters = "&timeout=300ms"});
  const auto next = start("next", steady);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  proxy::door& late = wire(*holder);
  const auto held =
      late.add({.going = way::to_server, .matches = is_verb(verb::release), .what = fate::hold()});
  holder->send("release name");
  ASSERT_TRUE(late.await(held));
  next->send("acquire name 60000");
  EXPECT_EQ(holder->answer(), "unknown");
  // Behind what is held nothing passes, heartbeats neither: it connects anew, and says it again; or
  // its session ends.
  const fence second = fence_in(next->answer());
  late.release();
  EXPECT_EQ(next->say("work name 1000"), "held");
  ASSERT_EQ(eyes.look("name").holders.size(), 1U);
  EXPECT_EQ(eyes.look("name").holders[0].fence, second);
  EXPECT_EQ(next->say("release name"), "released");
  auto how = strictness();
  how.calm_bound = session + look_cap;
  judge(how);
}

TEST_F(zookeeper_faults, F4_heartbeats_held_back_past_the_session_bring_nothing_back) {
  const client eyes = connect();
  const auto [holder, next, first] = holder_and_waiter(eyes);
  proxy::door& late = wire(*holder);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  const auto held = late.add({.going = way::to_server,
                              .matches = is_verb(verb::renew),
                              .times = proxy::rule::always,
                              .what = fate::hold()});
  holder->send("work name 20000");
  ASSERT_TRUE(late.await(held));
  EXPECT_EQ(holder->answer(), "lost");
  const fence second = fence_in(next->answer());
  EXPECT_EQ(next->say("write name 2"), "accepted");
  late.remove(held);
  late.release();
  EXPECT_EQ(holder->say("valid name"), "no");
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(next->say("work name 500"), "held");
  EXPECT_EQ(eyes.look("name").holders.at(0).fence, second);
  EXPECT_EQ(next->say("release name"), "released");
  judge_with_stale_write();
}

/// What happens to one request, or to its answer, of an acquire-renew-release cycle.
struct mishap {
  std::string name;
  proxy::way going;
  proxy::fate what;
  /// Nobody tells the client: it must notice by itself, and a hold may be lost meanwhile.
  bool silent = false;
};

class zookeeper_cycle : public zookeeper_case, public testing::WithParamInterface<mishap> {
 protected:
  /// Acquire, hold over some heartbeats, release; its fence.
  fence play(real_actor& victim, bool may_be_lost) {
    const fence given = fence_in(victim.say("acquire name 20000"));
    const std::string worked = victim.say("work name 700");
    EXPECT_TRUE(worked == "held" || (may_be_lost && worked == "lost")) << worked;
    if (worked == "held") {
      EXPECT_EQ(victim.say("write name " + std::to_string(++written_)), "accepted");
    }
    const std::string released = victim.say("release name");
    EXPECT_TRUE(released == "released" || released == "unknown" ||
                (may_be_lost && released == "lost"))
        << released;
    return given;
  }

 private:
  int written_ = 0;
};

TEST_P(zookeeper_cycle, F5_at_every_request_the_hold_is_the_same_and_nothing_is_left) {
  const auto victim = start("victim", session, {.parameters = "&timeout=500ms"});
  proxy::door& line = wire(*victim);
  fence last = play(*victim, false);
  const auto next = start("next", steady);
  const std::pair<std::string, sighting_test> requests[] = {
      {"create", is_verb(verb::ask)},
      {"list",
       [](const auto& seen) { return !seen.words.empty() && seen.words[0] == "getChildren"; }},
      {"heartbeat", is_verb(verb::renew)},
      {"release", is_verb(verb::release)},
  };
  for (const auto& [name, is_it] : requests) {
    SCOPED_TRACE(name);
    // TCP delivers nothing twice: what a second node of the same claim would do is no question.
    if (name == "create" && GetParam().what.is == proxy::fate::kind::replay) continue;
    const auto rule =
        line.add({.going = GetParam().going, .matches = is_it, .what = GetParam().what});
    const fence given = play(*victim, GetParam().silent);
    EXPECT_EQ(line.applied(rule), 1U);  // the fault has bitten
    EXPECT_GT(given, last);
    line.remove(rule);
    line.release();
    // An answer that nobody waits for any more is nobody else's; and nothing stays behind.
    const fence other = fence_in(next->say("acquire name 10000"));
    EXPECT_GT(other, given);
    last = other;
    EXPECT_EQ(next->say("work name 100"), "held");
    EXPECT_EQ(next->say("release name"), "released");
  }
  auto how = strictness();
  how.calm_bound = session + look_cap;
  judge(how);
}

INSTANTIATE_TEST_SUITE_P(
    zookeeper, zookeeper_cycle,
    testing::Values(
        mishap{"answer_lost_and_connection_silent", proxy::way::to_client, proxy::fate::mute(),
               true},
        mishap{"answer_lost_and_connection_reset", proxy::way::to_client, proxy::fate::reset()},
        mishap{"answer_held", proxy::way::to_client, proxy::fate::hold(), true},
        mishap{"answer_cut_in_two", proxy::way::to_client, proxy::fate::cut_after(6)},
        mishap{"request_lost_and_connection_silent", proxy::way::to_server, proxy::fate::mute(),
               true},
        mishap{"request_lost_and_connection_reset", proxy::way::to_server, proxy::fate::reset()},
        mishap{"request_held", proxy::way::to_server, proxy::fate::hold(), true},
        mishap{"request_cut_in_two", proxy::way::to_server, proxy::fate::cut_after(20)},
        mishap{"request_carried_out_twice", proxy::way::to_server, proxy::fate::replay()}),
    [](const auto& which) { return which.param.name; });

TEST_F(zookeeper_faults, F5_a_trickle_is_as_good_as_a_stream) {
  const auto victim = start("victim", steady);
  proxy::door& line = wire(*victim);
  EXPECT_EQ(victim->say("loop name 1 0"), "done 1");
  for (const way going : {way::to_server, way::to_client}) {
    const auto slow = line.add({.going = going,
                                .matches = conformance::on_zookeeper::is_verb(),
                                .times = 6,
                                .what = fate::trickle(200us)});
    EXPECT_EQ(victim->say("loop name 3 0"), "done 3");
    EXPECT_EQ(line.applied(slow), 6U);
    line.remove(slow);
  }
  judge();
}

TEST_F(zookeeper_faults, F5_an_acquire_that_nobody_answers_leaves_no_orphan) {
  const client locks = connect(steady, impatient(300ms));
  mutex lock{locks, "name"};
  take_and_release("name");  // its parents are there
  const auto lost = own_wire().add(
      {.going = way::to_client, .matches = is_verb(verb::ask), .what = fate::reset()});
  EXPECT_THROW((void)conformance::acquire(here(), lock, 200ms), error);
  EXPECT_EQ(own_wire().applied(lost), 1U);
  // Its node is there, in a session that goes on: the withdrawal in the background removes it.
  const time_point gave_up = now();
  const auto next = start("next", steady);
  next->send("acquire name 20000");
  EXPECT_LE(in_at(*next) - gave_up, 2s + stall);
  EXPECT_EQ(next->say("release name"), "released");
  judge();
}

TEST_F(zookeeper_faults, F17_reset_connections_are_made_anew_in_the_same_session) {
  std::vector<std::unique_ptr<real_actor>> actors;
  std::vector<std::int64_t> sessions;
  for (int i = 0; i < 4; ++i) {
    actors.push_back(start("p", steady));
    EXPECT_EQ(actors.back()->say("loop other 1 0"), "done 1");
    sessions.push_back(scene().session_of(actors.back()->number()).id);
  }
  for (const auto& each : actors) each->send("loop name 100 1000");
  for (std::size_t round = 0; round < 20; ++round) {
    wire(*actors[round % actors.size()]).reset();
    note(fault::other);
    sleep_for_real(100ms);
  }
  for (std::size_t i = 0; i < actors.size(); ++i) {
    EXPECT_EQ(actors[i]->answer(), "done 100");
    EXPECT_EQ(scene().session_of(actors[i]->number()).id, sessions[i]);
  }
  auto how = strictness();
  how.calm_bound = 3s;
  judge(how);
}

/// What the observer of a client hears of its session.
class session_diary final : public observer {
 public:
  std::atomic<int> suspensions = 0;
  std::atomic<int> resumptions = 0;
  std::atomic<int> losses = 0;
  std::atomic<errc> why{};

  void suspended(const error& reason) noexcept override {
    why = reason.which();
    ++suspensions;
  }
  void resumed() noexcept override { ++resumptions; }
  void lost(const lost_event& event) noexcept override {
    EXPECT_EQ(event.reason, loss_reason::gone);
    ++losses;
  }
};

TEST_F(zookeeper_faults, F17_a_lost_connection_is_told_as_suspended_and_only_its_session_as_lost) {
  const auto diary = std::make_shared<session_diary>();
  options how;
  how.observer = diary;
  const client locks = connect(steady, how);
  mutex lock{locks, "name"};
  const hold held = lock.acquire();
  const std::int64_t first = scene().session_of(0).id;
  for (int times = 1; times <= 2; ++times) {
    const int before = diary->resumptions;
    own_wire().cut();
    EXPECT_TRUE(eventually([&] { return diary->suspensions == times; }));
    EXPECT_EQ(diary->why, errc::unreachable);
    EXPECT_TRUE(held.valid());
    own_wire().heal();
    EXPECT_TRUE(eventually([&] { return diary->resumptions == before + 1; }));
    EXPECT_EQ(scene().session_of(0).id, first);
    EXPECT_TRUE(held.valid());
  }
  EXPECT_EQ(diary->losses, 0);
  const int before = diary->resumptions;
  own_wire().cut();
  servers::zookeeper_talk{server().address(), scene().session_of(0)}.close();
  own_wire().heal();
  EXPECT_TRUE(eventually([&] { return diary->losses == 1; }));
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(eventually([&] { return diary->resumptions == before + 1; }));
  EXPECT_EQ(diary->suspensions, 3);
  EXPECT_NE(scene().session_of(0).id, first);
  EXPECT_GT(lock.acquire().fence(), held.fence());
}

TEST_F(zookeeper_faults, F27_an_answer_about_as_late_as_the_session_is_no_spent_grant) {
  const client eyes = connect();
  take_and_release("name");
  for (const int percent : {60, 90, 99, 101, 120}) {
    const auto late = start("late", session, {.parameters = "&timeout=5s"});
    const auto rule = wire(*late).add({.going = way::to_client,
                                       .matches = is_verb(verb::ask),
                                       .what = fate::delay(percent * session / 100)});
    EXPECT_TRUE(late->say("acquire name 20000").starts_with("held")) << percent;
    EXPECT_EQ(wire(*late).applied(rule), 1U);
    // Whether it was good when it was given, the checker says.
    const std::string worked = late->say("work name 500");
    EXPECT_TRUE(worked == "held" || worked == "lost") << percent << worked;
    EXPECT_EQ(late->say("release name"), worked == "held" ? "released" : "lost") << percent;
    EXPECT_TRUE(eventually([&] { return eyes.list().empty(); }, session + after_session))
        << percent;
  }
  auto how = strictness();
  how.calm_bound = 2 * session + look_cap;
  judge(how);
}

}  // namespace
}  // namespace crosslock::faults
