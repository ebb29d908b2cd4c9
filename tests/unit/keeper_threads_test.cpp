// The keeper's helpers that have threads of their own: tasks and the loss notifier.
#include "keeper/loss_notifier.hpp"
#include "keeper/task_queue.hpp"
#include "world/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <list>
#include <stop_token>
#include <thread>
#include <vector>

namespace crosslock::inner {
namespace {

using namespace std::chrono_literals;

TEST(task_queue, run_in_the_order_of_their_moments) {
  std::vector<int> order;
  std::promise<void> done;
  {
    task_queue tested{seam::real_clock(), "test"};
    const time_point now = boot_clock::now();
    tested.at(now + 30ms, [&] {
      order.push_back(3);
      done.set_value();
    });
    tested.at(now + 10ms, [&] { order.push_back(2); });
    tested.post([&] { order.push_back(1); });
    done.get_future().wait();
  }
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(task_queue, what_is_due_runs_at_close_and_what_is_not_is_dropped) {
  bool due_ran = false;
  const auto kept = std::make_shared<int>(0);
  {
    task_queue tested{seam::real_clock(), "test"};
    tested.at(boot_clock::now() + 1h, [kept, &due_ran] { due_ran = false; });
    tested.post([&] { due_ran = true; });
    tested.close();
    tested.post([&] { due_ran = false; });
    EXPECT_EQ(kept.use_count(), 1);
  }
  EXPECT_TRUE(due_ran);
}

TEST(task_queue, a_cancelled_one_is_never_run_and_owns_nothing_any_more) {
  task_queue tested{seam::real_clock(), "test"};
  const auto kept = std::make_shared<int>(0);
  const auto ticket = tested.at(boot_clock::now() + 1h, [kept] {});
  tested.cancel(ticket);
  tested.cancel(ticket);
  tested.cancel({});
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(task_queue, one_may_post_the_next) {
  std::promise<int> last;
  task_queue tested{seam::real_clock(), "test"};
  std::function<void(int)> step = [&](int left) {
    if (left == 0) return last.set_value(7);
    tested.post([&, left] { step(left - 1); });
  };
  tested.post([&] { step(100); });
  EXPECT_EQ(last.get_future().get(), 7);
}

/// The part of the keeper's clock thread that looks after the notifier.
void look_after(loss_notifier& notifier, std::future<void>& until) {
  while (until.wait_for(1ms) != std::future_status::ready) notifier.grow_if_stuck();
}

TEST(loss_notifier, a_callback_that_does_not_return_delays_nobody_else) {
  loss_notifier notifier{seam::real_clock()};
  std::promise<void> let_go;
  auto gate = let_go.get_future().share();
  std::vector<std::stop_source> sources(20);
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> callbacks;
  std::promise<void> told;
  std::atomic<int> stuck{0};
  const auto on_stop = [&](std::function<void()> call) {
    callbacks.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
        sources[callbacks.size()].get_token(), std::move(call)));
  };
  for (int i = 0; i < 19; ++i) {
    on_stop([&, gate] {
      ++stuck;
      gate.wait();
    });
  }
  on_stop([&] { told.set_value(); });
  for (auto& source : sources) notifier.tell({source, {}});
  auto heard = told.get_future();
  look_after(notifier, heard);
  // In any order: each on a thread of its own.
  for (int looks = 0; looks < 5000 && stuck.load() < 19; ++looks) {
    notifier.grow_if_stuck();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(stuck.load(), 19);
  let_go.set_value();
  notifier.close();
}

// In simulated time, so that nothing but the callbacks takes any.
TEST(loss_notifier, callbacks_that_take_their_time_delay_no_signal) {
  world::world world{1};
  world.run([&] {
    loss_notifier notifier{world.test()};
    std::vector<std::stop_source> sources(1000);
    std::list<std::stop_callback<std::function<void()>>> callbacks;
    int begun = 0;
    const auto slow = [&] {
      ++begun;
      world.sleep(500us);
    };
    for (const auto& source : sources) {
      if (&source != &sources.back()) callbacks.emplace_back(source.get_token(), slow);
    }
    const time_point told = world.now();
    for (auto& source : sources) notifier.tell({source, {}});
    const auto set = [](const std::stop_source& one) { return one.stop_requested(); };
    while (!std::all_of(sources.begin(), sources.end(), set)) {
      world.sleep(100us);
      notifier.grow_if_stuck();
    }
    EXPECT_LE(world.now() - told, 2ms);
    EXPECT_LT(begun, 100);
    while (begun < 999) {
      world.sleep(1ms);
      notifier.grow_if_stuck();
    }
    EXPECT_LE(world.now() - told, 100ms);
    notifier.close();
  });
}

TEST(loss_notifier, many_losses_without_callbacks_need_few_threads) {
  loss_notifier notifier{seam::real_clock()};
  std::vector<std::stop_source> sources(10'000);
  for (auto& source : sources) notifier.tell({source, {}});
  while (notifier.grow_if_stuck() != time_point::max()) {
  }
  notifier.close();
  for (const auto& source : sources) EXPECT_TRUE(source.stop_requested());
}

TEST(loss_notifier, a_callback_may_close_it) {
  auto notifier = std::make_unique<loss_notifier>(seam::real_clock());
  std::stop_source source;
  std::promise<void> closed;
  std::stop_callback on_stop{source.get_token(), [&] {
                               notifier.reset();
                               closed.set_value();
                             }};
  notifier->tell({source, {}});
  closed.get_future().wait();
}

}  // namespace
}  // namespace crosslock::inner
