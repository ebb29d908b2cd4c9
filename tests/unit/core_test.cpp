// What becomes of a client when memory and threads run out, or the server is silent.
#include "failing_memory.hpp"
#include "scripted_engine.hpp"
#include "world/world.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <string_view>
#include <thread>
#include <vector>

namespace crosslock::inner {
namespace {

using namespace std::chrono_literals;
using unit::out_of_memory;

/// The real clock, but there are no threads of one name.
class poor_clock final : public seam::clock {
 public:
  explicit poor_clock(std::string_view refused) : refused_{refused} {}

  time_point now() const noexcept override { return real_.now(); }
  void park(seam::park_word& word, std::uint32_t expected, time_point until) override {
    real_.park(word, expected, until);
  }
  void unpark(seam::park_word& word) noexcept override { real_.unpark(word); }
  std::unique_ptr<seam::alarm> make_alarm() override { return real_.make_alarm(); }
  std::unique_ptr<seam::thread> start(std::string_view name, std::function<void()> body) override {
    if (name == refused_ && poor) {
      ++refusals;
      throw error{errc::unsupported, "no thread is to be had"};
    }
    return real_.start(name, std::move(body));
  }
  void fill_random(std::span<std::uint8_t> bytes) override { real_.fill_random(bytes); }

  std::atomic<bool> poor{true};
  std::atomic<int> refusals{0};

