// Several locks as one: the standard face, shared elements, acquires without a thread, misuse.
#include "conformance/async_forms.hpp"
#include "conformance/fixture.hpp"

#include <mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(multi_face);

TEST_P(multi_face, the_standard_guards_work) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    multi_lock both{locks, {"b", "a"}};
    mutex theirs{other, "a"};
    {
      const std::scoped_lock guard{both};
      EXPECT_FALSE(theirs.try_lock());
      EXPECT_EQ(both.fences().size(), 2U);
      EXPECT_FALSE(both.lost().stop_requested());
      EXPECT_EQ(code_of([&] { both.lock(); }), errc::would_deadlock);
      EXPECT_EQ(code_of([&] { (void)both.try_lock(); }), errc::would_deadlock);
    }
    EXPECT_EQ(code_of([&] { static_cast<void>(both.fences()); }), errc::not_held);
    both.unlock();  // of nothing: nothing
    theirs.lock();
    EXPECT_FALSE(both.try_lock());
    EXPECT_FALSE(both.try_lock_for(20ms));
    EXPECT_FALSE(both.try_lock_for(-1s));
    EXPECT_FALSE(both.try_lock_until(boot_clock::time_point::min()));
    theirs.unlock();
    std::unique_lock<multi_lock> guard{both, 20s};
    EXPECT_TRUE(guard.owns_lock());
  });
}

TEST_P(multi_face, its_end_releases_what_lock_holds) {
  play([this] {
    const client locks = stage().connect();
    {
      multi_lock both{locks, {"b", "a"}};
      both.lock();
    }
    EXPECT_TRUE(locks.look("a").holders.empty());
    EXPECT_TRUE(locks.look("b").holders.empty());
  });
}

TEST_P(multi_face, shared_elements_share) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    using element = multi_lock::element;
    const std::vector<element> mine{{locks, "map", claim_mode::shared}, {locks, "a"}};
    const std::vector<element> theirs{{other, "map", claim_mode::shared}, {other, "b"}};
    if (!stage().traits().shared) {
      EXPECT_EQ(code_of([&] { multi_lock{mine}; }), errc::unsupported);
      return;
    }
    auto first = multi_lock{mine}.acquire();
    auto second = multi_lock{theirs}.try_acquire();
    EXPECT_TRUE(second);
    EXPECT_FALSE(mutex(other, "map").try_acquire());
    second.reset();
    first.release();
    // Given both ways it is taken exclusively.
    const std::vector<element> mixed{
        {locks, "map", claim_mode::shared}, {locks, "map"}, {locks, "map", claim_mode::shared}};
    const auto third = multi_lock{mixed}.acquire();
    EXPECT_FALSE(shared_mutex(other, "map").try_acquire_shared());
    const std::vector<element> permits{{locks, "map", claim_mode::permit}};
    EXPECT_EQ(code_of([&] { multi_lock{permits}; }), errc::unsupported);
  });
}

TEST_P(multi_face, bad_lists_are_refused) {
  play([this] {
    const client locks = stage().connect();
    const std::vector<std::string> none;
    EXPECT_EQ(code_of([&] { multi_lock(locks, none); }), errc::invalid_name);
    EXPECT_EQ(code_of([&] { multi_lock(locks, {"good", ""}); }), errc::invalid_name);
    EXPECT_EQ(code_of([&] { multi_lock(locks, {"crosslock:{x"}); }), errc::invalid_name);
    multi_lock one{locks, {"name"}};
    auto held = one.acquire();
    auto moved = std::move(held);
    EXPECT_EQ(held.size(), 0U);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(held.release(), release_result::not_held);
    EXPECT_FALSE(held.lost().stop_possible());
    EXPECT_TRUE(moved.valid());
    locks.close();
    EXPECT_EQ(code_of([&] { static_cast<void>(one.try_acquire()); }), errc::closed);
  });
}

TEST_P(multi_face, every_asynchronous_form_grants_ends_in_time_and_can_be_stopped) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    multi_lock three{locks, {"c", "a", "b"}};
    for (const form how : all_forms) {
      SCOPED_TRACE(to_string(how));
      auto theirs = mutex{other, "b"}.acquire();
      const auto timed = begin(how, three.async_acquire({}, duration{50ms}));
      ASSERT_TRUE(eventually([&] { return timed->ended(); }));
      EXPECT_TRUE(timed->empty());
      EXPECT_TRUE(other.look("a").holders.empty());

      std::stop_source stop;
      const auto stopped = begin(how, three.async_acquire({.stop = stop.get_token()}));
      ASSERT_TRUE(line_reaches(other, "b", 1));
      stop.request_stop();
      ASSERT_TRUE(eventually([&] { return stopped->ended(); }));
      EXPECT_TRUE(stopped->empty());
      EXPECT_TRUE(other.look("a").holders.empty());

      const auto granted = begin(how, three.async_acquire({}, duration{20s}));
      ASSERT_TRUE(line_reaches(other, "b", 1));
      theirs.release();
      ASSERT_TRUE(eventually([&] { return granted->ended(); }));
      ASSERT_TRUE(granted->hold());
      EXPECT_TRUE(granted->hold()->valid());
      EXPECT_EQ(granted->hold()->fences().size(), 3U);
      EXPECT_EQ(granted->hold()->release(), release_result::released);
    }
  });
}

