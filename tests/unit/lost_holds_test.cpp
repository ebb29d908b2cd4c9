// What a loss does to other holds, to the thread that had locked, and to the process: nothing.
#include "engine/clock.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace crosslock {
namespace {

using namespace std::chrono_literals;

std::string lossy_server() {
  return std::string{"memory:"} + testing::UnitTest::GetInstance()->current_test_info()->name();
}

void break_now(client& locks, const std::string& name) {
  const auto holders = locks.look(name).holders;
  ASSERT_EQ(holders.size(), 1U);
  ASSERT_TRUE(locks.break_lock(name, holders.front().owner));
}

int threads_of_this_process() {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;) {
    int count = 0;
    if (word == "Threads:" && status >> count) return count;
  }
  return 0;
}

/// Each callback waits until the state of all holds is set: whoever runs one before, and could
/// set another, waits for itself. The last hold has no callback and is only polled.
TEST(lost_holds, callbacks_that_do_not_return_delay_no_signal) {
  constexpr std::size_t count = 1000;
  constexpr int threads_max = 80;
  auto locks = connect(lossy_server());
  std::promise<void> all_told;
  const auto told_all = all_told.get_future().share();
  std::vector<hold> holds;
  std::vector<std::stop_token> tokens;
  std::list<std::stop_callback<std::function<void()>>> watches;
  const time_point end = boot_clock::now() + 1500ms;
  for (std::size_t i = 0; i < count; ++i) {
    mutex each{locks, "name/" + std::to_string(i)};
    holds.push_back(each.acquire({.lease = end - boot_clock::now()}));
    tokens.push_back(holds.back().lost());
    if (i + 1 < count) watches.emplace_back(tokens.back(), [&] { told_all.wait(); });
  }
  const int before = threads_of_this_process();
  int threads = 0;
  const auto told = [](const std::stop_token& one) { return one.stop_requested(); };
  const time_point patience = end + 60s;
  while (!std::all_of(tokens.begin(), tokens.end(), told) && boot_clock::now() < patience) {
    std::this_thread::sleep_for(1ms);
    threads = std::max(threads, threads_of_this_process() - before);
  }
  EXPECT_EQ(std::count_if(tokens.begin(), tokens.end(), told), count);
  EXPECT_LE(threads, threads_max);
  all_told.set_value();
}

/// The signal of several together is one like any other, and no callback of theirs.
TEST(lost_holds, callbacks_that_do_not_return_delay_no_signal_of_a_multi_hold) {
  auto locks = connect(lossy_server());
  std::promise<void> let_go;
  const auto gate = let_go.get_future().share();
  std::vector<hold> holds;
  std::list<std::stop_callback<std::function<void()>>> watches;
  const time_point end = boot_clock::now() + 500ms;
  const auto rest = [&] { return acquire_how{.lease = end - boot_clock::now()}; };
  multi_lock two{locks, {"a", "b"}};
  multi_hold both = two.acquire(rest());
  for (int i = 0; i < 200; ++i) {
    mutex each{locks, "name/" + std::to_string(i)};
    holds.push_back(each.acquire(rest()));
    watches.emplace_back(holds.back().lost(), [&] { gate.wait(); });
  }
  const time_point patience = end + 30s;
  while (!both.lost().stop_requested() && boot_clock::now() < patience) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(both.lost().stop_requested());
  let_go.set_value();
}

