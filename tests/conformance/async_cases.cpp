// Acquires without a thread: every form of every kind ends as the blocking one does, runs its
// continuation where it was told to, and leaves nothing behind.
#include "conformance/async_forms.hpp"
#include "conformance/fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(async);

/// Which kinds this engine has.
std::vector<lock_kind> kinds_of(stage& stage) {
  std::vector<lock_kind> found;
  for (lock_kind& each : all_kinds()) {
    const bool shared = each.name.starts_with("shared_mutex");
    const bool permits = each.name == "semaphore";
    if ((shared && !stage.traits().shared) || (permits && !stage.traits().permits)) continue;
    found.push_back(std::move(each));
  }
  return found;
}

template <class Body>
void with_every_form_and_kind(stage& stage, Body&& body) {
  for (const lock_kind& kind : kinds_of(stage)) {
    for (const form how : all_forms) {
      SCOPED_TRACE(kind.name + " by " + to_string(how));
      body(kind, how);
    }
  }
}

/// How many threads this process has.
std::size_t threads_now() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator{"/proc/self/task"}) {
    ++count;
  }
  return count;
}

/// Lets go of what has been granted, and says how many still wait.
std::size_t release_granted(const std::vector<std::shared_ptr<begun<hold>>>& waits) {
  std::size_t waiting = 0;
  for (const auto& each : waits) {
    if (!each->ended()) {
      ++waiting;
    } else if (each->hold() && each->hold()->valid()) {
      each->hold()->release();
    }
  }
  return waiting;
}

TEST_P(async, one_that_does_not_wait_gets_what_is_free) {
  play([this] {
    const client locks = stage().connect();
    for (int i = 0; i < 100; ++i) {
      mutex lock{locks, "name-" + std::to_string(i)};
      seam::park_word ended{0};
      bool granted = false;
      lock.acquire_async(
          [&](acquire_result result) {
            granted = result.hold.has_value();
            result.hold.reset();
            ended.store(1);
            stage().clock().unpark(ended);
          },
          {}, duration::zero());
      while (ended.load() == 0) stage().clock().park(ended, 0, time_point::max());
      ASSERT_TRUE(granted) << i;
    }
  });
}

TEST_P(async, every_form_of_every_kind_grants_what_is_free) {
  play([this] {
    const client locks = stage().connect();
    with_every_form_and_kind(stage(), [&](const lock_kind& kind, form how) {
      const auto wait = begin(how, kind.describe(locks, "name", {}, std::nullopt));
      ASSERT_TRUE(eventually([&] { return wait->ended(); }));
      ASSERT_TRUE(wait->hold());
      EXPECT_TRUE(wait->hold()->valid());
      EXPECT_EQ(locks.look("name").holders.size(), 1U);
      EXPECT_EQ(wait->hold()->release(), release_result::released);
    });
  });
}

TEST_P(async, every_form_of_every_kind_is_granted_when_its_turn_comes) {
  play([this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    with_every_form_and_kind(stage(), [&](const lock_kind& kind, form how) {
      auto held = kind.shut_out(holder, "name");
      const auto wait = begin(how, kind.describe(locks, "name", {}, duration{20s}));
      ASSERT_TRUE(line_reaches(holder, "name", 1));
      EXPECT_FALSE(wait->ended());
      held.release();
      ASSERT_TRUE(eventually([&] { return wait->ended(); }));
      ASSERT_TRUE(wait->hold());
      EXPECT_GT(wait->hold()->fence(), held.fence());
      wait->hold()->release();
    });
  });
}

