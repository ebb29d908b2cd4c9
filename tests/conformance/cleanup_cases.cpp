// When it is over, nothing is left: on the server (every case looks for that), and in the process.
#include "conformance/fixture.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

std::ptrdiff_t count_entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator{folder}, {});
}

class cleanup : public conformance_case {
 protected:
  /// Everything that starts threads, opens descriptors or stores things.
  void use_everything() {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    const client others = stage().connect();
    mutex lock{locks, "name"};
    mutex same{others, "name"};
    recursive_mutex recursive{others, "recursive"};
    const std::scoped_lock guard{recursive};
    auto held = lock.acquire();
    std::stop_source stop;
    std::atomic<int> called{0};
    same.acquire_async([&](const acquire_result&) { ++called; }, {.stop = stop.get_token()});
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_FALSE(same.try_acquire_for(50ms)); });
    threads.start([&] { EXPECT_FALSE(lock.try_acquire_for(50ms)); });
    threads.join();
    const std::stop_callback told{held.lost(), [&] { ++called; }};
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return called == 1; }));
    EXPECT_TRUE(others.break_lock("name", held.owner()));
    EXPECT_TRUE(eventually([&] { return called == 2; }));
  }

  /// Whoever stands for the network in this process may close what it has a moment later.
  auto steady_descriptors() {
    auto seen = count_entries("/proc/self/fd");
    for (int same = 0; same < 10; ++same) {
      stage().sleep(20ms);
      const auto now = count_entries("/proc/self/fd");
      if (std::exchange(seen, now) != now) same = 0;
    }
    return seen;
  }
};
CONFORMANCE_ON_EVERY_STAGE(cleanup);

TEST_P(cleanup, threads_and_descriptors_are_given_back) {
  play([this] {
    use_everything();  // whatever is made once in a process
    const auto threads = count_entries("/proc/self/task");
    const auto descriptors = steady_descriptors();
    for (int i = 0; i < 3; ++i) use_everything();
    EXPECT_TRUE(eventually([&] { return count_entries("/proc/self/task") <= threads; }));
    // Whoever stands for the network in this process may learn of the end a moment later.
    EXPECT_TRUE(eventually([&] { return count_entries("/proc/self/fd") == descriptors; }))
        << count_entries("/proc/self/fd") << " instead of " << descriptors;
  });
}

TEST_P(cleanup, many_names_leave_nothing_behind) {
  play([this] {
    const client locks = stage().connect();
    for (int i = 0; i < 2000; ++i) {
      mutex lock{locks, "name/" + std::to_string(i)};
      const std::scoped_lock guard{lock};
    }
    EXPECT_TRUE(locks.list().empty());
  });
}

TEST_P(cleanup, closing_ends_holds_and_waits_and_leaves_nothing_behind) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const client viewer = stage().connect();
    mutex lock{locks, "name"};
    mutex waiting{others, "name"};
    auto held = lock.acquire();
    std::atomic<int> called{0};
    std::atomic<int> told{0};
    const std::stop_callback on_loss{held.lost(), [&] { ++told; }};
    waiting.acquire_async([&](const acquire_result& result) {
      EXPECT_TRUE(result.failure);
      ++called;
    });
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_EQ(code_of([&] { waiting.lock(); }), errc::closed); });
    EXPECT_TRUE(line_reaches(viewer, "name", 1));
    others.close();
    threads.join();
    EXPECT_TRUE(eventually([&] { return called == 1; }));
    EXPECT_TRUE(line_reaches(viewer, "name", 0));
    locks.close();
    locks.close();
    EXPECT_TRUE(eventually([&] { return told == 1; }));
    EXPECT_EQ(held.lost_reason(), loss_reason::closed);
    EXPECT_EQ(held.release(), release_result::lost);
    EXPECT_TRUE(viewer.list().empty());
    EXPECT_EQ(code_of([&] { lock.lock(); }), errc::closed);
    EXPECT_EQ(code_of([&] { (void)locks.look("name"); }), errc::closed);
    EXPECT_EQ(code_of([&] { (void)locks.list(); }), errc::closed);
    EXPECT_EQ(code_of([&] { mutex{locks, "other"}; }), errc::closed);
  });
}

TEST_P(cleanup, a_client_destroyed_while_holds_live_changes_nothing_for_them) {
  play({ability::timely}, [this] {
    const client viewer = stage().connect();
    std::optional<hold> held;
    std::unique_ptr<mutex> lock;
    {
      const client locks = steady();
      lock = std::make_unique<mutex>(locks, "name");
      held = lock->acquire();
    }
    lock.reset();
    stage().sleep(2 * steady_lease());
    EXPECT_TRUE(held->valid());  // renewed all the while
    EXPECT_EQ(viewer.look("name").holders.size(), 1U);
    EXPECT_EQ(held->release(), release_result::released);
    EXPECT_TRUE(viewer.look("name").holders.empty());
    held.reset();
  });
}

TEST_P(cleanup, a_mutex_destroyed_while_locked_frees_the_name) {
  play([this] {
    const client locks = stage().connect();
    {
      mutex lock{locks, "plain"};
      lock.lock();
      recursive_mutex recursive{locks, "recursive"};
      recursive.lock();
      recursive.lock();
      EXPECT_EQ(locks.list().size(), 2U);
    }
    EXPECT_TRUE(locks.list().empty());
  });
}

/// Looks, as the last static object to go, whether the hold was given back.
struct verdict_at_exit {
  std::shared_ptr<listener> heard;
  ~verdict_at_exit() {
    if (heard->releases() != std::vector{release_result::released}) std::_Exit(1);
  }
};

[[noreturn]] void exit_with_a_static_hold(stage& where) {
  static const verdict_at_exit verdict{std::make_shared<listener>()};
  options how;
  how.observer = verdict.heard;
  static mutex lock{where.connect(how), "static"};
  static const hold held = lock.acquire();
  std::exit(0);
}

TEST_P(cleanup, a_hold_in_a_static_object_is_given_back_at_exit) {
  play({ability::fork}, [this] {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(exit_with_a_static_hold(stage()), testing::ExitedWithCode(0), "");
  });
}

}  // namespace
}  // namespace crosslock::conformance
