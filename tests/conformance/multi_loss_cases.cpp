// Several locks as one: one loss is the loss of all, and a release that fails holds up no other.
#include "conformance/fixture.hpp"

#include <atomic>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(multi_loss);

bool take_away(const client& by, const std::string& name) {
  return by.break_lock(name, by.look(name).holders.at(0).owner);
}

TEST_P(multi_loss, one_that_is_lost_is_told_for_all) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    multi_lock three{locks, {"b", "a", "c"}};
    auto held = three.acquire();
    std::atomic<int> told{0};
    const std::stop_callback on_loss{held.lost(), [&] { ++told; }};
    EXPECT_TRUE(take_away(other, "b"));
    EXPECT_TRUE(eventually([&] { return told == 1; }));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.lost_reason(), loss_reason::broken);
    EXPECT_EQ(code_of([&] { held.check(); }), errc::lost);
    EXPECT_TRUE(take_away(other, "c"));
    EXPECT_TRUE(eventually([&] { return other.look("c").holders.empty(); }));
    // The last one is still ours, until we let go.
    EXPECT_EQ(other.look("a").holders.size(), 1U);
    EXPECT_EQ(held.release(), release_result::lost);
    EXPECT_EQ(held.release_results().at(0), release_result::lost);
    EXPECT_EQ(held.release_results().at(1), release_result::released);
    EXPECT_EQ(told, 1);
  });
}

TEST_P(multi_loss, a_fixed_lease_ends_them_all) {
  play([this] {
    const client locks = stage().connect();
    multi_lock both{locks, {"a", "b"}};
    auto held = both.acquire({.lease = lease()});
    EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 2 * lease() + 5s));
    EXPECT_EQ(held.lost_reason(), loss_reason::lease_ended);
    EXPECT_FALSE(held.valid());
  });
}

TEST_P(multi_loss, one_that_is_lost_while_the_rest_is_waited_for_ends_the_wait) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    const auto theirs = mutex{other, "b"}.acquire();
    multi_lock both{locks, {"a", "b"}};
    {
      thread_group threads{stage().clock()};
      threads.start(
          [&] { EXPECT_EQ(code_of([&] { static_cast<void>(both.acquire()); }), errc::lost); });
      EXPECT_TRUE(line_reaches(other, "b", 1));
      EXPECT_TRUE(take_away(other, "a"));
    }
    EXPECT_TRUE(line_reaches(other, "b", 0));

    std::atomic<bool> failed{false};
    both.acquire_async(
        [&](const multi_acquire_result& result) { failed = !result.hold && result.failure; });
    EXPECT_TRUE(line_reaches(other, "b", 1));
    EXPECT_TRUE(take_away(other, "a"));
    EXPECT_TRUE(eventually([&] { return failed.load(); }));
    EXPECT_TRUE(line_reaches(other, "b", 0));
  });
}

TEST_P(multi_loss, a_listener_may_let_go_of_everything) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    auto held = std::make_unique<multi_hold>(multi_lock{locks, {"a", "b"}}.acquire());
    std::atomic<bool> gone{false};
    std::optional<std::stop_callback<std::function<void()>>> on_loss;
    on_loss.emplace(held->lost(), [&] {
      held.reset();
      gone = true;
    });
    EXPECT_TRUE(take_away(other, "a"));
    EXPECT_TRUE(eventually([&] { return gone.load(); }));
    EXPECT_TRUE(other.look("b").holders.empty());
  });
}

TEST_P(multi_loss, a_release_that_gets_no_answer_holds_up_no_other) {
  play({ability::server_faults}, [this] {
    options how;
    how.timeout = 200ms;
    how.lease = lease();
    const client locks = stage().connect(how);
    const client other = stage().connect();
    multi_lock three{locks, {"a", "b", "c"}};
    auto held = three.acquire();
    stage().lose_next_answer(observer::verb::release);
    EXPECT_EQ(held.release(), release_result::unknown);
    const auto& each = held.release_results();
    ASSERT_EQ(each.size(), 3U);
    // The last that was taken is released first: its answer is the lost one.
    EXPECT_EQ(each[2], release_result::unknown);
    if (!stage().traits().lease_is_session) {  // there all of them share one connection
      EXPECT_EQ(each[1], release_result::released);
      EXPECT_EQ(each[0], release_result::released);
    }
    for (const char* name : {"a", "b", "c"}) {
      EXPECT_TRUE(mutex(other, name).try_acquire_for(2 * lease() + 20s)) << name;
    }
  });
}

TEST_P(multi_loss, a_closed_client_ends_them_all) {
  play([this] {
    const client locks = stage().connect();
    const client closing = stage().connect();
    auto held = multi_lock{{locks, "a"}, {closing, "b"}}.acquire();
    closing.close();
    EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
    EXPECT_EQ(held.lost_reason(), loss_reason::closed);
    EXPECT_EQ(held.release(), release_result::lost);
    EXPECT_TRUE(locks.look("a").holders.empty());
  });
}

}  // namespace
}  // namespace crosslock::conformance
