// Keys, channels and rights that others take away, and wake-ups that die.
#include "faults/redis_case.hpp"

#include <algorithm>

namespace crosslock::faults {
namespace {

TEST_F(redis_faults, F14_a_key_deleted_by_hand_is_told_at_the_next_renewal) {
  const client eyes = connect();
  int written = 0;
  for (const bool somebody_waits : {false, true}) {
    const auto write = [&written] { return "write name " + std::to_string(++written); };
    const auto holder = start("holder");
    const auto next = start("next", long_lease);
    const fence first = fence_in(holder->say("acquire name 20000"));
    EXPECT_EQ(holder->say(write()), "accepted");
    if (somebody_waits) {
      next->send("acquire name 60000");
      EXPECT_TRUE(line_reaches(eyes, "name", 1));
    }
    holder->send("work name 20000");
    sleep_for_real(lease / 2);
    note(fault::admin_delete, "name");
    EXPECT_EQ(server().say({"DEL", "name"}).text, "1");
    const time_point taken = now();
    if (!somebody_waits) next->send("acquire name 20000");
    const fence second = fence_in(next->answer());
    EXPECT_LE(now() - taken, look_cap);
    EXPECT_GT(second, first);
    EXPECT_EQ(holder->answer(), "lost");
    const notice told = ask_notice(*holder, "name");
    EXPECT_EQ(told.times, 1);
    EXPECT_LE(told.when - taken, noticed);
    EXPECT_EQ(holder->say("release name"), "lost");
    EXPECT_EQ(next->say("valid name"), "yes");
    EXPECT_EQ(next->say(write()), "accepted");
    EXPECT_EQ(holder->say(write()), "refused");
    EXPECT_EQ(next->say("release name"), "released");
  }
  auto how = strictness();
  how.need_stale_write = true;
  judge(how);
}

TEST_F(redis_faults, F14_a_key_overwritten_by_hand_is_told_and_left_alone) {
  const auto holder = start("holder");
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  holder->send("work name 20000");
  note(fault::admin_delete, "name");
  server().say({"SET", "name", "somebody's own lock", "PX", "2000"});
  const time_point taken = now();
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - taken, noticed);
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(server().say({"GET", "name"}).text, "somebody's own lock");
  EXPECT_EQ(holder->say("acquire name 0"), "busy");
  EXPECT_EQ(server().say({"GET", "name"}).text, "somebody's own lock");
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));  // when it has ended
  EXPECT_GE(now() - taken, 2s - stall);
  EXPECT_EQ(holder->say("release name"), "released");
  judge();
}

TEST_F(redis_faults, F14_a_broken_lock_is_told_at_once) {
  const client admin = connect();
  const auto holder = start("holder", long_lease);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  holder->send("work name 20000");
  note(fault::admin_delete, "name");
  EXPECT_TRUE(admin.break_lock("name", admin.look("name").holders.at(0).owner));
  const time_point broken = now();
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - broken, stall);  // long before the next renewal
  EXPECT_EQ(ask_notice(*holder, "name").why, "broken");
  judge();
}

TEST_F(redis_faults, F14_a_place_in_line_taken_away_by_hand_is_taken_again) {
  const client eyes = connect();
  const auto [holder, waiter, first] = holder_and_waiter(eyes, long_lease, lease);
  // All side keys of the line, whatever they are called.
  for (const auto& each : server().say({"KEYS", "crosslock:{*"}).items) {
    if (each.text.find(":fence:") == std::string::npos) server().say({"DEL", each.text});
  }
  EXPECT_TRUE(eyes.look("name").line.empty());
  EXPECT_TRUE(line_reaches(eyes, "name", 1));
  EXPECT_EQ(holder->say("release name"), "released");
  in_at(*waiter);
  EXPECT_EQ(waiter->say("release name"), "released");
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release name"), "released");
  judge();
}

TEST_F(redis_faults, F31_waiters_outlive_the_loss_of_their_wake_ups) {
  const client eyes = connect();
  for (const std::string harm : {"dropped", "killed", "buffer", "denied"}) {
    SCOPED_TRACE(harm);
    const auto holder = start("holder", long_lease);
    const auto waiter = start("waiter", long_lease);
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    waiter->send("acquire name 60000");
    EXPECT_TRUE(line_reaches(eyes, "name", 1));
    if (harm == "dropped") scene().drop_wake_ups(true);
    if (harm == "killed") server().say({"CLIENT", "KILL", "TYPE", "pubsub"});
    // Whoever is pushed to is thrown out.
    if (harm == "buffer") {
      server().say({"CONFIG", "SET", "client-output-buffer-limit", "pubsub 1 1 1"});
    }
    if (harm == "denied") server().say({"ACL", "SETUSER", "default", "resetchannels"});
    const time_point released = now();
    EXPECT_EQ(holder->say("release name"), "released");
    EXPECT_LE(in_at(*waiter) - released, look_cap);
    EXPECT_EQ(waiter->say("release name"), "released");
    scene().drop_wake_ups(false);
    server().say({"CONFIG", "SET", "client-output-buffer-limit", "pubsub 33554432 8388608 60"});
    server().say({"ACL", "SETUSER", "default", "allchannels"});
    EXPECT_EQ(waiter->say("loop name 20 0"), "done 20");
  }
  judge();
}

