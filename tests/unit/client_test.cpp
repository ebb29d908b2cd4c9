// The API as a user meets it, on the memory engine and the real clock.
#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace crosslock {
namespace {

using namespace std::chrono_literals;

/// Every test has a server of its own.
std::string own_server() {
  return std::string{"memory:"} + testing::UnitTest::GetInstance()->current_test_info()->name();
}

template <class Call>
errc code_of(Call&& call) {
  try {
    call();
  } catch (const error& why) {
    return why.which();
  }
  return errc{};
}

TEST(client, scoped_lock_just_works) {
  auto locks = connect(own_server());
  mutex stock{locks, "stock/sku-42"};
  {
    std::scoped_lock guard{stock};
    EXPECT_GT(stock.fence(), fence{});
    EXPECT_FALSE(stock.lost().stop_requested());
    EXPECT_EQ(locks.look("stock/sku-42").holders.size(), 1u);
  }
  EXPECT_TRUE(locks.look("stock/sku-42").holders.empty());
}

TEST(client, two_clients_exclude_each_other) {
  auto one = connect(own_server());
  auto two = connect(own_server());
  mutex a{one, "name"};
  mutex b{two, "name"};
  std::unique_lock first{a};
  EXPECT_FALSE(b.try_lock());
  EXPECT_FALSE(b.try_lock_for(20ms));
  first.unlock();
  EXPECT_TRUE(b.try_lock());
  b.unlock();
}

TEST(client, a_waiter_of_another_client_is_woken_by_the_release) {
  auto one = connect(own_server());
  auto two = connect(own_server());
  mutex a{one, "name"};
  mutex b{two, "name"};
  auto held = a.acquire();
  auto waiting = std::async(std::launch::async, [&] { return b.acquire().fence(); });
  while (one.look("name").line.empty()) std::this_thread::yield();
  const fence before = held.fence();
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_GT(waiting.get(), before);
}

TEST(client, standard_lock_takes_two_without_deadlock) {
  auto locks = connect(own_server());
  mutex a{locks, "a"};
  mutex b{locks, "b"};
  std::thread other{[&] {
    for (int i = 0; i < 200; ++i) std::scoped_lock both{b, a};
  }};
  for (int i = 0; i < 200; ++i) std::scoped_lock both{a, b};
  other.join();
}

TEST(client, unique_lock_with_timeouts_and_any_clock) {
  auto locks = connect(own_server());
  mutex a{locks, "a"};
  auto other = connect(own_server());
  mutex same{other, "a"};
  std::unique_lock held{a, 1s};
  ASSERT_TRUE(held.owns_lock());
  EXPECT_FALSE((std::unique_lock{same, std::chrono::steady_clock::now() + 10ms}.owns_lock()));
  EXPECT_FALSE((std::unique_lock{same, std::chrono::system_clock::now() + 10ms}.owns_lock()));
  EXPECT_FALSE((std::unique_lock{same, boot_clock::now() + 10ms}.owns_lock()));
  EXPECT_FALSE((std::unique_lock{same, -1s}.owns_lock()));
}

TEST(client, condition_variable_any_waits_with_it) {
  auto locks = connect(own_server());
  mutex a{locks, "a"};
  std::condition_variable_any changed;
  bool ready = false;
  std::thread other{[&] {
    std::scoped_lock guard{a};
    ready = true;
    changed.notify_one();
  }};
  std::unique_lock guard{a};
  changed.wait(guard, [&] { return ready; });
  EXPECT_TRUE(ready);
  guard.unlock();
  other.join();
}

TEST(client, locking_a_plain_mutex_twice_is_an_error_at_once) {
  auto locks = connect(own_server());
  mutex a{locks, "a"};
  a.lock();
  EXPECT_EQ(code_of([&] { a.lock(); }), errc::would_deadlock);
  EXPECT_EQ(code_of([&] { (void)a.try_lock(); }), errc::would_deadlock);
  a.unlock();
  EXPECT_TRUE(a.try_lock());
  a.unlock();
}

TEST(client, another_thread_may_unlock) {
  auto locks = connect(own_server());
  mutex a{locks, "a"};
  a.lock();
  std::thread{[&] { a.unlock(); }}.join();
  EXPECT_TRUE(a.try_lock());
  a.unlock();
}

TEST(client, recursive_mutex_counts_and_keeps_its_fence) {
  auto locks = connect(own_server());
  recursive_mutex a{locks, "a"};
  a.lock();
  const fence first = a.fence();
  a.lock();
  EXPECT_TRUE(a.try_lock());
  EXPECT_EQ(a.fence(), first);
  EXPECT_EQ(a.depth(), 3u);
  a.unlock();
  a.unlock();
  EXPECT_EQ(locks.look("a").holders.size(), 1u);
  std::thread{[&] {
    a.unlock();
    EXPECT_EQ(code_of([&] { (void)a.fence(); }), errc::not_held);
    EXPECT_FALSE(a.try_lock());
  }}.join();
  EXPECT_EQ(a.depth(), 1u);
  a.unlock();
  EXPECT_TRUE(locks.look("a").holders.empty());
}

TEST(client, run_passes_the_hold_and_returns_the_result) {
  auto locks = connect(own_server());
  EXPECT_EQ(locks.run("job", [](hold& held) { return held.valid() ? 42 : 0; }), 42);
  EXPECT_EQ(locks.run("job", [] { return 7; }), 7);
  locks.run("job", [] {});
  EXPECT_THROW(locks.run("job", []() -> int { throw std::runtime_error{"x"}; }),
               std::runtime_error);
  EXPECT_EQ(locks.try_run("job", [] { return 1; }), std::optional<int>{1});
  auto other = connect(own_server());
  locks.run("job", [&] {
    EXPECT_FALSE(other.try_run("job", [] { return 1; }));
    EXPECT_FALSE(other.try_run("job", [] {}));
  });
}

TEST(client, a_fixed_lease_simply_ends) {
  auto locks = connect(own_server());
  mutex a{locks, "a"};
  auto held = a.try_acquire_for(1s, 60ms);
  ASSERT_TRUE(held);
  std::promise<void> told;
  std::stop_callback on_loss{held->lost(), [&] { told.set_value(); }};
  ASSERT_EQ(told.get_future().wait_for(5s), std::future_status::ready);
  EXPECT_EQ(held->lost_reason(), loss_reason::lease_ended);
  EXPECT_FALSE(held->valid());
  EXPECT_EQ(code_of([&] { held->check(); }), errc::lost);
  EXPECT_EQ(held->release(), release_result::lost);
  EXPECT_EQ(held->release(), release_result::not_held);
}

TEST(client, a_wait_can_be_stopped) {
  auto locks = connect(own_server());
  auto other = connect(own_server());
  mutex a{locks, "a"};
  mutex b{other, "a"};
  auto held = a.acquire();
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return b.acquire(stop.get_token()); });
  while (locks.look("a").line.empty()) std::this_thread::yield();
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  while (!locks.look("a").line.empty()) std::this_thread::yield();
}

