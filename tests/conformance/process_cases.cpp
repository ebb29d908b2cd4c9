// Processes that die, freeze, are cut off, or starve.
#include "conformance/fixture.hpp"

#include <algorithm>
#include <atomic>
#include <sstream>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class process : public conformance_case {
 protected:
  struct notice {
    int times = 0;
    time_point when{};
    std::string why;
  };
  static notice ask_notice(actor& whom, const std::string& name) {
    std::istringstream words{whom.say("told " + name)};
    notice told;
    std::int64_t when = 0;
    words >> told.times >> when >> told.why;
    told.when = time_point{duration{when}};
    return told;
  }

  /// Somebody holds, `next` waits, the case's own client waits behind it, something happens to
  /// `next`, and then the name is released.
  void the_next_waiter_falls_out(const std::function<void(actor&)>& happens) {
    const client locks = stage().connect();
    const client behind = stage().connect();
    const duration lease = locks.lease();
    const auto next = stage().start_process("next", lease);
    mutex held{locks, "name"};
    mutex lock{behind, "name"};
    auto first = held.acquire();
    next->send("acquire name 1000000");
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    std::atomic<time_point> in{time_point{}};
    thread_group threads{stage().clock()};
    threads.start([&] {
      const auto mine = acquire(of(stage()), lock, 10min);
      in = stage().now();
      EXPECT_TRUE(mine && mine->work(1s));
    });
    EXPECT_TRUE(line_reaches(locks, "name", 2));
    happens(*next);
    const time_point released = stage().now();
    first.release();
    threads.join();
    EXPECT_GE(in.load(), released);
    EXPECT_LE(in.load() - released, stage().frozen_waiter_bound(lease));
    auto how = stage().strictness();
    // Where there are no offers its place lasts as long as its session.
    if (stage().traits().lease_is_session) how.calm_bound = stage().frozen_waiter_bound(lease);
    judge(how);
  }
};
CONFORMANCE_ON_EVERY_STAGE(process);

TEST_P(process, the_next_is_in_within_the_lease_of_a_killed_holder) {
  play({ability::processes}, [this] {
    for (int round = 0; round < 5; ++round) {
      const auto holder = stage().start_process("holder", lease());
      const client locks = stage().connect();
      mutex lock{locks, "name"};
      EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
      holder->send("work name 20000");
      stage().sleep(lease() / 2 + round * lease() / 7);
      holder->kill();
      const time_point killed = stage().now();
      const auto held = acquire(of(stage()), lock, 20s);
      ASSERT_TRUE(held);
      EXPECT_LE(stage().now() - killed, lease() + stage().bounds().after_lease);
      EXPECT_EQ(holder->answer(), "dead");
    }
    judge();
  });
}

TEST_P(process, a_dead_holder_is_replaced_as_soon_as_promised) {
  play({ability::processes}, [this] {
    const auto seen_within = stage().bounds().dead_holder;
    const duration held_for = seen_within ? 30s : lease();
    const duration limit = seen_within ? *seen_within : held_for + stage().bounds().after_lease;
    for (const bool waiting_already : {true, false, true, false}) {
      const auto holder = stage().start_process("holder", held_for);
      const client locks = stage().connect();
      mutex lock{locks, "name"};
      EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
      std::atomic<time_point> in{time_point{}};
      const auto take = [&] {
        const auto mine = acquire(of(stage()), lock, 60s);
        in = stage().now();
        EXPECT_TRUE(mine);
      };
      thread_group threads{stage().clock()};
      if (waiting_already) {
        threads.start(take);
        EXPECT_TRUE(line_reaches(locks, "name", 1));
      }
      const time_point before = stage().now();
      holder->kill();
      const time_point dead = stage().now();
      if (!waiting_already) threads.start(take);
      threads.join();
      EXPECT_GE(in.load(), before);
      EXPECT_LE(in.load() - dead, limit);
    }
    judge();
  });
}

TEST_P(process, a_killed_waiter_is_in_nobodys_way) {
  play({ability::processes}, [this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    mutex held{locks, "name"};
    mutex lock{others, "name"};
    auto first = held.acquire();
    const duration lease = steady_lease();
    const auto waiter = stage().start_process("waiter", lease);
    waiter->send("acquire name 1000000");
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    waiter->kill();
    first.release();
    const time_point released = stage().now();
    EXPECT_TRUE(lock.try_acquire_for(20s));
    EXPECT_LE(stage().now() - released, stage().frozen_waiter_bound(lease));
  });
}

TEST_P(process, a_holder_frozen_past_its_lease_is_told_on_waking_and_its_late_write_is_refused) {
  play({ability::processes}, [this] {
    const auto holder = stage().start_process("holder", lease());
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    EXPECT_EQ(holder->say("write name 1"), "accepted");
    holder->freeze();
    const auto successor = acquire(of(stage()), lock, 20s);
    ASSERT_TRUE(successor);
    EXPECT_TRUE(successor->write(2));
    successor->work(2 * lease());
    holder->thaw();
    // The first thing it does is to write: nothing has told it yet that it was frozen.
    EXPECT_EQ(holder->say("write name 3"), "refused");
    EXPECT_EQ(holder->say("valid name"), "no");
    EXPECT_EQ(holder->say("work name 5000"), "lost");  // how soon is for the judge to say
    EXPECT_EQ(ask_notice(*holder, "name").times, 1);
    EXPECT_EQ(holder->say("release name"), "lost");
    EXPECT_TRUE(successor->held().valid());
    EXPECT_EQ(stage().resource().read("name"), 2);
    auto how = stage().strictness();
    how.need_stale_write = true;
    judge(how);
  });
}

