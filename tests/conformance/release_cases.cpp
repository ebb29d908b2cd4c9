// Giving back: unlock() and the end of a hold do not wait for the server, and nothing is lost by
// it; whoever wants to know what became of it waits, or is told.
#include "conformance/async_forms.hpp"
#include "conformance/fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE_UNWAITING(releasing_holds);

free_coroutine release_in_coroutine(hold held, std::promise<release_result>& told) {
  const release_result result = co_await held.async_release();
  told.set_value(result);
}

TEST_P(releasing_holds, what_was_unlocked_can_be_taken_at_once_by_the_same_client) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    fence last;
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(lock.try_lock()) << "met its own old hold at turn " << i;
      EXPECT_GT(lock.fence(), last);
      last = lock.fence();
      lock.unlock();
    }
  });
}

TEST_P(releasing_holds, other_threads_of_the_client_never_meet_an_old_hold_either) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    std::vector<fence> seen;
    thread_group threads{stage().clock()};
    for (int i = 0; i < 4; ++i) {
      threads.start([&] {
        for (int turn = 0; turn < 50; ++turn) {
          const std::scoped_lock guard{lock};
          if (!seen.empty()) {
            EXPECT_GT(lock.fence(), seen.back());
          }
          seen.push_back(lock.fence());
        }
      });
    }
    threads.join();
    EXPECT_EQ(seen.size(), 200U);
  });
}

TEST_P(releasing_holds, the_observer_is_told_once_what_became_of_each) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    {
      const client locks = heard_by(heard);
      mutex lock{locks, "name"};
      for (int i = 0; i < 10; ++i) {
        lock.lock();
        lock.unlock();
      }
      { const hold ends = lock.acquire(); }
      EXPECT_TRUE(eventually([&] { return heard->releases().size() == 11; }));
    }
    EXPECT_EQ(heard->releases(), std::vector<release_result>(11, release_result::released));
  });
}

TEST_P(releasing_holds, a_hold_that_was_broken_is_not_called_released) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = steady(heard);
    const client other = stage().connect();
    mutex lock{locks, "name"};
    lock.lock();
    const auto holders = other.look("name").holders;
    ASSERT_EQ(holders.size(), 1U);
    ASSERT_TRUE(other.break_lock("name", holders[0].owner));
    lock.unlock();
    EXPECT_TRUE(eventually([&] { return heard->releases().size() == 1; }));
    EXPECT_EQ(heard->releases(), std::vector{release_result::lost});
  });
}

TEST_P(releasing_holds, whoever_asks_for_the_result_gets_it_in_every_form) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    EXPECT_EQ(lock.acquire().release(), release_result::released);

    hold by_callback = lock.acquire();
    seam::park_word ended{0};
    release_result told = release_result::not_held;
    by_callback.release_async([&](release_result result) {
      told = result;
      ended.store(1);
      stage().clock().unpark(ended);
    });
    EXPECT_FALSE(by_callback.valid());
    while (ended.load() == 0) stage().clock().park(ended, 0, time_point::max());
    EXPECT_EQ(told, release_result::released);
    EXPECT_EQ(by_callback.release(), release_result::not_held);
    EXPECT_FALSE(locks.look("name").holders.size() > 0);
  });
}

TEST_P(releasing_holds, a_release_can_be_awaited) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    const auto result_of = [&](std::future<release_result> later) {
      EXPECT_TRUE(eventually([&] { return later.wait_for(0s) == std::future_status::ready; }));
      return later.get();
    };
    hold first = lock.acquire();
    EXPECT_EQ(result_of(first.async_release().future()), release_result::released);
    EXPECT_EQ(result_of(first.async_release().future()), release_result::not_held);
    std::promise<release_result> told;
    release_in_coroutine(lock.acquire(), told);
    EXPECT_EQ(result_of(told.get_future()), release_result::released);
  });
}

TEST_P(releasing_holds, closing_gives_all_back_and_waits_for_the_answers) {
  play([this] {
    const client other = stage().connect();
    {
      client locks = stage().connect();
      std::vector<hold> holds;
      for (int i = 0; i < 100; ++i) {
        holds.push_back(mutex{locks, "name-" + std::to_string(i)}.acquire());
      }
      locks.close();
    }
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(mutex(other, "name-" + std::to_string(i)).try_lock()) << i;
    }
  });
}

TEST_P(releasing_holds, one_that_waits_by_choice_is_done_when_unlock_returns) {
  play([this] {
    options how;
    how.unlock_waits = true;
    const client locks = stage().connect(how);
    const client other = stage().connect();
    mutex lock{locks, "name"};
    mutex theirs{other, "name"};
    for (int i = 0; i < 50; ++i) {
      lock.lock();
      lock.unlock();
      ASSERT_TRUE(theirs.try_lock()) << i;
      theirs.unlock();
      ASSERT_TRUE(eventually([&] { return other.look("name").holders.empty(); }));
    }
  });
}

TEST_P(releasing_holds, an_unlock_whose_answer_is_lost_is_carried_out_all_the_same) {
  play({ability::server_faults}, [this] {
    options how;
    if (!stage().traits().lease_is_session) how.lease = steady_lease();
    how.timeout = steady_lease() / 6;  // after such a silence another connection is tried
    const client locks = stage().connect(how);
    mutex lock{locks, "name"};
    lock.lock();
    stage().lose_next_answer(observer::verb::release);
    lock.unlock();
    // By its own client first of all: it must not meet its old hold.
    const auto held = lock.try_acquire_for(steady_lease() / 2);
    EXPECT_TRUE(held.has_value());
  });
}

TEST_P(releasing_holds, an_unlock_behind_which_the_process_forks_is_sent_once) {
  play({ability::fork}, [this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    for (int i = 0; i < 20; ++i) {
      lock.lock();
      lock.unlock();
      const pid_t child = ::fork();
      if (child == 0) ::_exit(0);
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(lock.try_lock()) << i;
      lock.unlock();
    }
    EXPECT_TRUE(eventually([&] { return locks.look("name").holders.empty(); }));
  });
}

}  // namespace
}  // namespace crosslock::conformance
