// Upgrades, downgrades and watched cells on a real server: what stands at the keys, what other
// libraries find there, and what ends by itself.
#include "redis_engine_rig.hpp"

#include <thread>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;

class redis_upgrade : public testing::Test {
 protected:
  static seam::claim shared(duration lease = 30s) {
    seam::claim request = engine_rig::claim("stock");
    request.mode = claim_mode::shared;
    request.lease = lease;
    return request;
  }
  static seam::claim upgrade(const seam::claim& beside, bool wait = false, duration lease = 30s) {
    seam::claim request = engine_rig::claim("stock", wait);
    request.upgrade = true;
    request.beside = beside.owner;
    request.lease = lease;
    return request;
  }
  std::string at_name() { return server_.say({"GET", "stock"}).text; }
  std::size_t keys(const std::string& kind) {
    return server_.say({"KEYS", "crosslock:{*}:" + kind + ":*"}).items.size();
  }
  /// What another library does.
  bool foreigner_gets_in() {
    return server_.say({"SET", "stock", "theirs", "NX", "PX", "1000"}).text == "OK";
  }
  /// "s x": the modes of those who hold it, in the order of their fences.
  std::string modes() {
    std::string text;
    for (const claim_info& one :
         one_.engine->look(lock_name{"stock"}, engine_rig::soon()).holders) {
      text += one.mode == claim_mode::exclusive ? "x" : one.mode == claim_mode::shared ? "s" : "p";
    }
    return text;
  }
  bool becomes(const std::string& wanted) {
    const time_point end = engine_rig::soon();
    while (modes() != wanted && seam::real_clock().now() < end) std::this_thread::yield();
    return modes() == wanted;
  }
  seam::renewal::result share(const seam::grant& held) {
    seam::renewal item;
    item.held = held;
    item.lease = 30s;
    item.share = true;
    one_.engine->renew({&item, 1}, engine_rig::soon());
    return item.outcome;
  }
  seam::swap_answer write(engine_rig& from, std::uint64_t expected) {
    return from.engine->swap_cell({.name = std::make_shared<const lock_name>("cell"),
                                   .expected = expected,
                                   .value = "v",
                                   .writer = engine_rig::claim("x").owner},
                                  engine_rig::soon());
  }

  servers::redis_server server_;
  engine_rig one_{socket_url(server_)};
  engine_rig two_{socket_url(server_)};
};

TEST_F(redis_upgrade, both_stand_behind_the_mark_and_without_the_shared_one_it_is_a_plain_holder) {
  const seam::claim reader = shared();
  const auto old = one_.ask(reader).granted;
  const seam::claim writer = upgrade(reader);
  const auto granted = one_.ask(writer);
  ASSERT_EQ(granted.result, ask_result::granted);
  EXPECT_GT(granted.granted.first, old.last);
  EXPECT_EQ(at_name(), "crosslock:shared");
  EXPECT_FALSE(foreigner_gets_in());
  EXPECT_EQ(modes(), "sx");
  EXPECT_EQ(two_.ask(shared()).result, ask_result::busy);
  EXPECT_TRUE(one_.give_back(old));
  EXPECT_TRUE(at_name().starts_with(writer.owner.to_string() + ':')) << at_name();
  EXPECT_EQ(keys("in"), 0U);
  EXPECT_EQ(modes(), "x");
  EXPECT_TRUE(one_.give_back(granted.granted));
  EXPECT_FALSE(one_.give_back(granted.granted));
  EXPECT_TRUE(foreigner_gets_in());
}

TEST_F(redis_upgrade, an_exclusive_grant_that_ends_leaves_the_shared_one_and_foreigners_out) {
  const seam::claim reader = shared();
  const auto old = one_.ask(reader).granted;
  const auto granted = one_.ask(upgrade(reader, false, 200ms));
  ASSERT_EQ(granted.result, ask_result::granted);
  EXPECT_TRUE(becomes("s"));
  EXPECT_FALSE(foreigner_gets_in());
  EXPECT_FALSE(one_.give_back(granted.granted));
  EXPECT_EQ(two_.ask(shared()).result, ask_result::granted);
  EXPECT_TRUE(one_.give_back(old));
}