TEST_F(redis_faults, F31_news_come_again_after_the_wire_of_news_was_broken) {
  const client eyes = connect();
  const auto [holder, waiter, first] = holder_and_waiter(eyes, long_lease, long_lease);
  proxy::door& line = wire(*waiter);
  line.reset([](const proxy::connection_seen& each) { return each.subscription; });
  EXPECT_TRUE(eventually([&] {
    const auto all = line.connections();
    return std::any_of(all.begin(), all.end(), [](auto& each) { return each.subscription; });
  }));
  // It is subscribed when the server says so.
  EXPECT_TRUE(eventually([&] {
    return server().say({"PUBSUB", "CHANNELS", "crosslock:*"}).items.size() == 3;
  }));
  const auto pushed = line.add({.going = way::to_client, .matches = proxy::is_push()});
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_LE(in_at(*waiter) - released, stall);
  EXPECT_EQ(line.applied(pushed), 1U);
  EXPECT_EQ(waiter->say("release name"), "released");
  judge();
}

class redis_with_password : public redis_case {
 protected:
  redis_with_password() : redis_case{with_password()} {
    server().authenticate_with({"AUTH", "the-admin"});
    server().say({"ACL", "SETUSER", "anne", "on", ">" + secret, "~*", "&*", "+@all"});
  }
  static servers::redis_options with_password() {
    auto how = conformance::redis_scene::durable();
    how.settings.emplace_back("requirepass", "the-admin");
    return how;
  }
  std::string url(const std::string& password) {
    return "redis://anne:" + password + "@127.0.0.1:" + std::to_string(own_wire().port());
  }

  const std::string secret = "sesame-open";
};

TEST_F(redis_with_password, F33_rights_taken_away_amid_a_hold_end_it_in_time_and_tell_no_secret) {
  for (const std::string how : {"switched off", "another password", "no rights"}) {
    SCOPED_TRACE(how);
    server().say({"ACL", "SETUSER", "anne", "reset", "on", ">" + secret, "~*", "&*", "+@all"});
    ears listening;
    options settings = impatient(500ms);
    settings.lease = lease;
    settings.log = listening.log();
    const client locks = crosslock::connect(url(secret), settings);
    mutex lock{locks, "name"};
    const auto held = conformance::acquire(here(), lock, 5s);
    ASSERT_TRUE(held);
    note(fault::server_down);
    if (how == "switched off") server().say({"ACL", "SETUSER", "anne", "off"});
    if (how == "another password") {
      server().say({"ACL", "SETUSER", "anne", "resetpass", ">another-one"});
    }
    if (how == "no rights") server().say({"ACL", "SETUSER", "anne", "-@all"});
    // Redis asks for a password only at the beginning of a connection.
    if (how != "no rights") server().say({"CLIENT", "KILL", "USER", "anne"});
    const time_point taken = now();
    EXPECT_FALSE(held->work(5s));
    EXPECT_LE(held->told_at() - taken, lease);
    try {
      (void)lock.try_acquire();
      ADD_FAILURE() << "without rights";
    } catch (const error& why) {
      EXPECT_TRUE(why.which() == errc::denied || why.which() == errc::unreachable) << why.what();
      listening.heard.append(why.what());
    }
    held->release();
    note(fault::server_up);
    EXPECT_EQ(listening.heard.find("sesame"), std::string::npos) << listening.heard;
    // With the rights given back it goes on.
    server().say({"ACL", "SETUSER", "anne", "reset", "on", ">" + secret, "~*", "&*", "+@all"});
    EXPECT_TRUE(
        eventually([&] { return code_of([&] { (void)lock.try_acquire_for(1s); }) == errc{}; }));
  }
  try {
    (void)crosslock::connect(url("open-wide"), impatient(500ms));
    ADD_FAILURE() << "with a wrong password";
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::denied) << why.what();
    EXPECT_EQ(std::string{why.what()}.find("open-wide"), std::string::npos) << why.what();
  }
  judge();
}

}  // namespace
}  // namespace crosslock::faults