 private:
  seam::clock& real_ = seam::real_clock();
  const std::string_view refused_;
};

TEST(core, news_from_the_engine_need_no_memory) {
  const auto script = std::make_shared<engine_script>();
  std::promise<seam::claim> asked;
  std::atomic<int> asks{0};
  script->ask = [&](const seam::claim& claim, time_point) {
    if (++asks > 1) return scripted_engine::granted(claim, boot_clock::now());
    asked.set_value(claim);
    seam::answer in_line;
    in_line.result = seam::ask_result::in_line;
    in_line.look_after = 1h;
    return in_line;
  };
  settings chosen;
  chosen.look_every = 1h;
  const auto tested = scripted_engine::connect(script, seam::real_clock(), chosen);
  {
    const client locks{tested};
    auto waiting = std::async(std::launch::async, [&] {
      mutex lock{locks, "name"};
      return lock.try_acquire_for(20s).has_value();
    });
    const seam::claim claim = asked.get_future().get();
    // Whoever has not rested yet looks before it does: the news cannot come too early.
    {
      const out_of_memory now;
      tested->wanted({*claim.name, claim.owner});
      tested->look_again({*claim.name, claim.owner});
      EXPECT_EQ(now.refused(), 0);
    }
    EXPECT_TRUE(waiting.get());
  }
  EXPECT_EQ(asks, 2);
}

// Whoever ends a grant takes the next in line along: that one must hear of it, whatever happens.
TEST(core, a_release_without_memory_leaves_nobody_asleep) {
  const auto script = std::make_shared<engine_script>();
  script->ask = [](const seam::claim& claim, time_point) {
    return scripted_engine::granted(claim, boot_clock::now());
  };
  const auto tested = scripted_engine::connect(script, seam::real_clock());
  const client locks{tested};
  mutex lock{locks, "name"};
  bool ended = false;
  std::int64_t refused = 0;
  // On a thread of its own, which has no memory on its shelf.
  std::thread{[&] {
    auto held = lock.acquire();
    const std::stop_token wanted = held.wanted();
    auto next = std::async(std::launch::async, [&] {
      // With a lease of its own it is not passed on, but claims for itself.
      try {
        return lock.try_acquire_for(20s, 10s).has_value();
      } catch (const std::bad_alloc&) {
        return true;
      }
    });
    while (!wanted.stop_requested()) std::this_thread::yield();
    {
      const out_of_memory now;
      held.release();
      refused = now.refused();
    }
    ended = next.get();
  }}.join();
  EXPECT_TRUE(ended);
  EXPECT_GT(refused, 0) << "there was enough";
}

TEST(core, a_client_that_no_thread_can_end_stays_as_it_is) {
  const auto script = std::make_shared<engine_script>();
  std::promise<void> closed;
  script->closed = [&] { closed.set_value(); };
  poor_clock clock{"crosslock-end"};
  auto tested = scripted_engine::connect(script, clock);
  core* const kept = tested.get();
  script->on_own_thread = true;
  tested.reset();
  EXPECT_EQ(clock.refusals, 1);
  auto ended = closed.get_future();
  EXPECT_EQ(ended.wait_for(0s), std::future_status::timeout);
  script->on_own_thread = false;
  kept->check_usable();
  delete kept;
  ended.get();
}

TEST(core, one_that_an_event_has_dropped_last_ends_on_a_thread_of_its_own) {
  const auto script = std::make_shared<engine_script>();
  // Owned by the engine, too: it ends later than this test, perhaps.
  const auto closed = std::make_shared<std::promise<std::thread::id>>();
  script->closed = [closed] { closed->set_value(std::this_thread::get_id()); };
  auto tested = scripted_engine::connect(script, seam::real_clock());
  script->on_own_thread = true;
  tested.reset();
  EXPECT_NE(closed->get_future().get(), std::this_thread::get_id());
}

TEST(core, a_cancelled_claim_whose_outcome_nobody_knows_is_withdrawn) {
  const auto script = std::make_shared<engine_script>();
  std::promise<owner_id> withdrawn;
  std::atomic<int> withdrawals{0};
  script->withdraw = [&](const seam::claim& claim) {
    if (++withdrawals == 1) withdrawn.set_value(claim.owner);
  };
  const auto tested = scripted_engine::connect(script, seam::real_clock());
  const lock_name name{"name"};
  const owner_id known = tested->draw_owner();
  const owner_id unknown = tested->draw_owner();
  tested->failed({name, known}, error{errc::denied, "refused"});
  tested->failed(
      {name, unknown},
      error{errc::timed_out, "silent", {.engine = {}, .native_code = 0, .outcome_unknown = true}});
  EXPECT_EQ(withdrawn.get_future().get(), unknown);
  EXPECT_EQ(withdrawals, 1);
}

TEST(core, all_who_wait_behind_one_outage_give_up_together) {
  world::world world{20261118};
  world.run([&] {
    seam::clock& clock = world.test();
    const auto script = std::make_shared<engine_script>();
    int asks = 0;
    script->ask = [&](const seam::claim&, time_point give_up) -> seam::answer {
      ++asks;
      seam::rest(clock, give_up);
      throw error{
          errc::timed_out, "silent", {.engine = {}, .native_code = 0, .outcome_unknown = true}};
    };
    settings chosen;
    chosen.lease = 10s;
    chosen.timeout = 2s;
    const client locks{scripted_engine::connect(script, clock, chosen)};
    mutex lock{locks, "name"};
    const time_point began = world.now();
    std::vector<time_point> failed;
    std::vector<std::unique_ptr<seam::thread>> threads;
    for (int i = 0; i < 20; ++i) {
      threads.push_back(clock.start("waits", [&] {
        try {
          (void)lock.acquire();
        } catch (const error& why) {
          EXPECT_EQ(why.which(), errc::timed_out);
          failed.push_back(world.now());
        }
      }));
    }
    // One who comes later endures a lease of its own.
    world.sleep(8s);
    threads.push_back(clock.start("late", [&] {
      EXPECT_THROW((void)lock.acquire(), error);
      EXPECT_GE(world.now(), began + 18s);
      EXPECT_LE(world.now(), began + 24s);
    }));
    for (const auto& each : threads) each->join();
    ASSERT_EQ(failed.size(), 20U);
    const auto [first, last] = std::minmax_element(failed.begin(), failed.end());
    EXPECT_GE(*first - began, 10s);
    EXPECT_EQ(*first, *last);
    EXPECT_LE(asks, 12);
  });
}

}  // namespace
}  // namespace crosslock::inner