TEST_P(async, every_form_of_every_kind_ends_in_time) {
  play([this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    with_every_form_and_kind(stage(), [&](const lock_kind& kind, form how) {
      const auto held = kind.shut_out(holder, "name");
      const time_point before = stage().now();
      const auto timed = begin(how, kind.describe(locks, "name", {}, duration{50ms}));
      const auto tried = begin(how, kind.describe(locks, "name", {}, duration::zero()));
      ASSERT_TRUE(eventually([&] { return timed->ended() && tried->ended(); }));
      EXPECT_GE(stage().now() - before, 50ms);
      EXPECT_LE(stage().now() - before, 50ms + stage().bounds().wake_up);
      EXPECT_TRUE(timed->empty());
      EXPECT_TRUE(tried->empty());
      EXPECT_TRUE(line_reaches(holder, "name", 0));
    });
  });
}

TEST_P(async, every_form_of_every_kind_can_be_stopped) {
  play([this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    with_every_form_and_kind(stage(), [&](const lock_kind& kind, form how) {
      const auto held = kind.shut_out(holder, "name");
      std::stop_source stop;
      const auto wait =
          begin(how, kind.describe(locks, "name", {.stop = stop.get_token()}, std::nullopt));
      ASSERT_TRUE(line_reaches(holder, "name", 1));
      stop.request_stop();
      ASSERT_TRUE(eventually([&] { return wait->ended(); }));
      EXPECT_TRUE(wait->empty());
      EXPECT_TRUE(line_reaches(holder, "name", 0));
      // One that was stopped before it began.
      const auto late =
          begin(how, kind.describe(locks, "name", {.stop = stop.get_token()}, std::nullopt));
      ASSERT_TRUE(eventually([&] { return late->ended(); }));
      EXPECT_TRUE(late->empty());
      EXPECT_TRUE(line_reaches(holder, "name", 0));
    });
  });
}

TEST_P(async, a_place_goes_at_once_although_the_withdrawal_may_overtake_the_ask) {
  play([this] {
    const client holder = stage().connect();
    options how;
    how.lease = 10min;  // so long that a place which is forgotten would be seen
    const client locks = stage().connect(how);
    const auto held = mutex{holder, "name"}.acquire();
    std::stop_source stop;
    stop.request_stop();
    for (int i = 0; i < 5; ++i) {
      const auto wait = begin(form::callback, mutex{locks, "name"}.async_acquire(
                                                  {.stop = stop.get_token()}, std::nullopt));
      ASSERT_TRUE(eventually([&] { return wait->ended(); }));
    }
    // All that was asked for has been answered by the time a later wait ends.
    const auto last = begin(form::callback, mutex{locks, "name"}.async_acquire({}, duration{20ms}));
    ASSERT_TRUE(eventually([&] { return last->ended(); }));
    EXPECT_TRUE(
        eventually([&] { return holder.look("name").line.empty(); }, stage().bounds().wake_up));
  });
}

TEST_P(async, every_form_of_every_kind_tells_a_failure) {
  play([this] {
    const client holder = stage().connect();
    with_every_form_and_kind(stage(), [&](const lock_kind& kind, form how) {
      const client locks = stage().connect();
      const auto held = kind.shut_out(holder, "name");
      const auto wait = begin(how, kind.describe(locks, "name", {}, std::nullopt));
      auto later = kind.describe(locks, "name", {}, std::nullopt);
      ASSERT_TRUE(line_reaches(holder, "name", 1));
      locks.close();
      ASSERT_TRUE(eventually([&] { return wait->ended(); }));
      EXPECT_EQ(wait->failure(), errc::closed);
      EXPECT_TRUE(line_reaches(holder, "name", 0));
      // Begun too late: a callback is refused at once, the others find it where they look.
      if (how == form::callback) {
        EXPECT_EQ(code_of([&] { begin(how, std::move(later)); }), errc::closed);
      } else {
        const auto refused = begin(how, std::move(later));
        ASSERT_TRUE(refused->ended());
        EXPECT_EQ(refused->failure(), errc::closed);
      }
    });
  });
}

