// Too many waiters, names and clients, and too few rights.
#include "faults/suites.hpp"

#include <algorithm>
#include <mutex>

namespace crosslock::faults {
namespace {

TEST_P(crowd_faults, F32_thousands_of_waiters_are_served_in_order_and_without_a_herd) {
  constexpr std::size_t clients = 64;
  const auto plan = stage().crowd();
  const client viewer = connect(plan.with_lease, {});
  mutex first{viewer, "name"};
  auto held = first.acquire();
  const std::int64_t memory = resident_bytes();
  std::mutex guard;
  std::vector<std::size_t> order;  // which client was served
  options how;
  how.strict_fifo = true;  // everybody stands in the line of the server
  if (plan.look_every > duration{}) how.look_every = plan.look_every;
  std::vector<std::unique_ptr<mutex>> locks;
  for (std::size_t i = 0; i < clients; ++i) {
    locks.push_back(std::make_unique<mutex>(connect(plan.with_lease, how), "name"));
    for (std::size_t k = 0; k < plan.waiters / clients; ++k) {
      locks[i]->acquire_async([&, i](acquire_result result) {
        const std::lock_guard locked{guard};
        if (result.hold) order.push_back(i);
      });
    }
    EXPECT_TRUE(eventually([&] {
      sleep_for_real(10ms);
      return stage().line_length(viewer, "name") == (i + 1) * plan.waiters / clients;
    }));
  }
  stage().expect_refusal(viewer, *locks[0]);
  EXPECT_TRUE(sanitized || resident_bytes() - memory < (256 << 20));
  const std::uint64_t before = stage().effort();
  const time_point released = now();
  held.release();
  const auto served = [&] {
    const std::lock_guard locked{guard};
    return order.size();
  };
  EXPECT_TRUE(eventually([&] { return served() == plan.waiters; }, 120s));
  // One release serves one waiter: no herd.
  EXPECT_LE(stage().effort() - before, stage().effort_for(plan.waiters, now() - released));
  const std::lock_guard locked{guard};
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(crowd_faults, F32_fifty_thousand_names_leave_nothing_behind_that_grows) {
  const client locks = connect(stage().crowd().with_lease, {});
  const std::int64_t memory = resident_bytes();
  for (int i = 0; i < 50'000; ++i) {
    mutex lock{locks, "name/" + std::to_string(i)};
    const hold held = lock.acquire();
    EXPECT_GT(held.fence(), fence{});
  }
  EXPECT_TRUE(locks.list().empty());
  EXPECT_TRUE(sanitized || resident_bytes() - memory < (64 << 20));
  stage().expect_little_is_stored();
}

TEST_P(room_faults, F21_without_room_for_another_client_there_is_an_error_and_others_go_on) {
  const auto holder = start("holder", bounds().brief);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  stage().leave_no_room();
  const time_point asked = now();
  try {
    (void)stage().connect(impatient(500ms));
    ADD_FAILURE() << "there is no room";
  } catch (const error& why) {
    EXPECT_TRUE(stage().tells_no_room(why)) << why.what();
    EXPECT_TRUE(why.retryable());
  }
  EXPECT_LE(now() - asked, 500ms + stall);
  EXPECT_EQ(holder->say("work name 2000"), "held");
  EXPECT_EQ(holder->say("release name"), "released");
  stage().make_room();
  take_and_release("name");
  judge();
}

TEST_P(rights_faults, F33_rights_taken_away_amid_a_hold_end_it_in_time_and_tell_no_secret) {
  const std::string secret = "sesame-open";
  for (const stage::deprivation& how : stage().deprivations(secret)) {
    SCOPED_TRACE(how.name);
    ears listening;
    options settings = impatient(500ms);
    settings.lease = bounds().brief;
    settings.log = listening.log();
    const client locks = crosslock::connect(stage().url_with(secret), settings);
    mutex lock{locks, "name"};
    const auto held = conformance::acquire(here(), lock, 5s);
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->held().valid());
    note(checker::fault::server_down);
    how.begin();
    const time_point taken = now();
    EXPECT_FALSE(held->work(5s));
    EXPECT_LE(held->told_at() - taken, bounds().brief);
    std::string said;
    try {
      (void)lock.try_acquire();
      ADD_FAILURE() << "nobody may do that any more";
    } catch (const error& why) {
      said = why.what();
      EXPECT_TRUE(stage().tells_no_rights(why.which())) << said;
    }
    EXPECT_EQ(held->release(), release_result::lost);
    note(checker::fault::server_up);
    {
      const std::lock_guard guard{listening.mutex};
      EXPECT_EQ((said + listening.heard).find("sesame"), std::string::npos)
          << said << listening.heard;
    }
    // With the rights given back it goes on.
    how.end();
    EXPECT_TRUE(
        eventually([&] { return code_of([&] { (void)lock.try_acquire_for(1s); }) == errc{}; }));
  }
  judge();
}

}  // namespace
}  // namespace crosslock::faults