TEST_F(redis_upgrade, a_shared_grant_that_ends_leaves_the_exclusive_one) {
  const seam::claim reader = shared(200ms);
  one_.ask(reader);
  const auto granted = one_.ask(upgrade(reader));
  ASSERT_EQ(granted.result, ask_result::granted);
  EXPECT_TRUE(becomes("x"));
  EXPECT_EQ(two_.ask(shared()).result, ask_result::busy);
  EXPECT_FALSE(foreigner_gets_in());
  seam::renewal item;
  item.held = granted.granted;
  item.lease = 30s;
  one_.engine->renew({&item, 1}, engine_rig::soon());
  EXPECT_EQ(item.outcome, seam::renewal::result::renewed);
  EXPECT_TRUE(one_.give_back(granted.granted));
  EXPECT_EQ(at_name(), "");
}

TEST_F(redis_upgrade, the_last_other_reader_hands_over_and_its_client_hears_it) {
  const seam::claim reader = shared();
  one_.ask(reader);
  const auto other = two_.ask(shared()).granted;
  const seam::claim writer = upgrade(reader, true);
  EXPECT_EQ(one_.ask(writer).result, ask_result::in_line);
  EXPECT_TRUE(two_.give_back(other));
  const auto pushed = one_.events.await_grant(writer.owner, 5s);
  ASSERT_TRUE(pushed);
  EXPECT_TRUE(pushed->offer);
  EXPECT_EQ(modes(), "sx");
  one_.engine->withdraw(writer, engine_rig::soon());
  EXPECT_EQ(modes(), "s");
  EXPECT_EQ(keys("line") + keys("wait"), 0U);
}

TEST_F(redis_upgrade, the_second_of_two_is_refused_by_name) {
  const seam::claim first = shared();
  const seam::claim second = shared();
  one_.ask(first);
  two_.ask(second);
  EXPECT_EQ(one_.ask(upgrade(first, true)).result, ask_result::in_line);
  expect_error(errc::upgrade_conflict,
               "another exclusive claim on 'stock' was first; release the shared hold",
               [&] { two_.ask(upgrade(second, true)); });
  EXPECT_EQ(modes(), "ss");
}

TEST_F(redis_upgrade, a_downgrade_puts_the_mark_in_the_place_of_the_holder) {
  const auto held = one_.take("stock");
  seam::claim waiting = shared();
  waiting.wait = true;
  EXPECT_EQ(two_.ask(waiting).result, ask_result::in_line);
  seam::grant wrong = held;
  wrong.owner = waiting.owner;
  EXPECT_EQ(share(wrong), seam::renewal::result::lost);
  EXPECT_EQ(share(held), seam::renewal::result::renewed);
  EXPECT_TRUE(two_.events.await_grant(waiting.owner, 5s));
  EXPECT_EQ(at_name(), "crosslock:shared");
  EXPECT_FALSE(foreigner_gets_in());
  EXPECT_EQ(modes(), "ss");
  EXPECT_EQ(share(held), seam::renewal::result::renewed) << "once more changes nothing";
  two_.engine->withdraw(waiting, engine_rig::soon());
  EXPECT_TRUE(one_.give_back(held));
  EXPECT_EQ(server_.say({"KEYS", "*"}).items.size(), 2U) << "the fence, and the index of names";
}

TEST_F(redis_upgrade, a_downgrade_never_shortens_what_was_promised) {
  const auto held = one_.take("stock");
  seam::renewal item;
  item.held = held;
  item.lease = 1s;
  item.share = true;
  one_.engine->renew({&item, 1}, engine_rig::soon());
  EXPECT_EQ(item.outcome, seam::renewal::result::renewed);
  const auto info = one_.engine->look(lock_name{"stock"}, engine_rig::soon());
  EXPECT_GT(info.holders.at(0).lease_left, 25s);
  EXPECT_EQ(info.holders.at(0).fence, held.first);
  EXPECT_EQ(info.holders.at(0).who, "a test");
}

