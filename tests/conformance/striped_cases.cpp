// Many keys, few locks: the same stripe for everybody, their number agreed on, sets in order.
#include "conformance/fixture.hpp"
#include "conformance/multi_work.hpp"

#include <atomic>
#include <map>
#include <random>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE_UNWAITING(striped);

TEST_P(striped, a_key_has_the_same_lock_for_everybody) {
  play([this] {
    const client locks = stage().connect();
    const client other = stage().connect();
    if (!stage().traits().cells) {
      EXPECT_EQ(code_of([&] { striped_mutex(locks, "users", 64); }), errc::unsupported);
      return;
    }
    striped_mutex mine{locks, "users", 64};
    striped_mutex theirs{other, "users", 64};
    EXPECT_EQ(mine.stripes(), 64U);
    EXPECT_EQ(mine.name(), "users");
    // The contract: anybody can compute the name of the lock.
    EXPECT_EQ(mine.stripe_of("alice"), 52U);
    EXPECT_EQ(mine.of("alice").name().str(), "users#00052");
    EXPECT_EQ(&mine.of("alice"), &mine.of("alice"));
    auto held = mine.acquire("alice");
    EXPECT_FALSE(theirs.try_acquire("alice"));
    EXPECT_FALSE(theirs.try_acquire_for("alice", 10ms));
    EXPECT_FALSE(mutex(other, "users#00052").try_acquire());
    EXPECT_TRUE(theirs.try_acquire("bob"));
    held.release();
    EXPECT_TRUE(theirs.async_acquire("alice").future().valid());
    EXPECT_TRUE(theirs.try_acquire_for("alice", 20s));
  });
}

TEST_P(striped, another_number_of_stripes_is_a_conflict_that_names_both) {
  play([this] {
    if (!stage().traits().cells) return;
    const client locks = stage().connect();
    const client other = stage().connect();
    options how;
    how.prefix = "p/";
    const client prefixed = stage().connect(how);
    const striped_mutex first{locks, "users", 64};
    try {
      striped_mutex{other, "users", 128};
      FAIL() << "two numbers for one name";
    } catch (const error& why) {
      EXPECT_EQ(why.which(), errc::conflict);
      const std::string text = why.what();
      EXPECT_NE(text.find("64"), std::string::npos) << text;
      EXPECT_NE(text.find("128"), std::string::npos) << text;
    }
    const striped_mutex same{other, "users", 64};
    const striped_mutex elsewhere{prefixed, "users", 128};  // its name is p/users
    EXPECT_EQ(code_of([&] { striped_mutex(other, "p/users", 64); }), errc::conflict);
  });
}

TEST_P(striped, many_who_come_first_agree_on_one_number) {
  play([this] {
    if (!stage().traits().cells) return;
    std::atomic<int> agreed{0};
    std::atomic<int> conflicts{0};
    thread_group threads{stage().clock()};
    for (std::uint32_t t = 0; t < 8; ++t) {
      threads.start([&, t] {
        const client locks = stage().connect();
        const errc code = code_of([&] { striped_mutex(locks, "users", 10 + t % 2); });
        ++(code == errc{} ? agreed : conflicts);
      });
    }
    threads.join();
    EXPECT_EQ(agreed, 4);
    EXPECT_EQ(conflicts, 4);
  });
}

TEST_P(striped, a_first_use_whose_answer_is_lost_still_agrees) {
  play({ability::server_faults}, [this] {
    if (!stage().traits().cells) return;
    options how;
    how.timeout = 200ms;
    const client locks = stage().connect(how);
    stage().lose_next_answer(observer::verb::swap_cell);
    const striped_mutex first{locks, "users", 7};
    const client other = stage().connect();
    EXPECT_EQ(code_of([&] { striped_mutex(other, "users", 8); }), errc::conflict);
  });
}

TEST_P(striped, bad_numbers_and_names_are_refused_before_anything_is_written) {
  play([this] {
    if (!stage().traits().cells) return;
    const client locks = stage().connect();
    EXPECT_EQ(code_of([&] { striped_mutex(locks, "users", 0); }), errc::conflict);
    EXPECT_EQ(code_of([&] { striped_mutex(locks, "users", 65537); }), errc::conflict);
    EXPECT_EQ(code_of([&] { striped_mutex(locks, "", 8); }), errc::invalid_name);
    const std::string longest(506, 'x');
    EXPECT_EQ(code_of([&] { striped_mutex(locks, longest + 'x', 8); }), errc::invalid_name);
    striped_mutex longest_name{locks, longest, 65536};
    EXPECT_TRUE(longest_name.try_acquire("key"));
    const striped_mutex users{locks, "users", 8};  // nothing was written before
  });
}

TEST_P(striped, a_set_of_keys_is_one_hold_with_a_fence_for_each_key) {
  play([this] {
    if (!stage().traits().cells) return;
    const client locks = stage().connect();
    const client other = stage().connect();
    striped_mutex mine{locks, "users", 2};
    striped_mutex theirs{other, "users", 2};
    std::vector<std::string> keys;
    for (int i = 0; i < 10; ++i) keys.push_back("key" + std::to_string(i));
    auto held = mine.all_of(keys).acquire();
    ASSERT_EQ(held.fences().size(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t k = 0; k < keys.size(); ++k) {
        const bool same = mine.stripe_of(keys[i]) == mine.stripe_of(keys[k]);
        EXPECT_TRUE(!same || held.fences()[i] == held.fences()[k]);
      }
      EXPECT_FALSE(theirs.try_acquire(keys[i]));
    }
    EXPECT_EQ(locks.list("users").size(), 2U);
    held.release();
    EXPECT_TRUE(theirs.all_of({"key0", "key1"}).try_acquire());
  });
}

TEST_P(striped, sets_of_keys_in_any_order_never_deadlock) {
  play([this] {
    if (!stage().traits().cells) return;
    constexpr int times = 10;
    std::atomic<std::int64_t> expected{0};
    {
      thread_group threads{stage().clock()};
      for (unsigned t = 0; t < 6; ++t) {
        threads.start([&, t] {
          const client locks = steady();
          striped_mutex stripes{locks, "users", 5};
          std::mt19937 random{t};
          for (int i = 0; i < times; ++i) {
            std::vector<std::string> keys;
            for (int k = 0; k < 3; ++k) keys.push_back("key" + std::to_string(random() % 50));
            auto held = stripes.all_of(keys).acquire();
            // The protected numbers are those of the stripes, each once.
            std::map<std::string, fence> numbers;
            for (std::size_t k = 0; k < keys.size(); ++k) {
              numbers[stripes.of(keys[k]).name().str()] = held.fences()[k];
            }
            for (const auto& [name, token] : numbers) {
              const std::int64_t before = stage().resource().read(name);
              EXPECT_TRUE(stage().resource().write(name, token, before + 1));
              ++expected;
            }
          }
        });
      }
    }
    std::int64_t sum = 0;
    for (int i = 0; i < 5; ++i) sum += stage().resource().read("users#0000" + std::to_string(i));
    EXPECT_EQ(sum, expected);
  });
}

}  // namespace
}  // namespace crosslock::conformance
