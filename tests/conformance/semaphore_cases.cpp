// k of n permits: never more than n, first come first served, and an n that all agree on.
#include "conformance/fixture.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class permits : public conformance_case {
 protected:
  /// Where an engine has no permits the typed error is all there is to see. True then.
  bool refused_by_this_engine(const client& locks) {
    if (stage().traits().permits) return false;
    EXPECT_EQ(code_of([&] { semaphore lock(locks, "name", 3); }), errc::unsupported);
    return true;
  }

  template <class Call>
  static std::string text_of(Call&& call) {
    try {
      call();
    } catch (const error& why) {
      EXPECT_EQ(why.which(), errc::conflict) << why.what();
      return why.what();
    }
    return {};
  }
  /// Throws what it fails with.
  void outcome_of(acquisition<hold> wanted) {
    const auto told = std::make_shared<std::atomic<bool>>(false);
    const auto got = std::make_shared<acquire_result>();
    std::move(wanted).start([told, got](acquire_result result) {
      *got = std::move(result);
      told->store(true);
    });
    EXPECT_TRUE(eventually([&] { return told->load(); }));
    if (got->failure) std::rethrow_exception(got->failure);
  }
  static void expect_names_both(const std::string& text, const std::string& one,
                                const std::string& other) {
    EXPECT_NE(text.find(one), std::string::npos) << text;
    EXPECT_NE(text.find(other), std::string::npos) << text;
  }
};
CONFORMANCE_ON_EVERY_STAGE(permits);

TEST_P(permits, there_are_never_more_than_there_are) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    semaphore ours{locks, "name", 5};
    semaphore theirs{others, "name", 5};
    EXPECT_EQ(ours.permits(), 5);
    auto two = ours.try_acquire(2);
    ASSERT_TRUE(two);
    EXPECT_EQ(two->mode(), claim_mode::permit);
    EXPECT_FALSE(theirs.try_acquire(4));
    EXPECT_FALSE(ours.try_acquire(4));
    auto three = theirs.try_acquire(3);
    ASSERT_TRUE(three);
    EXPECT_NE(two->fence(), three->fence());
    EXPECT_FALSE(ours.try_acquire());
    EXPECT_FALSE(theirs.try_acquire_for(5ms));
    EXPECT_EQ(two->release(), release_result::released);
    EXPECT_FALSE(ours.try_acquire(3));
    EXPECT_TRUE(ours.try_acquire(2));
    three.reset();
    EXPECT_TRUE(theirs.try_acquire(5));
    EXPECT_TRUE(others.look("name").holders.empty());
  });
}

TEST_P(permits, impossible_numbers_are_refused_before_any_request) {
  play([this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    semaphore lock{locks, "name", 3};
    const std::uint64_t before = stage().requests();
    for (const std::int32_t n : {0, -1, std::numeric_limits<std::int32_t>::min()}) {
      EXPECT_EQ(code_of([&] { semaphore bad(locks, "name", n); }), errc::conflict);
    }
    for (const std::int32_t k : {0, -1, 4, std::numeric_limits<std::int32_t>::max()}) {
      expect_names_both(text_of([&] { (void)lock.acquire(k); }), "3", std::to_string(k));
      expect_names_both(text_of([&] { (void)lock.try_acquire(k); }), "3", std::to_string(k));
      EXPECT_EQ(code_of([&] { lock.acquire_async([](const acquire_result&) {}, k); }),
                errc::conflict);
    }
    EXPECT_EQ(stage().requests(), before);
    EXPECT_TRUE(lock.try_acquire(3));
  });
}

TEST_P(permits, another_number_is_a_conflict_that_names_both_as_long_as_anybody_uses_it) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    semaphore three{locks, "name", 3};
    semaphore seven{others, "name", 7};
    {
      const hold held = three.acquire(2);
      expect_names_both(text_of([&] { (void)seven.try_acquire(); }), "3", "7");
      expect_names_both(text_of([&] { (void)seven.try_acquire_for(20s, 7); }), "3", "7");
      std::atomic<bool> told{false};
      seven.acquire_async([&](const acquire_result& got) {
        EXPECT_EQ(code_of([&] { std::rethrow_exception(got.failure); }), errc::conflict);
        told = true;
      });
      EXPECT_TRUE(eventually([&] { return told.load(); }));
      semaphore same_client{locks, "name", 7};
      expect_names_both(text_of([&] { (void)same_client.try_acquire(); }), "3", "7");
      EXPECT_TRUE(held.valid());
    }
    // Nobody uses it any more: now it may be of seven.
    const auto held = seven.try_acquire(7);
    ASSERT_TRUE(held);
    expect_names_both(text_of([&] { (void)three.try_acquire(); }), "3", "7");
  });
}