TEST_P(process, the_first_question_after_waking_is_answered_by_the_clock) {
  play({ability::processes}, [this] {
    for (int round = 0; round < 10; ++round) {
      const auto holder = stage().start_process("holder", lease());
      EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
      EXPECT_EQ(holder->say("enter nested"), "depth 1");
      EXPECT_EQ(holder->say("enter nested"), "depth 2");
      holder->freeze();
      stage().sleep(2 * lease());
      // Waiting for it when it wakes, so perhaps asked before any thread has told the loss.
      holder->send(round % 2 == 0 ? "valid name" : "enter nested");
      holder->thaw();
      const std::string lost = "error " + make_error_code(errc::lost).message();
      EXPECT_EQ(holder->answer(), round % 2 == 0 ? "no" : lost);
    }
  });
}

TEST_P(process, a_renewal_answered_after_the_deadline_brings_nothing_back) {
  play({ability::processes, ability::server_faults}, [this] {
    for (int round = 0; round < 10; ++round) {
      const auto holder = stage().start_process("holder", lease());
      stage().delay_next_request(observer::verb::renew, lease() / 3);
      EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
      holder->send("work name 20000");
      stage().await_delayed_request(observer::verb::renew, lease() / 2);
      holder->freeze();
      stage().sleep(lease() * 3 / 4);  // the server has renewed, the answer waits with the frozen
      holder->thaw();
      EXPECT_EQ(holder->answer(), "lost");
      EXPECT_EQ(ask_notice(*holder, "name").times, 1);
    }
    judge();
  });
}

TEST_P(process, a_short_freeze_is_survived) {
  play({ability::processes}, [this] {
    const auto holder = stage().start_process("holder", steady_lease());
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    for (int i = 0; i < 5; ++i) {
      holder->freeze();
      stage().sleep(steady_lease() / 2);
      holder->thaw();
      EXPECT_EQ(holder->say("work name 500"), "held");
    }
    EXPECT_EQ(holder->say("release name"), "released");
    judge();
  });
}

TEST_P(process, the_next_waiter_frozen_as_its_turn_comes_costs_at_most_the_offer) {
  play({ability::processes},
       [this] { the_next_waiter_falls_out([](actor& next) { next.freeze(); }); });
}

TEST_P(process, the_next_waiter_cut_off_as_its_turn_comes_costs_at_most_the_offer) {
  play({ability::processes},
       [this] { the_next_waiter_falls_out([](actor& next) { next.cut_off(); }); });
}

TEST_P(process, the_next_waiter_killed_as_its_turn_comes_costs_at_most_the_offer) {
  play({ability::processes},
       [this] { the_next_waiter_falls_out([](actor& next) { next.kill(); }); });
}

TEST_P(process, a_frozen_client_is_told_of_all_its_losses_on_waking) {  // F28
  play({ability::processes}, [this] {
    const auto holder = stage().start_process("holder", lease());
    const client locks = stage().connect();
    std::vector<std::string> names;
    for (int i = 0; i < 20; ++i) names.push_back("name/" + std::to_string(i));
    for (const auto& name : names) {
      EXPECT_TRUE(holder->say("acquire " + name + " 1000").starts_with("held"));
    }
    holder->freeze();
    stage().sleep(stage().bounds().long_while);
    std::vector<std::unique_ptr<mutex>> objects;
    std::vector<std::unique_ptr<witnessed>> taken;
    for (const auto& name : names) {
      objects.push_back(std::make_unique<mutex>(locks, name));
      taken.push_back(acquire(of(stage()), *objects.back(), 1s));
      EXPECT_TRUE(taken.back());
    }
    holder->thaw();
    for (const auto& name : names) {
      EXPECT_EQ(holder->say("work " + name + " 5000"), "lost");
      EXPECT_EQ(ask_notice(*holder, name).times, 1);
    }
    taken.clear();
    judge();
  });
}

TEST_P(process, a_starved_holder_may_lose_early_but_never_overlaps) {  // F29
  play({ability::processes}, [this] {
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 4; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), 60ms));
      if (i % 2 == 0) actors.back()->slow_down();
      actors.back()->send("loop name 20 100000");
    }
    for (const auto& each : actors) EXPECT_TRUE(each->answer().starts_with("done"));
    auto how = stage().strictness();
    // Who starves is slow to take what is free, and told late because it runs late; belief still
    // ends by the clock.
    how.calm_bound = std::max<duration>(how.calm_bound, 1s);
    how.loss_slack = std::max<duration>(how.loss_slack, 100ms);
    how.thaw_slack = 20ms;  // of a process that runs for two out of forty
    judge(how);
  });
}

}  // namespace
}  // namespace crosslock::conformance