TEST(client, the_callback_form_never_blocks_and_is_called_once) {
  auto locks = connect(own_server());
  auto other = connect(own_server());
  mutex a{locks, "a"};
  mutex b{other, "a"};
  auto held = a.acquire();
  std::promise<fence> granted;
  b.acquire_async([&](acquire_result result) {
    ASSERT_FALSE(result.failure);
    granted.set_value(result.hold->fence());
  });
  auto coming = granted.get_future();
  EXPECT_EQ(coming.wait_for(20ms), std::future_status::timeout);
  const fence before = held.fence();
  held.release();
  ASSERT_EQ(coming.wait_for(5s), std::future_status::ready);
  EXPECT_GT(coming.get(), before);
}

TEST(client, a_callback_wait_ends_in_time_and_by_stop) {
  auto locks = connect(own_server());
  auto other = connect(own_server());
  mutex a{locks, "a"};
  mutex b{other, "a"};
  auto held = a.acquire();
  for (const bool by_stop : {false, true}) {
    std::promise<bool> ended;
    std::stop_source stop;
    b.acquire_async([&](acquire_result result) { ended.set_value(result.hold.has_value()); },
                    {.stop = stop.get_token()},
                    by_stop ? std::nullopt : std::optional<duration>{20ms});
    if (by_stop) stop.request_stop();
    auto coming = ended.get_future();
    ASSERT_EQ(coming.wait_for(5s), std::future_status::ready);
    EXPECT_FALSE(coming.get());
  }
}

TEST(client, a_receipt_serves_once) {
  auto locks = connect(own_server());
  auto other = connect(own_server());
  mutex a{locks, "a"};
  auto held = a.acquire();
  const fence same = held.fence();
  const receipt given = receipt::parse(held.detach().to_string());
  EXPECT_EQ(held.release(), release_result::not_held);
  EXPECT_FALSE(a.try_acquire());
  {
    auto again = other.adopt(given);
    EXPECT_EQ(again.fence(), same);
    EXPECT_EQ(code_of([&] { (void)locks.adopt(given); }), errc::lost);
  }
  EXPECT_TRUE(a.try_acquire());
}

TEST(client, breaking_tells_the_holder) {
  auto locks = connect(own_server());
  mutex a{locks, "a"};
  auto held = a.acquire();
  const auto token = held.lost();
  EXPECT_FALSE(locks.break_lock("a", owner_id{}));
  EXPECT_TRUE(locks.break_lock("a", locks.look("a").holders.at(0).owner));
  while (!token.stop_requested()) std::this_thread::yield();
  EXPECT_EQ(held.lost_reason(), loss_reason::broken);
  EXPECT_GT(a.acquire().fence(), held.fence());
}