/// Which threads run what belongs to the user. Thread-safe.
class thread_names final : public observer {
 public:
  void note() {
    std::array<char, 32> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    const std::lock_guard guard{mutex_};
    names_.emplace(name.data());
  }
  void waited(std::string_view, wait_result, duration) noexcept override { note(); }
  bool has(const std::string& name) const {
    const std::lock_guard guard{mutex_};
    return names_.contains(name);
  }
  bool empty() const {
    const std::lock_guard guard{mutex_};
    return names_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> names_;
};

/// The clock thread has the next deadline to tell: an upgrade that fails because its shared hold is
/// over is told by another one, to the observer and by the executor.
TEST(lost_holds, the_clock_thread_runs_no_code_of_the_user) {
  const auto names = std::make_shared<thread_names>();
  std::promise<std::function<void()>> posted;
  options how;
  how.observer = names;
  how.executor = [&](std::function<void()> work) {
    names->note();
    posted.set_value(std::move(work));
  };
  auto locks = connect(lossy_server(), how);
  auto others = connect(lossy_server());
  shared_mutex lock{locks, "name"};
  const auto reader = shared_mutex{others, "name"}.acquire_shared();
  const auto held = lock.acquire_shared({.lease = 300ms});
  errc told{};
  lock.upgrade_async(held, [&](const acquire_result& result) {
    try {
      if (result.failure) std::rethrow_exception(result.failure);
    } catch (const error& why) {
      told = why.which();
    }
  });
  posted.get_future().get()();
  EXPECT_EQ(told, errc::lost);
  EXPECT_FALSE(names->empty());
  EXPECT_FALSE(names->has("crosslock-clock"));
}

TEST(lost_holds, an_unlock_releases_though_another_thread_looks_at_the_hold) {
  auto locks = connect(lossy_server());
  mutex name{locks, "name"};
  std::atomic<bool> stop{false};
  std::thread looks{[&] {
    while (!stop.load()) static_cast<void>(name.valid());
  }};
  int failed = 0;
  for (int i = 0; i < 20'000; ++i) {
    try {
      name.lock();
      name.unlock();
    } catch (const error&) {
      ++failed;
    }
    if (name.try_lock()) {
      name.unlock();
    } else {
      ++failed;
    }
  }
  stop.store(true);
  looks.join();
  EXPECT_EQ(failed, 0);
}

TEST(lost_holds, a_guard_that_ends_on_another_thread_after_a_loss_locks_nobody_out) {
  auto locks = connect(lossy_server());
  mutex name{locks, "name"};
  std::unique_lock guard{name};
  break_now(locks, "name");
  std::thread{[moved = std::move(guard)]() mutable { moved.unlock(); }}.join();
  EXPECT_NO_THROW(name.lock());
  name.unlock();
}

TEST(lost_holds, a_shared_guard_that_ends_on_another_thread_after_a_loss_locks_nobody_out) {
  auto locks = connect(lossy_server());
  shared_mutex name{locks, "name"};
  std::shared_lock guard{name};
  break_now(locks, "name");
  std::thread{[moved = std::move(guard)]() mutable { moved.unlock(); }}.join();
  EXPECT_NO_THROW(name.lock_shared());
  name.unlock_shared();
}

TEST(lost_holds, a_guard_of_many_that_ends_on_another_thread_after_a_loss_locks_nobody_out) {
  auto locks = connect(lossy_server());
  multi_lock both{locks, {"a", "b"}};
  std::unique_lock guard{both};
  break_now(locks, "a");
  std::thread{[moved = std::move(guard)]() mutable { moved.unlock(); }}.join();
  EXPECT_NO_THROW(both.lock());
  both.unlock();
}

TEST(lost_holds, the_late_unlock_of_a_lost_guard_elsewhere_leaves_the_new_holder_alone) {
  auto locks = connect(lossy_server());
  mutex name{locks, "name"};
  std::unique_lock guard{name};
  break_now(locks, "name");
  std::promise<void> locked;
  std::promise<void> unlock;
  std::thread next{[&] {
    name.lock();
    locked.set_value();
    unlock.get_future().wait();
    name.unlock();
  }};
  locked.get_future().wait();
  std::thread{[moved = std::move(guard)]() mutable { moved.unlock(); }}.join();
  EXPECT_EQ(locks.look("name").holders.size(), 1U);
  unlock.set_value();
  next.join();
  EXPECT_TRUE(locks.look("name").holders.empty());
}

TEST(lost_holds, an_observer_that_throws_does_not_end_the_process) {
  struct failing : observer {
    void acquired(const acquired_event&) override { throw std::runtime_error{"observer"}; }
    void lost(const lost_event&) override {
      told.set_value();
      throw std::runtime_error{"observer"};
    }
    void released(const released_event&) override { throw std::runtime_error{"observer"}; }
    void round_trip(verb, duration) override { throw std::runtime_error{"observer"}; }
    std::promise<void> told;
  };
  const auto listening = std::make_shared<failing>();
  auto locks = connect(lossy_server(), {.observer = listening});
  mutex name{locks, "name"};
  {
    const hold held = name.acquire();
    break_now(locks, "name");
    listening->told.get_future().wait();
  }
  name.lock();
  name.unlock();
}

TEST(lost_holds, a_log_that_throws_at_a_loss_does_not_end_the_process) {
  std::promise<void> called;
  auto locks = connect(lossy_server(), {.log = [&](log_level, std::string_view) {
                         called.set_value();
                         throw std::runtime_error{"a log that fails"};
                       }});
  mutex name{locks, "name"};
  const hold held = name.acquire();
  break_now(locks, "name");
  called.get_future().wait();
}

}  // namespace
}  // namespace crosslock
