// Keys that others overwrite, wake-ups that come again, passwords.
#include "faults/redis_case.hpp"

#include <algorithm>

namespace crosslock::faults {
namespace {

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

TEST_F(redis_faults, F31_news_come_again_after_the_wire_of_news_was_broken) {
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, long_lease, long_lease);
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
    server().say({"ACL", "SETUSER", "anne", "on", ">sesame-open", "~*", "&*", "+@all"});
  }
  static servers::redis_options with_password() {
    auto how = conformance::redis_testbed::durable();
    how.settings.emplace_back("requirepass", "the-admin");
    return how;
  }
};

TEST_F(redis_with_password, F33_a_wrong_password_is_denied_and_stands_in_no_text) {
  const std::string port = std::to_string(own_wire().port());
  try {
    (void)crosslock::connect("redis://anne:open-wide@127.0.0.1:" + port, impatient(500ms));
    ADD_FAILURE() << "with a wrong password";
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::denied) << why.what();
    EXPECT_EQ(std::string{why.what()}.find("open-wide"), std::string::npos) << why.what();
  }
  (void)crosslock::connect("redis://anne:sesame-open@127.0.0.1:" + port, impatient(500ms));
}

}  // namespace
}  // namespace crosslock::faults
