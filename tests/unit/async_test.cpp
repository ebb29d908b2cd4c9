// Acquires that are described and begun later: what needs no server but real threads.
#include "conformance/async_forms.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <type_traits>

namespace crosslock {
namespace {

using namespace std::chrono_literals;
using conformance::begin;
using conformance::form;

// Held in one place only, and begun by whoever gives it away.
static_assert(!std::is_copy_constructible_v<acquisition<hold>>);
static_assert(std::is_nothrow_move_constructible_v<acquisition<hold>>);
static_assert(std::is_nothrow_move_assignable_v<acquisition<hold>>);
template <class Acquisition>
concept begins_as_it_is = requires(Acquisition& wanted) {
  wanted.start([](acquire_result) {});
};
static_assert(!begins_as_it_is<acquisition<hold>>);
static_assert(!std::is_copy_constructible_v<multi_hold>);
static_assert(std::is_nothrow_move_constructible_v<multi_hold>);
static_assert(std::is_nothrow_move_assignable_v<multi_hold>);
static_assert(std::is_same_v<acquire_result, acquire_outcome<hold>>);

client fresh(const std::string& server) { return connect("memory:" + server); }

template <class Question>
void wait_until(Question&& question) {
  while (!question()) std::this_thread::yield();
}

TEST(async, a_stop_may_end_the_last_owner_of_a_client) {
  const client others = fresh("stop-ends-client");
  mutex theirs{others, "name"};
  const hold held = theirs.acquire();
  for (int i = 0; i < 100; ++i) {
    std::stop_source stop;
    std::atomic<bool> ended{false};
    mutex{fresh("stop-ends-client"), "name"}.acquire_async(
        [&ended](acquire_result result) {
          EXPECT_FALSE(result.hold || result.failure);
          ended = true;
        },
        {.stop = stop.get_token()});
    std::jthread stopping{[&stop] { stop.request_stop(); }};
    wait_until([&] { return ended.load(); });
  }
}

TEST(async, a_coroutine_may_have_ended_on_another_thread_before_its_suspension_returns) {
  const client locks = fresh("async-1");
  mutex lock{locks, "name"};
  // The memory engine answers within the ask: the frame is gone before start() returns.
  const auto at_once = [](std::function<void()> continuation) {
    std::thread{std::move(continuation)}.join();
  };
  for (int i = 0; i < 100; ++i) {
    const auto wait = begin(form::coroutine, lock.async_acquire().resume_on(at_once));
    ASSERT_TRUE(wait->ended());
    ASSERT_TRUE(wait->hold());
    EXPECT_NE(wait->thread(), std::this_thread::get_id());
    wait->hold().reset();
  }
}

TEST(async, coroutines_resumed_and_stopped_at_the_same_moment_lose_no_hold) {
  const client locks = fresh("async-2");
  const client others = fresh("async-2");
  for (int i = 0; i < 200; ++i) {
    auto held = mutex{others, "name"}.acquire();
    std::stop_source stop;
    const auto wait =
        begin(form::coroutine, mutex{locks, "name"}.async_acquire({.stop = stop.get_token()}));
    std::thread stopper{[&] { stop.request_stop(); }};
    held.release();
    stopper.join();
    wait_until([&] { return wait->ended(); });
    EXPECT_EQ(wait->failure(), errc{});
    wait->hold().reset();  // perhaps
    wait_until([&] { return others.look("name").holders.empty(); });
  }
}

TEST(async, a_failure_after_the_wait_began_is_thrown_behind_co_await) {
  const client locks = fresh("async-3");
  const client others = fresh("async-3");
  const auto held = mutex{others, "name"}.acquire();
  const auto wait = begin(form::coroutine, mutex{locks, "name"}.async_acquire());
  wait_until([&] { return others.look("name").line.size() == 1; });
  locks.close();
  wait_until([&] { return wait->ended(); });
  EXPECT_EQ(wait->failure(), errc::closed);
}

TEST(async, a_bad_lease_is_refused_when_it_begins) {
  const client locks = fresh("async-4");
  mutex lock{locks, "name"};
  const acquire_how bad{.lease = duration{-1s}};
  EXPECT_THROW(begin(form::callback, lock.async_acquire(bad)), error);
  const auto later = begin(form::future, lock.async_acquire(bad));
  ASSERT_TRUE(later->ended());
  EXPECT_EQ(later->failure(), errc::invalid_lease);
  const auto awaited = begin(form::coroutine, lock.async_acquire(bad));
  ASSERT_TRUE(awaited->ended());
  EXPECT_EQ(awaited->failure(), errc::invalid_lease);
}

TEST(async, an_abandoned_future_lets_the_hold_go) {
  const client locks = fresh("async-5");
  const client others = fresh("async-5");
  auto held = mutex{others, "name"}.acquire();
  static_cast<void>(mutex{locks, "name"}.async_acquire().future());
  held.release();
  wait_until([&] { return others.look("name").holders.empty(); });
}

TEST(async, a_moved_from_acquisition_does_not_begin) {
  const client locks = fresh("async-6");
  auto wanted = mutex{locks, "name"}.async_acquire();
  auto kept = std::move(wanted);
  try {
    std::move(wanted).start([](acquire_result) {});  // NOLINT(bugprone-use-after-move)
    FAIL() << "it began";
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::not_held);
  }
  const auto wait = begin(form::callback, std::move(kept));
  wait_until([&] { return wait->ended(); });
  EXPECT_TRUE(wait->hold());
  wait->hold().reset();
}

}  // namespace
}  // namespace crosslock