TEST_P(permits, a_lock_of_a_name_whose_permits_are_out_is_a_conflict_that_names_both_kinds) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    semaphore seats{locks, "name", 3};
    for (const client* each : {&locks, &others}) {
      mutex plain{*each, "name"};
      {
        const hold permit = seats.acquire();
        const auto refused = [](const std::string& text) {
          expect_names_both(text, "semaphore", "lock");
        };
        refused(text_of([&] { (void)plain.try_lock(); }));
        refused(text_of([&] { plain.lock(); }));
        refused(text_of([&] { (void)plain.try_lock_for(20s); }));
        refused(text_of([&] { outcome_of(plain.async_acquire()); }));
        if (stage().traits().shared) {
          shared_mutex readers{*each, "name"};
          refused(text_of([&] { (void)readers.try_lock_shared(); }));
          refused(text_of([&] { (void)readers.acquire_shared(); }));
          refused(text_of([&] { (void)readers.acquire(); }));
        }
        EXPECT_TRUE(permit.valid());
        EXPECT_TRUE(seats.try_acquire(2)) << "nothing is left of what was refused";
      }
      EXPECT_TRUE(plain.try_lock());
      plain.unlock();
    }
    EXPECT_TRUE(seats.try_acquire(3));
  });
}

TEST_P(permits, a_semaphore_of_a_locked_name_is_a_conflict_that_names_both_kinds) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    shared_mutex lock{locks, "name"};
    for (const client* each : {&locks, &others}) {
      semaphore seats{*each, "name", 3};
      for (const bool shared : {false, true}) {
        if (shared && !stage().traits().shared) continue;
        {
          const hold held = shared ? lock.acquire_shared() : lock.acquire();
          const auto refused = [](const std::string& text) {
            expect_names_both(text, "semaphore", "lock");
          };
          refused(text_of([&] { (void)seats.try_acquire(); }));
          refused(text_of([&] { (void)seats.acquire(3); }));
          refused(text_of([&] { (void)seats.try_acquire_for(20s); }));
          refused(text_of([&] { outcome_of(seats.async_acquire()); }));
          EXPECT_TRUE(held.valid());
        }
        EXPECT_TRUE(seats.try_acquire(3)) << "nothing is left of what was refused";
      }
    }
    EXPECT_TRUE(lock.try_acquire());
  });
}

TEST_P(permits, whoever_stands_in_line_is_not_disturbed_by_the_other_kind) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const client third = stage().connect();
    if (refused_by_this_engine(locks)) return;
    mutex plain{locks, "name"};
    mutex next{others, "name"};
    semaphore seats{third, "name", 3};
    auto held = std::make_optional(plain.acquire());
    std::mutex mutex;
    std::optional<hold> second;
    next.async_acquire().start([&](acquire_result got) {
      const std::lock_guard guard{mutex};
      second = std::move(got.hold);
    });
    EXPECT_TRUE(eventually([&] { return third.look("name").line.size() == 1; }));
    EXPECT_EQ(text_of([&] { (void)seats.acquire(); }).empty(), false);
    held.reset();
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard guard{mutex};
      return second.has_value();
    }));
    const std::lock_guard guard{mutex};
    ASSERT_TRUE(second);
    EXPECT_EQ(text_of([&] { (void)seats.try_acquire(); }).empty(), false);
    EXPECT_TRUE(second->valid());
  });
}

TEST_P(permits, a_try_never_fails_while_there_are_enough) {
  play([this] {
    constexpr int threads_each = 16;
    const client locks[] = {stage().connect(), stage().connect()};
    if (refused_by_this_engine(locks[0])) return;
    for (int round = 0; round < 10; ++round) {
      std::atomic<int> failed{0};
      std::atomic<int> in{0};
      thread_group threads{stage().clock()};
      for (const client& each : locks) {
        for (int t = 0; t < threads_each; ++t) {
          threads.start([&] {
            semaphore lock{each, "name", 2 * threads_each};
            const auto mine = lock.try_acquire();
            if (!mine) ++failed;
            ++in;
            EXPECT_TRUE(eventually([&] { return in == 2 * threads_each; }));
          });
        }
      }
      threads.join();
      EXPECT_EQ(failed, 0);
    }
  });
}