TEST_F(redis_upgrade, a_downgrade_with_a_lease_of_zero_leaves_what_is_left_of_it) {
  seam::renewal fixed;
  fixed.held = one_.take("stock");
  fixed.share = true;
  one_.engine->renew({&fixed, 1}, engine_rig::soon());
  EXPECT_EQ(fixed.outcome, seam::renewal::result::renewed);
  const auto info = one_.engine->look(lock_name{"stock"}, engine_rig::soon());
  EXPECT_EQ(info.holders.at(0).mode, claim_mode::shared);
  EXPECT_GT(info.holders.at(0).lease_left, 20s);
  EXPECT_LE(info.holders.at(0).lease_left, 30s);
  one_.engine->renew({&fixed, 1}, engine_rig::soon());
  EXPECT_EQ(fixed.outcome, seam::renewal::result::renewed) << "once more";
}

TEST_F(redis_upgrade, a_semaphore_of_another_number_names_both) {
  seam::claim permit = engine_rig::claim("pool");
  permit.mode = claim_mode::permit;
  permit.of = 3;
  EXPECT_EQ(one_.ask(permit).result, ask_result::granted);
  permit = engine_rig::claim("pool");
  permit.mode = claim_mode::permit;
  permit.of = 5;
  expect_error(errc::conflict, "'pool' is a semaphore of 3 permits, not of 5",
               [&] { two_.ask(permit); });
}

TEST_F(redis_upgrade, a_watched_cell_is_told_once_and_nothing_of_it_stays) {
  EXPECT_TRUE(one_.engine->about().watches_cells);
  const lock_name cell{"cell"};
  EXPECT_EQ(one_.engine->watch_cell(cell, 60s, engine_rig::soon()), seam::cell{});
  EXPECT_EQ(keys("watch"), 1U);
  const auto first = write(two_, 0);
  EXPECT_TRUE(one_.events.await_cell("cell", 1, 5s));
  EXPECT_EQ(keys("watch"), 0U);
  const auto read = one_.engine->watch_cell(cell, 60s, engine_rig::soon());
  EXPECT_EQ(read.version, first.now.version);
  EXPECT_EQ(read.value, "v");
  EXPECT_EQ(write(two_, 0).outcome, seam::swap_answer::result::changed);
  EXPECT_EQ(keys("watch"), 1U) << "nothing has changed";
  write(one_, read.version);
  EXPECT_TRUE(one_.events.await_cell("cell", 2, 5s)) << "its own writes are told too";
}

TEST_F(redis_upgrade, a_watch_ends_with_its_span_or_with_its_client) {
  const lock_name cell{"cell"};
  one_.engine->watch_cell(cell, 300ms, engine_rig::soon());
  const time_point end = engine_rig::soon();
  while (keys("watch") > 0 && seam::real_clock().now() < end) std::this_thread::yield();
  EXPECT_EQ(keys("watch"), 0U);
  {
    engine_rig brief{socket_url(server_)};
    brief.engine->watch_cell(cell, 60s, engine_rig::soon());
    EXPECT_EQ(keys("watch"), 1U);
  }
  EXPECT_EQ(keys("watch"), 0U);
}

TEST_F(redis_upgrade, who_was_cut_off_hears_that_what_it_watches_may_have_changed) {
  one_.engine->watch_cell(lock_name{"cell"}, 60s, engine_rig::soon());
  server_.say({"CLIENT", "KILL", "TYPE", "pubsub"});
  EXPECT_TRUE(one_.events.await_cell("cell", 1, 5s));
}

}  // namespace
}  // namespace crosslock::redis