TEST(client, close_ends_holds_and_waits) {
  auto locks = connect(own_server());
  auto other = connect(own_server());
  mutex a{locks, "a"};
  mutex b{other, "a"};
  auto held = a.acquire();
  auto waiting = std::async(std::launch::async, [&] { return code_of([&] { b.lock(); }); });
  while (locks.look("a").line.empty()) std::this_thread::yield();
  other.close();
  EXPECT_EQ(waiting.get(), errc::closed);
  locks.close();
  EXPECT_EQ(held.lost_reason(), loss_reason::closed);
  EXPECT_TRUE(held.lost().stop_requested());
  EXPECT_EQ(code_of([&] { a.lock(); }), errc::closed);
  EXPECT_TRUE((mutex{connect(own_server()), "a"}.try_lock()));
}

TEST(client, locks_and_holds_keep_the_connection_open) {
  std::optional<hold> held;
  {
    auto locks = connect(own_server());
    mutex a{locks, "a"};
    held = a.acquire();
  }
  EXPECT_TRUE(held->valid());
  EXPECT_EQ(held->release(), release_result::released);
}

TEST(client, many_threads_pass_the_lock_with_rising_fences) {
  auto locks = connect(own_server());
  mutex a{locks, "a"};
  fence last;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        auto held = a.acquire();
        EXPECT_GT(held.fence(), last);
        last = held.fence();
        ++count;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

TEST(client, callback_waits_of_no_time_at_all_end_each_exactly_once) {
  auto locks = connect(own_server());
  auto other = connect(own_server());
  mutex a{locks, "a"};
  mutex b{other, "a"};
  auto held = a.acquire();
  constexpr int waits = 2000;
  std::atomic<int> ended{0};
  for (int i = 0; i < waits; ++i) {
    b.acquire_async(
        [&](acquire_result result) {
          EXPECT_FALSE(result.hold);
          ++ended;
        },
        {}, duration{1 + i % 3});
  }
  while (ended.load() < waits) std::this_thread::yield();
}

TEST(client, the_last_owner_may_be_a_callback_that_brings_nothing) {
  const std::string url = own_server();
  auto holder = connect(url);
  mutex held_by{holder, "a"};
  auto held = held_by.acquire();
  for (int i = 0; i < 50; ++i) {
    std::promise<void> ended;
    {
      auto locks = connect(url);
      mutex a{locks, "a"};
      a.acquire_async([&ended](acquire_result) { ended.set_value(); }, {}, duration{1ms});
    }
    ended.get_future().wait();
  }
}

TEST(client, a_callback_may_own_its_client) {
  std::promise<fence> got;
  {
    auto locks = std::make_shared<client>(connect(own_server()));
    auto lock = std::make_shared<mutex>(*locks, "a");
    lock->acquire_async(
        [locks, lock, &got](acquire_result result) { got.set_value(result.hold->fence()); });
  }
  EXPECT_GT(got.get_future().get(), fence{});
}

TEST(client, an_executor_that_throws_does_not_lose_the_callback) {
  options broken;
  broken.executor = [](std::function<void()>) { throw std::runtime_error{"shut down"}; };
  auto locks = connect(own_server(), broken);
  mutex a{locks, "a"};
  std::promise<bool> got;
  a.acquire_async([&](acquire_result result) { got.set_value(result.hold.has_value()); });
  EXPECT_TRUE(got.get_future().get());
}

TEST(client, names_are_what_the_program_gave_also_with_a_prefix) {
  options with_prefix;
  with_prefix.prefix = "p/";
  auto locks = connect(own_server(), with_prefix);
  mutex a{locks, "x"};
  mutex same{locks, a.name()};
  auto held = a.acquire();
  EXPECT_EQ(held.name().str(), "x");
  EXPECT_FALSE(same.try_acquire());
  EXPECT_EQ(locks.look(held.name().view()).holders.size(), 1u);
  EXPECT_EQ(held.detach().name.str(), "p/x");
}

TEST(client, the_longest_times_do_not_overflow) {
  options longest;
  longest.max_hold = duration::max() - 1ns;
  longest.timeout = duration::max();
  longest.look_every = duration::max();
  auto locks = connect(own_server(), longest);
  mutex a{locks, "a"};
  auto held = a.acquire({});
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(held.lost_reason(), loss_reason::none);
}

TEST(client, run_returns_references_as_they_are) {
  auto locks = connect(own_server());
  int number = 1;
  locks.run("a", [&]() -> int& { return number; }) = 2;
  EXPECT_EQ(number, 2);
  EXPECT_EQ(locks.try_run("a", [&]() -> int& { return number; }), std::optional<int>{2});
}

TEST(client, the_observer_hears_of_a_detached_hold) {
  struct ear : observer {
    std::vector<release_result> heard;
    void released(const released_event& event) noexcept override { heard.push_back(event.result); }
  };
  const auto listening = std::make_shared<ear>();
  options with_ear;
  with_ear.observer = listening;
  auto locks = connect(own_server(), with_ear);
  mutex a{locks, "a"};
  (void)a.acquire().detach();
  EXPECT_EQ(listening->heard, std::vector{release_result::detached});
}

}  // namespace
}  // namespace crosslock
