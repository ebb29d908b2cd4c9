// Servers that are killed, stopped, or out of reach.
#include "faults/redis_case.hpp"

namespace crosslock::faults {
namespace {

TEST_F(redis_faults, F6_a_server_killed_and_started_again_has_forgotten_nothing) {
  const client eyes = connect();
  const auto [holder, next, first] = holder_and_waiter(eyes, long_lease, long_lease);
  fence last = first;
  for (int round = 0; round < 3; ++round) {
    note(fault::server_down);
    server().kill();
    server().start();
    note(fault::server_up);
    EXPECT_EQ(holder->say("work name 300"), "held");
    EXPECT_EQ(eyes.look("name").holders.at(0).fence, first);
  }
  EXPECT_TRUE(line_reaches(eyes, "name", 1));
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  const fence second = fence_in(next->answer());
  EXPECT_LE(now() - released, look_cap);
  EXPECT_GT(second, last);
  EXPECT_EQ(next->say("release name"), "released");
  judge();
}

TEST_F(redis_faults, F6_a_server_killed_again_and_again_amid_the_work_breaks_no_promise) {
  std::vector<std::unique_ptr<real_actor>> actors;
  for (int i = 0; i < 4; ++i) {
    actors.push_back(start("p", long_lease));
    actors.back()->send("loop name/" + std::to_string(i % 2) + " 200 2000");
  }
  for (int round = 0; round < 8; ++round) {
    const std::int64_t before = scene().numbers().read("name/0");
    EXPECT_TRUE(eventually([&] { return scene().numbers().read("name/0") > before; }));
    note(fault::server_down);
    server().kill();
    sleep_for_real(round * 10ms);
    server().start();
    note(fault::server_up);
  }
  for (const auto& each : actors) {
    const std::string said = each->answer();
    EXPECT_TRUE(said.starts_with("done ")) << said;
    EXPECT_EQ(each->say("loop name/0 3 0"), "done 3");
  }
  judge();
}

TEST_F(redis_faults, F7_a_stopped_server_costs_an_error_in_time_and_holders_are_told_in_time) {
  const client eyes = connect();
  const auto [holder, next, first] = holder_and_waiter(eyes);
  const client locks = connect(long_lease, impatient(500ms));
  mutex lock{locks, "other"};
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  note(fault::server_down);
  server().stop();
  const time_point stopped = now();
  const errc failed = code_of([&] { (void)lock.try_acquire(); });
  EXPECT_TRUE(failed == errc::timed_out || failed == errc::unreachable) << static_cast<int>(failed);
  EXPECT_LE(now() - stopped, 500ms + stall);
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - stopped, lease);
  sleep_for_real(stopped + 2 * lease - now());
  EXPECT_FALSE(next->has_answered());  // nobody could have let it in
  server().go_on();
  note(fault::server_up);
  const time_point went_on = now();
  EXPECT_LE(in_at(*next) - went_on, look_cap);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_TRUE(lock.try_acquire_for(20s));
  auto how = strictness();
  how.need_stale_write = true;
  judge(how);
}

TEST_F(redis_faults, F7_a_short_stop_of_the_server_is_survived) {
  const auto holder = start("holder", long_lease);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  for (int round = 0; round < 3; ++round) {
    server().stop();
    sleep_for_real(700ms);
    server().go_on();
    EXPECT_EQ(holder->say("work name 200"), "held");
  }
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_EQ(holder->say("loop name 5 0"), "done 5");
  judge();
}

TEST_F(redis_faults, F11_without_a_server_there_is_a_typed_error_in_time_and_no_grant) {
  const auto holder = start("holder");
  const client locks = connect(long_lease, impatient(500ms));
  mutex lock{locks, "name"};
  fence last;
  for (const std::string how : {"killed", "stopped", "refused", "cut"}) {
    SCOPED_TRACE(how);
    const fence first = fence_in(holder->say("acquire name 20000"));
    EXPECT_GT(first, last);
    holder->send("work name 20000");
    note(fault::server_down);
    proxy::door* const doors[] = {&own_wire(), &wire(*holder)};
    if (how == "killed") server().kill();
    if (how == "stopped") server().stop();
    for (proxy::door* const each : doors) {
      if (how == "refused") each->refuse_new(true);
      if (how == "refused") each->reset();
      if (how == "cut") each->cut();
    }
    const time_point down = now();
    for (int i = 0; i < 3; ++i) {
      const time_point asked = now();
      const errc failed = code_of([&] { EXPECT_FALSE(lock.try_acquire()); });
      EXPECT_TRUE(failed == errc::unreachable || failed == errc::timed_out) << int(failed);
      EXPECT_LE(now() - asked, 500ms + stall);
    }
    EXPECT_EQ(holder->answer(), "lost");
    EXPECT_LE(ask_notice(*holder, "name").when - down, lease);
    if (how == "killed") server().start();
    if (how == "stopped") server().go_on();
    for (proxy::door* const each : doors) {
      if (how == "refused") each->refuse_new(false);
      if (how == "cut") each->heal();
    }
    note(fault::server_up);
    EXPECT_EQ(holder->say("release name"), "lost");
    // Goes on by itself.
    EXPECT_TRUE(eventually(
        [&] { return code_of([&] { last = lock.try_acquire_for(20s)->fence(); }) == errc{}; }));
    EXPECT_GT(last, first);
  }
  judge();
}

}  // namespace
}  // namespace crosslock::faults