TEST_P(async, an_acquire_begins_once_and_one_that_never_begins_does_nothing) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    static_cast<void>(lock.async_acquire());
    EXPECT_TRUE(locks.look("name").holders.empty());

    auto wanted = lock.async_acquire({}, duration{20s});
    const auto first = std::make_shared<begun<hold>>();
    const auto keep = [first](acquire_result result) { first->end(std::move(result)); };
    std::move(wanted).start(keep);
    EXPECT_EQ(code_of([&] { std::move(wanted).start(keep); }), errc::not_held);
    ASSERT_TRUE(eventually([&] { return first->ended(); }));
    EXPECT_TRUE(first->hold());
    first->hold()->release();
  });
}

TEST_P(async, a_thousand_waits_take_no_threads) {
  play([this] {
    constexpr std::size_t names = 50;
    constexpr std::size_t waits_per_name = 20;
    const client holder = steady();
    const client locks = steady();
    const std::vector<lock_kind> kinds = kinds_of(stage());
    {
      // Every thread a client ever has is started: by a grant, a wait, and one that is given up.
      auto first = mutex{holder, "first"}.acquire();
      const auto given_up = begin(form::callback, mutex{locks, "first"}.async_acquire({}, 20ms));
      ASSERT_TRUE(eventually([&] { return given_up->ended(); }));
      const auto granted = begin(form::callback, mutex{locks, "first"}.async_acquire());
      first.release();
      ASSERT_TRUE(eventually([&] { return granted->ended(); }));
      granted->hold()->release();
    }
    const std::size_t threads_before = threads_now();
    for (const form how : all_forms) {
      SCOPED_TRACE(to_string(how));
      std::vector<hold> held;
      std::vector<std::shared_ptr<begun<hold>>> waits;
      for (std::size_t i = 0; i < names; ++i) {
        const std::string name = "name" + std::to_string(i);
        const lock_kind& kind = kinds[i % kinds.size()];
        held.push_back(kind.shut_out(holder, name));
        for (std::size_t k = 0; k < waits_per_name; ++k) {
          waits.push_back(begin(how, kind.describe(locks, name, {}, duration{60s})));
        }
      }
      ASSERT_EQ(waits.size(), 1000U);
      for (std::size_t i = 0; i < names; ++i) {
        const std::string name = "name" + std::to_string(i);
        ASSERT_TRUE(eventually([&] { return !holder.look(name).line.empty(); }));
      }
      EXPECT_EQ(threads_now(), threads_before);
      held.clear();
      std::size_t most_threads = 0;
      EXPECT_TRUE(eventually([&] {
        most_threads = std::max(most_threads, threads_now());
        return release_granted(waits) == 0;
      }));
      EXPECT_EQ(most_threads, threads_before);
      EXPECT_TRUE(std::all_of(waits.begin(), waits.end(),
                              [](const auto& each) { return each->hold().has_value(); }));
    }
  });
}

TEST_P(async, continuations_run_where_they_were_told_to) {
  play([this] {
    for (const form how : {form::callback, form::coroutine}) {
      SCOPED_TRACE(to_string(how));
      patient_executor of_client;
      patient_executor of_acquire;
      options options;
      options.executor = of_client.as_function();
      const client told = stage().connect(options);
      const client untold = stage().connect();
      mutex lock{told, "name"};

      const auto first = begin(how, lock.async_acquire());
      ASSERT_TRUE(eventually([&] { return of_client.waiting() == 1; }));
      EXPECT_FALSE(first->ended());
      EXPECT_EQ(of_client.run(), 1U);
      EXPECT_TRUE(first->ended());
      EXPECT_EQ(first->thread(), std::this_thread::get_id());
      first->hold().reset();

      const auto second = begin(how, lock.async_acquire().resume_on(of_acquire.as_function()));
      ASSERT_TRUE(eventually([&] { return of_acquire.waiting() == 1; }));
      EXPECT_EQ(of_client.waiting(), 0U);
      EXPECT_EQ(of_acquire.run(), 1U);
      EXPECT_EQ(second->thread(), std::this_thread::get_id());
      second->hold().reset();

      // Without an executor: always the same thread of the client's own.
      std::set<std::thread::id> threads;
      for (int i = 0; i < 3; ++i) {
        const auto each = begin(how, mutex{untold, "name"}.async_acquire());
        ASSERT_TRUE(eventually([&] { return each->ended(); }));
        threads.insert(each->thread());
        each->hold().reset();
      }
      EXPECT_EQ(threads.size(), 1U);
      EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
    }
  });
}

