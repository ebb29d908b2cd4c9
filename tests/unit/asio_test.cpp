// The adapter for Asio: handlers, futures and Asio's own coroutines; executors, cancellation, work.
#include <crosslock/asio.hpp>
#include <crosslock/crosslock.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace crosslock {
namespace {

using namespace std::chrono_literals;

client fresh(const std::string& server) { return connect("memory:" + server); }

errc code_of(const std::exception_ptr& failure) {
  if (!failure) return errc{};
  try {
    std::rethrow_exception(failure);
  } catch (const error& why) {
    return why.which();
  }
}

TEST(asio_adapter, a_handler_runs_on_its_executor_and_its_context_waits_for_it) {
  const client locks = fresh("asio-1");
  const client others = fresh("asio-1");
  mutex lock{locks, "name"};
  auto held = mutex{others, "name"}.acquire();
  asio::io_context context;
  std::optional<hold> granted;
  std::thread::id where;
  async_acquire(lock.async_acquire(), asio::bind_executor(context, [&](std::exception_ptr failure,
                                                                       std::optional<hold> got) {
                  EXPECT_FALSE(failure);
                  granted = std::move(got);
                  where = std::this_thread::get_id();
                }));
  EXPECT_EQ(context.poll(), 0U);    // nothing to do yet, but
  EXPECT_FALSE(context.stopped());  // it counts as busy
  std::thread releaser{[&] { held.release(); }};
  context.run();
  releaser.join();
  ASSERT_TRUE(granted);
  EXPECT_TRUE(granted->valid());
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(asio_adapter, a_handler_without_an_executor_runs_where_the_acquisition_says) {
  const client locks = fresh("asio-2");
  mutex lock{locks, "name"};
  std::promise<std::thread::id> where;
  async_acquire(lock.async_acquire(), [&](std::exception_ptr, std::optional<hold> got) {
    EXPECT_TRUE(got);
    where.set_value(std::this_thread::get_id());
  });
  const auto clients_own = where.get_future().get();
  EXPECT_NE(clients_own, std::this_thread::get_id());
  std::promise<std::function<void()>> posted;
  bool called = false;
  const auto post = [&](std::function<void()> each) { posted.set_value(std::move(each)); };
  async_acquire(lock.async_acquire().resume_on(post),
                [&](std::exception_ptr, auto got) { called = got.has_value(); });
  const auto continuation = posted.get_future().get();
  EXPECT_FALSE(called);
  continuation();
  EXPECT_TRUE(called);
}

TEST(asio_adapter, a_strand_is_respected) {
  const client locks = fresh("asio-3");
  asio::io_context context;
  const auto strand = asio::make_strand(context);
  int inside = 0;
  std::vector<std::unique_ptr<mutex>> mutexes;
  for (int i = 0; i < 50; ++i) {
    mutexes.push_back(std::make_unique<mutex>(locks, "name" + std::to_string(i)));
    async_acquire(mutexes.back()->async_acquire(),
                  asio::bind_executor(strand, [&](std::exception_ptr, std::optional<hold> got) {
                    EXPECT_TRUE(got);
                    EXPECT_TRUE(strand.running_in_this_thread());
                    ++inside;  // a race, were it not for the strand
                  }));
  }
  std::thread second{[&] { context.run(); }};
  context.run();
  second.join();
  EXPECT_EQ(inside, 50);
}

TEST(asio_adapter, a_future_has_the_hold_or_the_failure) {
  const client locks = fresh("asio-4");
  mutex lock{locks, "name"};
  auto held = async_acquire(lock.async_acquire(), asio::use_future).get();
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->valid());
  EXPECT_FALSE(async_acquire(lock.async_acquire({}, duration{10ms}), asio::use_future).get());
  auto later = async_acquire(lock.async_acquire(), asio::use_future);
  locks.close();
  EXPECT_THROW(later.get(), error);
  EXPECT_THROW(async_acquire(lock.async_acquire(), asio::use_future).get(), error);
}

TEST(asio_adapter, a_coroutine_awaits_it_on_its_own_context) {
  const client locks = fresh("asio-5");
  const client others = fresh("asio-5");
  mutex lock{locks, "name"};
  multi_lock both{locks, {"name", "other"}};
  auto held = mutex{others, "name"}.acquire();
  asio::io_context context;
  int steps = 0;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        const auto empty =
            co_await async_acquire(lock.async_acquire({}, duration{10ms}), asio::use_awaitable);
        EXPECT_FALSE(empty);
        held.release();
        auto mine = co_await async_acquire(lock.async_acquire(), asio::use_awaitable);
        EXPECT_TRUE(mine && mine->valid());
        mine->release();
        auto all = co_await async_acquire(both.async_acquire(), asio::use_awaitable);
        EXPECT_TRUE(all && all->valid());
        EXPECT_TRUE(context.get_executor().running_in_this_thread());
        ++steps;
      },
      asio::detached);
  context.run();
  EXPECT_EQ(steps, 1);
}

TEST(asio_adapter, a_failure_is_thrown_into_the_coroutine) {
  const client locks = fresh("asio-6");
  mutex lock{locks, "name"};
  locks.close();
  asio::io_context context;
  errc told{};
  asio::co_spawn(context, async_acquire(lock.async_acquire(), asio::use_awaitable),
                 [&](std::exception_ptr failure, std::optional<hold>) { told = code_of(failure); });
  context.run();
  EXPECT_EQ(told, errc::closed);
}

TEST(asio_adapter, a_cancelled_acquire_leaves_the_line) {
  const client locks = fresh("asio-7");
  const client others = fresh("asio-7");
  mutex lock{locks, "name"};
  const auto held = mutex{others, "name"}.acquire();
  asio::io_context context;
  asio::cancellation_signal cancel;
  std::stop_source stop;
  int empty = 0;
  const auto count = [&](std::exception_ptr failure, std::optional<hold> got) {
    if (!failure && !got) ++empty;
  };
  async_acquire(lock.async_acquire(),
                asio::bind_cancellation_slot(cancel.slot(), asio::bind_executor(context, count)));
  async_acquire(lock.async_acquire({.stop = stop.get_token()}),
                asio::bind_executor(context, count));
  while (others.look("name").line.size() != 1) std::this_thread::yield();
  cancel.emit(asio::cancellation_type::total);
  stop.request_stop();
  context.run();
  EXPECT_EQ(empty, 2);
  while (!others.look("name").line.empty()) std::this_thread::yield();
  cancel.emit(asio::cancellation_type::total);  // nobody listens any more
}

}  // namespace
}  // namespace crosslock
