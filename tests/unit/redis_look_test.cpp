// A look reads and never writes, and shows what serving the line would give; and whoever hears that
// others wait hears of those who live.
#include "redis_engine_rig.hpp"

#include "engines/redis/protocol.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;
using servers::redis_server;

class redis_look : public testing::Test {
 protected:
  lock_info look() { return one_.engine->look(name_, engine_rig::soon()); }
  std::int64_t changes() { return server_.info("persistence", "rdb_changes_since_last_save"); }
  std::string digest() { return server_.say({"DEBUG", "DIGEST"}).text; }

  seam::claim in_line(engine_rig& of, claim_mode mode = claim_mode::exclusive) {
    seam::claim made = engine_rig::claim("a", true);
    made.mode = mode;
    EXPECT_EQ(of.ask(made).result, ask_result::in_line);
    return made;
  }
  /// As if it had come so long ago, and had not refreshed its place since.
  void make_older(const seam::claim& waiter, std::chrono::milliseconds by) {
    const std::string line = side_key("line", "a");
    const auto members = server_.say({"ZRANGE", line, "0", "-1"});
    for (const auto& each : members.items) {
      if (!each.text.starts_with(waiter.owner.to_string())) continue;
      const std::string less = std::to_string(-1000 * by.count());
      (void)server_.say({"ZINCRBY", line, less, each.text});
    }
  }
  bool renewal_says_wanted(const seam::grant& held) {
    seam::renewal one{.held = held, .lease = 30s};
    one_.engine->renew({&one, 1}, engine_rig::soon());
    EXPECT_EQ(one.outcome, seam::renewal::result::renewed);
    return one.wanted;
  }

  const lock_name name_{"a"};
  redis_server server_{{.settings = {{"enable-debug-command", "yes"}}}};
  engine_rig one_{socket_url(server_)};
  engine_rig other_{socket_url(server_)};
};

TEST_F(redis_look, shows_who_goes_in_next_and_leaves_everything_as_it_was) {
  const seam::grant held = one_.take("a");
  const seam::claim next = in_line(other_);
  const seam::claim last = in_line(other_);
  (void)server_.say({"DEL", "a"});  // as if the lease had ended
  const std::string before = digest();
  const std::int64_t count = changes();
  const lock_info seen = look();
  ASSERT_EQ(seen.holders.size(), 1U);
  EXPECT_EQ(seen.holders[0].owner, next.owner);
  EXPECT_GT(seen.holders[0].fence, held.last);
  EXPECT_EQ(seen.holders[0].lease_left, 3s);  // an offer
  ASSERT_EQ(seen.line.size(), 1U);
  EXPECT_EQ(seen.line[0].owner, last.owner);
  EXPECT_EQ(one_.engine->list("a", engine_rig::soon()).size(), 1U);
  EXPECT_EQ(before, digest());
  EXPECT_EQ(count, changes());
  // Nobody was told, and the name is still to be had.
  const seam::answer got = other_.ask(next);
  ASSERT_EQ(got.result, ask_result::granted);
  EXPECT_GE(got.granted.first, seen.holders[0].fence);
}

TEST_F(redis_look, leaves_one_who_is_alone_with_what_it_shares_where_it_is) {
  seam::claim reader = engine_rig::claim("a");
  reader.mode = claim_mode::shared;
  ASSERT_EQ(one_.ask(reader).result, ask_result::granted);
  const std::string before = digest();
  const lock_info seen = look();
  ASSERT_EQ(seen.holders.size(), 1U);
  EXPECT_EQ(seen.holders[0].mode, claim_mode::shared);
  EXPECT_TRUE(mentions(seen.holders[0].who, "a test")) << seen.holders[0].who;
  EXPECT_EQ(before, digest());
}

TEST_F(redis_look, lets_nobody_in_whom_a_release_would_pass_over) {
  (void)one_.take("a");
  const seam::claim next = in_line(other_);
  (void)server_.say({"DEL", "a"});
  other_.engine->close();
  const lock_info seen = look();
  EXPECT_TRUE(seen.holders.empty());
  ASSERT_EQ(seen.line.size(), 1U);
  EXPECT_EQ(seen.line[0].owner, next.owner);
}

TEST_F(redis_look, what_it_shows_can_be_broken) {
  (void)one_.take("a");
  const seam::claim next = in_line(other_);
  (void)server_.say({"DEL", "a"});
  ASSERT_EQ(look().holders.at(0).owner, next.owner);
  EXPECT_TRUE(one_.engine->break_lock(name_, next.owner, engine_rig::soon()));
  EXPECT_TRUE(look().holders.empty());
}

TEST_F(redis_look, a_renewal_hears_of_living_waiters_only_and_of_the_next_one_again) {
  const seam::grant held = one_.take("a");
  const seam::claim dead = in_line(other_);
  ASSERT_TRUE(one_.events.await_wanted(held.owner, 5s));
  EXPECT_TRUE(renewal_says_wanted(held));
  make_older(dead, 10s);
  EXPECT_FALSE(renewal_says_wanted(held));
  EXPECT_TRUE(look().line.empty());
  (void)in_line(other_);
  EXPECT_TRUE(one_.events.await_wanted(held.owner, 5s, 2));
  EXPECT_TRUE(renewal_says_wanted(held));
}

// The place of the second lasts for 10 ms, that of the first for 3 s.
TEST_F(redis_look, whoever_is_handed_the_lock_hears_of_living_waiters_only) {
  const seam::grant held = one_.take("a");
  const seam::claim next = in_line(other_);
  seam::claim dead = engine_rig::claim("a", true);
  dead.lease = 10ms;
  ASSERT_EQ(other_.ask(dead).result, ask_result::in_line);
  std::this_thread::sleep_for(20ms);
  ASSERT_TRUE(one_.give_back(held));
  const auto got = other_.events.await_grant(next.owner, 5s);
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->wanted);
  EXPECT_EQ(server_.say({"EXISTS", side_key("line", "a")}).text, "0");
}

TEST_F(redis_look, readers_let_in_together_do_not_take_each_other_for_waiters) {
  const seam::grant held = one_.take("a");
  const seam::claim first = in_line(other_, claim_mode::shared);
  const seam::claim second = in_line(other_, claim_mode::shared);
  ASSERT_TRUE(one_.give_back(held));
  for (const seam::claim& each : {first, second}) {
    const auto got = other_.events.await_grant(each.owner, 5s);
    ASSERT_TRUE(got);
    EXPECT_FALSE(got->wanted);
  }
}

// Otherwise whoever comes next would think that the holder knows already.
TEST_F(redis_look, an_ask_of_the_holder_takes_off_the_mark_of_one_who_waits_no_more) {
  seam::claim mine = engine_rig::claim("a");
  ASSERT_EQ(one_.ask(mine).result, ask_result::granted);
  const seam::claim gone = in_line(other_);
  ASSERT_TRUE(server_.say({"GET", "a"}).text.ends_with(":w"));
  make_older(gone, 1h);
  const seam::answer again = one_.ask(mine);
  ASSERT_EQ(again.result, ask_result::granted);
  EXPECT_FALSE(again.granted.wanted);
  EXPECT_FALSE(server_.say({"GET", "a"}).text.ends_with(":w"));
  const seam::claim next = in_line(other_);
  EXPECT_TRUE(one_.events.await_wanted(mine.owner, 5s, 2));
}

}  // namespace
}  // namespace crosslock::redis