TEST_P(async, an_executor_that_refuses_is_passed_over) {
  play([this] {
    const client locks = stage().connect();
    const auto refusing = [](const std::function<void()>&) { throw std::bad_function_call{}; };
    const auto wait =
        begin(form::callback, mutex{locks, "name"}.async_acquire().resume_on(refusing));
    ASSERT_TRUE(eventually([&] { return wait->ended(); }));
    EXPECT_TRUE(wait->hold());
    wait->hold().reset();
  });
}

TEST_P(async, a_coroutine_destroyed_while_it_waits_leaves_the_line) {
  play([this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    for (const lock_kind& kind : kinds_of(stage())) {
      SCOPED_TRACE(kind.name);
      auto held = kind.shut_out(holder, "name");
      const auto never = std::make_shared<begun<hold>>();
      auto waiting = await_owned(kind.describe(locks, "name", {}, std::nullopt), never);
      ASSERT_TRUE(line_reaches(holder, "name", 1));
      waiting.destroy();
      EXPECT_TRUE(line_reaches(holder, "name", 0));
      held.release();
      EXPECT_FALSE(never->ended());
      EXPECT_TRUE(eventually([&] { return holder.look("name").holders.empty(); }));
    }
  });
}

TEST_P(async, a_hold_that_arrives_for_a_destroyed_coroutine_is_released) {
  play([this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    patient_executor later;
    auto held = mutex{holder, "name"}.acquire();
    const auto never = std::make_shared<begun<hold>>();
    auto waiting = await_owned(lock.async_acquire().resume_on(later.as_function()), never);
    ASSERT_TRUE(line_reaches(holder, "name", 1));
    held.release();
    ASSERT_TRUE(eventually([&] { return later.waiting() == 1; }));
    EXPECT_EQ(holder.look("name").holders.size(), 1U);  // granted; the coroutine does not know yet
    waiting.destroy();
    EXPECT_EQ(later.run(), 1U);
    EXPECT_FALSE(never->ended());
    EXPECT_TRUE(eventually([&] { return holder.look("name").holders.empty(); }));
  });
}

TEST_P(async, a_hold_whose_continuation_is_dropped_is_released) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    for (const form how : {form::callback, form::future}) {
      SCOPED_TRACE(to_string(how));
      auto later = std::make_unique<patient_executor>();
      auto wait = begin(how, lock.async_acquire().resume_on(later->as_function()));
      ASSERT_TRUE(eventually([&] { return later->waiting() == 1; }));
      EXPECT_EQ(locks.look("name").holders.size(), 1U);
      later.reset();  // an executor that ends without running what it was given
      wait.reset();
      EXPECT_TRUE(eventually([&] { return locks.look("name").holders.empty(); }));
    }
  });
}

TEST_P(async, a_lock_object_may_end_before_its_acquire_begins) {
  play([this] {
    const client locks = stage().connect();
    auto standing = std::make_unique<mutex>(locks, "name");
    standing->lock();
    auto wanted = standing->async_acquire();
    standing.reset();  // and what its lock() held is free
    const auto wait = begin(form::callback, std::move(wanted));
    ASSERT_TRUE(eventually([&] { return wait->ended(); }));
    EXPECT_TRUE(wait->hold());
    wait->hold().reset();
  });
}

}  // namespace
}  // namespace crosslock::conformance
