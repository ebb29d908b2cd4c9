// The optimistic way: no update is lost, however many write, and none is written twice.
#include "conformance/fixture.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

std::string one_more(const std::string& number) {
  return std::to_string(number.empty() ? 1 : std::stoi(number) + 1);
}

class optimistic : public conformance_case {
 protected:
  /// On an engine without cells the first object says so, and the case is over.
  void play_with_cells(std::initializer_list<ability> needs, const std::function<void()>& body) {
    play(needs, [&] {
      if (stage().traits().cells) return body();
      const client locks = stage().connect();
      EXPECT_EQ(code_of([&] { versioned(locks, "value"); }), errc::unsupported);
    });
  }
  void play_with_cells(const std::function<void()>& body) { play_with_cells({}, body); }
};
CONFORMANCE_ON_EVERY_STAGE(optimistic);

TEST_P(optimistic, sixty_four_writers_lose_no_update) {
  play_with_cells([this] {
    constexpr int writers = 64;
    constexpr int times = 5;
    std::atomic<int> ready{0};
    std::atomic<std::uint64_t> retries{0};
    {
      thread_group threads{stage().clock()};
      for (int i = 0; i < writers; ++i) {
        threads.start([&] {
          const client locks = stage().connect();
          versioned number{locks, "number"};
          // The first try of all begins with the same version, so that they are sure to meet.
          bool met = false;
          for (int k = 0; k < times; ++k) {
            const auto done = number.update([&](const std::string& before) {
              if (!std::exchange(met, true)) {
                ++ready;
                EXPECT_TRUE(eventually([&] { return ready == writers; }, 60s));
              }
              return one_more(before);
            });
            EXPECT_TRUE(done);
          }
          retries += number.retries();
        });
      }
    }
    const client locks = stage().connect();
    EXPECT_EQ(versioned(locks, "number").read().value, std::to_string(writers * times));
    EXPECT_GE(retries, static_cast<std::uint64_t>(writers - 1));
  });
}

TEST_P(optimistic, sixteen_processes_lose_no_update) {
  play_with_cells({ability::processes}, [this] {
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 16; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), 30s));
      actors.back()->send("update number 20");
    }
    for (const auto& each : actors) EXPECT_TRUE(each->answer().starts_with("done"));
    const client locks = stage().connect();
    EXPECT_EQ(versioned(locks, "number").read().value, "320");
  });
}

TEST_P(optimistic, compare_and_set_refuses_a_version_that_has_passed) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    versioned mine{locks, "value"};
    versioned theirs{others, "value"};
    EXPECT_EQ(mine.read().version, 0U);
    EXPECT_EQ(mine.read().value, "");
    const auto first = mine.compare_and_set(0, "first");
    ASSERT_TRUE(first);
    EXPECT_FALSE(theirs.compare_and_set(0, "too late"));
    const auto second = theirs.compare_and_set(*first, "second");
    ASSERT_TRUE(second);
    EXPECT_GT(*second, *first);
    EXPECT_FALSE(mine.compare_and_set(*first, "stale"));
    EXPECT_EQ(mine.read().value, "second");
    EXPECT_EQ(mine.read().version, *second);
    EXPECT_EQ(mine.name().str(), "value");
  });
}

TEST_P(optimistic, an_update_can_give_up_and_says_what_it_wrote) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    versioned mine{locks, "value"};
    versioned theirs{others, "value"};
    EXPECT_FALSE(mine.update([](const std::string&) { return std::optional<std::string>{}; }));
    EXPECT_EQ(mine.read().version, 0U);
    int asked = 0;
    const auto done = mine.update([&](const std::string& before) {
      if (++asked <= 2) theirs.update(one_more);
      return one_more(before);
    });
    ASSERT_TRUE(done);
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(done->retries, 2U);
    EXPECT_EQ(mine.retries(), 2U);
    EXPECT_EQ(done->value, "3");
    EXPECT_EQ(mine.read().version, done->version);
    EXPECT_THROW(mine.update([](const std::string&) -> std::string {
      throw std::runtime_error{"of the user's own"};
    }),
                 std::runtime_error);
    EXPECT_EQ(mine.read().value, "3");
  });
}