TEST_P(multi_face, an_asynchronous_failure_lets_go_of_what_was_taken) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    const auto theirs = mutex{other, "b"}.acquire();
    for (const form how : all_forms) {
      SCOPED_TRACE(to_string(how));
      const client closing = stage().connect();
      multi_lock both{{locks, "a"}, {closing, "b"}};
      const auto wait = begin(how, both.async_acquire());
      ASSERT_TRUE(line_reaches(other, "b", 1));
      closing.close();
      ASSERT_TRUE(eventually([&] { return wait->ended(); }));
      EXPECT_EQ(wait->failure(), errc::closed);
      EXPECT_TRUE(other.look("a").holders.empty());
      // A later one finds the client closed when its turn comes.
      const auto late = begin(how, both.async_acquire());
      ASSERT_TRUE(eventually([&] { return late->ended(); }));
      EXPECT_EQ(late->failure(), errc::closed);
      EXPECT_TRUE(other.look("a").holders.empty());
    }
  });
}

TEST_P(multi_face, a_coroutine_destroyed_on_the_way_lets_go_of_what_was_taken) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    auto theirs = mutex{other, "b"}.acquire();
    const auto never = std::make_shared<begun<multi_hold>>();
    auto waiting = await_owned(multi_lock{locks, {"b", "a"}}.async_acquire(), never);
    ASSERT_TRUE(line_reaches(other, "b", 1));
    EXPECT_EQ(other.look("a").holders.size(), 1U);
    waiting.destroy();
    EXPECT_TRUE(eventually([&] { return other.look("a").holders.empty(); }));
    EXPECT_TRUE(line_reaches(other, "b", 0));
    EXPECT_FALSE(never->ended());
  });
}

TEST_P(multi_face, the_continuation_runs_where_it_was_told_to) {
  play([this] {
    const client locks = stage().connect();
    multi_lock both{locks, {"b", "a"}};
    patient_executor later;
    const auto wait = begin(form::coroutine, both.async_acquire().resume_on(later.as_function()));
    ASSERT_TRUE(eventually([&] { return later.waiting() == 1; }));
    EXPECT_FALSE(wait->ended());
    EXPECT_EQ(later.run(), 1U);
    ASSERT_TRUE(wait->ended());
    EXPECT_EQ(wait->thread(), std::this_thread::get_id());
    EXPECT_TRUE(wait->hold());
    wait->hold().reset();
  });
}

TEST_P(multi_face, an_executor_that_ends_without_running_the_continuation_lets_go_of_all) {
  play([this] {
    const client locks = stage().connect();
    multi_lock both{locks, {"a", "b"}};
    auto later = std::make_unique<patient_executor>();
    const auto never = begin(form::callback, both.async_acquire().resume_on(later->as_function()));
    ASSERT_TRUE(eventually([&] { return later->waiting() == 1; }));
    EXPECT_EQ(locks.look("a").holders.size(), 1U);
    later.reset();
    EXPECT_TRUE(eventually([&] { return locks.look("a").holders.empty(); }));
    EXPECT_TRUE(eventually([&] { return locks.look("b").holders.empty(); }));
    EXPECT_FALSE(never->ended());
  });
}

TEST_P(multi_face, many_asynchronous_waits_all_get_their_turn) {
  play([this] {
    const client locks = steady();
    std::vector<std::shared_ptr<begun<multi_hold>>> waits;
    const std::vector<std::string> orders[] = {{"a", "b"}, {"b", "c", "a"}, {"c", "b"}};
    auto held = multi_lock{locks, {"a", "b", "c"}}.acquire();
    for (std::size_t i = 0; i < 60; ++i) {
      multi_lock each{locks, orders[i % 3]};
      waits.push_back(begin(all_forms[i % 3], each.async_acquire()));
    }
    held.release();
    std::size_t granted = 0;
    EXPECT_TRUE(eventually([&] {
      for (const auto& each : waits) {
        if (!each->ended() || !each->hold() || !each->hold()->valid()) continue;
        ++granted;
        each->hold()->release();
      }
      return granted == waits.size();
    }));
  });
}

}  // namespace
}  // namespace crosslock::conformance