TEST_P(permits, tries_beside_waiters_that_fit_are_not_confused) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    semaphore lock{locks, "name", 4};
    semaphore theirs{others, "name", 4};
    auto held = lock.acquire(3);
    std::atomic<bool> in{false};
    thread_group threads{stage().clock()};
    threads.start([&] {
      const hold many = lock.acquire(4);
      in = true;
    });
    EXPECT_TRUE(line_reaches(locks, "name", 1));
    // One is left, but somebody who wants it, and more, was here before.
    if (stage().traits().first_come) {
      EXPECT_FALSE(lock.try_acquire());
      EXPECT_FALSE(theirs.try_acquire());
    }
    EXPECT_FALSE(in);
    held.release();
    threads.join();
    EXPECT_TRUE(lock.try_acquire(4));
  });
}

TEST_P(permits, a_request_for_all_is_not_starved_by_requests_for_one) {
  play([this] {
    constexpr std::int32_t n = 4;
    options how;
    how.who = "the-request-for-all";
    const client greedy = stage().connect(how);
    if (refused_by_this_engine(greedy)) return;
    const auto it_waits = [&] {
      const auto line = greedy.look("name").line;
      return std::any_of(line.begin(), line.end(), [&](const claim_info& each) {
        return each.who.find(how.who) != std::string::npos;
      });
    };
    struct visit {
      time_point asked;
      time_point in;
    };
    std::mutex guard;
    std::vector<visit> visits;
    std::atomic<bool> over{false};
    time_point waits = time_point::max();
    time_point leaves{};
    thread_group threads{stage().clock()};
    for (int i = 0; i < 8; ++i) {
      threads.start([&, i] {
        const client locks = stage().connect();
        semaphore lock{locks, "name", n};
        while (!over) {
          const time_point asked = stage().now();
          const hold mine = lock.acquire();
          const time_point in = stage().now();
          {
            const std::lock_guard locked{guard};
            visits.push_back({asked, in});
          }
          stage().sleep(2ms + i * 1ms);  // never all gone at once
        }
      });
    }
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard locked{guard};
      return visits.size() > 30;
    }));
    threads.start([&] {
      semaphore lock{greedy, "name", n};
      hold all = lock.acquire(n);
      stage().sleep(5ms);
      leaves = stage().now();
      all.release();
      over = true;
    });
    while (!over && !it_waits()) stage().sleep(1ms);
    if (!over) waits = stage().now();
    threads.join();
    if (!stage().traits().first_come) return;
    for (const visit& each : visits) EXPECT_FALSE(each.asked > waits && each.in < leaves);
  });
}

TEST_P(permits, first_come_is_first_served_where_it_is_promised) {
  play([this] {
    constexpr std::int32_t n = 3;
    constexpr std::int32_t requests[] = {3, 1, 2, 3, 2, 2, 1, 1};
    const client holder = stage().connect();
    if (refused_by_this_engine(holder)) return;
    semaphore held{holder, "name", n};
    auto all = held.acquire(n);
    std::mutex guard;
    std::vector<fence> fences(std::size(requests));
    thread_group threads{stage().clock()};
    for (std::size_t i = 0; i < std::size(requests); ++i) {
      threads.start([&, i] {
        const client locks = stage().connect();
        semaphore lock{locks, "name", n};
        const hold mine = lock.acquire(requests[i]);
        stage().sleep(2ms);
        const std::lock_guard locked{guard};
        fences[i] = mine.fence();
      });
      EXPECT_TRUE(line_reaches(holder, "name", i + 1));
    }
    all.release();
    threads.join();
    EXPECT_EQ(std::set<fence>(fences.begin(), fences.end()).size(), fences.size());
    if (!stage().traits().first_come) return;
    EXPECT_TRUE(std::is_sorted(fences.begin(), fences.end()));
  });
}

}  // namespace
}  // namespace crosslock::conformance