TEST_P(optimistic, tries_time_and_a_stop_end_an_update_that_never_wins) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    versioned mine{locks, "value"};
    versioned theirs{others, "value"};
    std::stop_source stop;
    int asked = 0;
    const auto never_first = [&](const std::string&) {
      theirs.update(one_more);
      if (++asked == 20) stop.request_stop();
      return std::string{"ours"};
    };
    EXPECT_FALSE(mine.update(never_first, {.wait = {}, .tries = 3, .stop = {}}));
    EXPECT_EQ(asked, 3);
    const time_point began = stage().now();
    EXPECT_FALSE(mine.update(never_first, {.wait = 50ms, .tries = 14, .stop = {}}));
    EXPECT_LE(stage().now() - began, 50ms + 5s);
    EXPECT_FALSE(mine.update(never_first, {.wait = {}, .stop = stop.get_token()}));
    EXPECT_EQ(asked, 20);
    EXPECT_FALSE(mine.update(never_first, {.wait = {}, .stop = stop.get_token()}));
    EXPECT_EQ(asked, 20);
    EXPECT_EQ(mine.read().value, "20");
  });
}

TEST_P(optimistic, an_update_whose_answer_was_lost_counts_once) {
  play_with_cells({ability::server_faults}, [this] {
    options how;
    how.timeout = 1s;
    const client locks = stage().connect(how);
    versioned number{locks, "number"};
    EXPECT_TRUE(number.update(one_more));
    stage().lose_next_answer(observer::verb::swap_cell);
    const auto done = number.update(one_more);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->retries, 0U);  // the repeated request found its own work
    EXPECT_EQ(number.read().value, "2");
  });
}

TEST_P(optimistic, when_others_wrote_behind_a_lost_answer_nobody_guesses) {
  play_with_cells({ability::server_faults}, [this] {
    options how;
    how.timeout = 500ms;
    how.retry.base = 2s;  // time for others
    how.retry.cap = 2s;
    const client locks = stage().connect(how);
    const client others = stage().connect();
    versioned mine{locks, "number"};
    versioned theirs{others, "number"};
    EXPECT_TRUE(theirs.update(one_more));
    stage().lose_next_answer(observer::verb::swap_cell);
    thread_group threads{stage().clock()};
    threads.start([&] {
      try {
        mine.update(one_more);
        ADD_FAILURE() << "somebody has guessed";
      } catch (const error& why) {
        EXPECT_TRUE(why.outcome_unknown()) << why.what();
      }
    });
    EXPECT_TRUE(eventually([&] { return theirs.read().value == "2"; }));
    EXPECT_TRUE(theirs.update(one_more));
    threads.join();
    EXPECT_EQ(theirs.read().value, "3");
  });
}

TEST_P(optimistic, a_closed_client_says_so) {
  play_with_cells([this] {
    const client locks = stage().connect();
    versioned value{locks, "value"};
    EXPECT_TRUE(value.update(one_more));
    locks.close();
    EXPECT_EQ(code_of([&] { (void)value.read(); }), errc::closed);
    EXPECT_EQ(code_of([&] { (void)value.compare_and_set(0, "x"); }), errc::closed);
    EXPECT_EQ(code_of([&] { value.update(one_more); }), errc::closed);
    EXPECT_EQ(code_of([&] { versioned(locks, "other"); }), errc::closed);
  });
}

TEST_P(optimistic, clients_of_different_prefixes_have_different_values) {
  play_with_cells([this] {
    options how;
    how.prefix = "team/";
    const client ours = stage().connect(how);
    const client all = stage().connect();
    versioned number{ours, "number"};
    EXPECT_TRUE(number.update(one_more));
    EXPECT_EQ(number.name().str(), "number");
    EXPECT_EQ(versioned(all, "number").read().version, 0U);
    EXPECT_EQ(versioned(all, "team/number").read().value, "1");
  });
}

}  // namespace
}  // namespace crosslock::conformance
