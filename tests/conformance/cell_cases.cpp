// Cells: values that are compared and set, and refuse an older fence. Asked of the seam itself.
#include "client/core.hpp"
#include "conformance/fixture.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;
using result = seam::swap_answer::result;

class cells : public conformance_case {
 protected:
  /// On an engine without cells every verb says so, and the case is over.
  void play_with_cells(std::initializer_list<ability> needs, const std::function<void()>& body) {
    play(needs, [&] {
      if (stage().traits().cells) return body();
      const client locks = stage().connect();
      EXPECT_EQ(code_of([&] { (void)read(locks, "cell"); }), errc::unsupported);
      EXPECT_EQ(code_of([&] { (void)swap(locks, swap_of("cell", 0, "a")); }), errc::unsupported);
      EXPECT_EQ(code_of([&] { (void)open(locks, "cell", fence{1}); }), errc::unsupported);
    });
  }
  void play_with_cells(const std::function<void()>& body) { play_with_cells({}, body); }

  /// A request to write, by a new writer.
  seam::cell_swap swap_of(const std::string& name, std::uint64_t expected, std::string value,
                          fence token = {}) {
    owner_id::bytes_type id{};
    stage().clock().fill_random(id);
    return {.name = std::make_shared<const lock_name>(name),
            .expected = expected,
            .value = std::move(value),
            .writer = owner_id{id},
            .token = token};
  }

  static seam::cell read(const client& locks, const std::string& name) {
    return locks.core()->engine().read_cell(lock_name{name}, give_up(locks));
  }
  static seam::swap_answer swap(const client& locks, const seam::cell_swap& wanted,
                                duration patience = 5s) {
    return locks.core()->engine().swap_cell(wanted, give_up(locks, patience));
  }
  static std::optional<seam::cell> open(const client& locks, const std::string& name, fence token) {
    return locks.core()->engine().open_cell(lock_name{name}, token, give_up(locks));
  }
  /// And says that it may have been carried out.
  static bool stays_unanswered(const client& locks, const seam::cell_swap& wanted,
                               duration patience) {
    try {
      (void)swap(locks, wanted, patience);
      return false;
    } catch (const error& why) {
      return why.outcome_unknown();
    }
  }
  static time_point give_up(const client& locks, duration patience = 5s) {
    return locks.core()->clock().now() + patience;
  }
};
CONFORMANCE_ON_EVERY_STAGE(cells);

TEST_P(cells, among_many_threads_every_swap_that_succeeds_counts_once) {
  play_with_cells([this] {
    constexpr int threads_in_all = 8;
    constexpr int times = 40;
    std::vector<client> clients;
    for (int i = 0; i < 2; ++i) clients.push_back(stage().connect());
    std::atomic<int> readers{0};
    std::atomic<int> changed{0};
    thread_group threads{stage().clock()};
    for (int i = 0; i < threads_in_all; ++i) {
      threads.start([&, locks = clients[static_cast<std::size_t>(i) % clients.size()]] {
        seam::cell seen = read(locks, "counter");
        ++readers;  // all begin with the same version, so that they are sure to meet
        EXPECT_TRUE(eventually([&] { return readers == threads_in_all; }));
        for (int done = 0; done < times;) {
          const int next = seen.value.empty() ? 1 : std::stoi(seen.value) + 1;
          auto answer = swap(locks, swap_of("counter", seen.version, std::to_string(next)));
          ASSERT_NE(answer.outcome, result::shut_out);
          if (answer.outcome == result::swapped) {
            ++done;
            seen = {std::to_string(next), answer.now.version, {}};
          } else {
            ++changed;
            EXPECT_GT(answer.now.version, seen.version);
            seen = std::move(answer.now);
          }
        }
      });
    }
    threads.join();
    EXPECT_EQ(read(clients[0], "counter").value, std::to_string(threads_in_all * times));
    EXPECT_GE(changed, threads_in_all - 1);
  });
}

TEST_P(cells, a_stale_version_is_refused_and_told_the_present_one) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    EXPECT_EQ(read(locks, "cell"), seam::cell{});
    const auto first = swap(locks, swap_of("cell", 0, "first"));
    ASSERT_EQ(first.outcome, result::swapped);
    EXPECT_GT(first.now.version, 0U);
    EXPECT_EQ(swap(others, swap_of("cell", 0, "not there yet")).outcome, result::changed);
    const auto second = swap(others, swap_of("cell", first.now.version, "second"));
    ASSERT_EQ(second.outcome, result::swapped);
    EXPECT_GT(second.now.version, first.now.version);
    const auto stale = swap(locks, swap_of("cell", first.now.version, "stale"));
    EXPECT_EQ(stale.outcome, result::changed);
    EXPECT_EQ(stale.now, (seam::cell{"second", second.now.version, {}}));
    EXPECT_EQ(swap(locks, swap_of("cell", second.now.version + 1, "early")).outcome,
              result::changed);
    EXPECT_EQ(read(locks, "cell"), stale.now);
  });
}

TEST_P(cells, a_repeated_swap_answers_the_same_until_somebody_else_has_written) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const auto wanted = swap_of("cell", 0, "first");
    const auto first = swap(locks, wanted);
    for (const client& each : {locks, others}) {
      const auto again = swap(each, wanted);
      EXPECT_EQ(again.outcome, result::swapped);
      EXPECT_EQ(again.now.version, first.now.version);
    }
    const auto second = swap(others, swap_of("cell", first.now.version, "second"));
    EXPECT_EQ(second.outcome, result::swapped);
    EXPECT_EQ(swap(locks, wanted).outcome, result::changed);
    EXPECT_EQ(read(locks, "cell").value, "second");
  });
}

TEST_P(cells, a_higher_fence_shuts_out_the_lower_one) {
  play_with_cells([this] {
    const client locks = stage().connect();
    mutex lock{locks, "cell"};
    const fence lower = lock.acquire().fence();
    const fence higher = lock.acquire().fence();
    ASSERT_TRUE(open(locks, "cell", lower));
    const auto first = swap(locks, swap_of("cell", 0, "lower", lower));
    ASSERT_EQ(first.outcome, result::swapped);
    EXPECT_EQ(first.now.highest, lower);
    const auto opened = open(locks, "cell", higher);
    ASSERT_TRUE(opened);
    EXPECT_EQ(*opened, (seam::cell{"lower", first.now.version, higher}));
    const auto late = swap(locks, swap_of("cell", opened->version, "late", lower));
    EXPECT_EQ(late.outcome, result::shut_out);
    EXPECT_EQ(late.now, *opened);
    EXPECT_FALSE(open(locks, "cell", lower));
    EXPECT_EQ(swap(locks, swap_of("cell", opened->version, "none")).outcome, result::shut_out);
    EXPECT_EQ(swap(locks, swap_of("cell", opened->version, "higher", higher)).outcome,
              result::swapped);
    EXPECT_EQ(read(locks, "cell").value, "higher");
  });
}

TEST_P(cells, the_same_fence_writes_and_opens_many_times) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const fence token{fence::max_value};
    std::uint64_t version = 0;
    for (int i = 0; i < 5; ++i) {
      const auto opened = open(locks, "cell", token);
      ASSERT_TRUE(opened);
      EXPECT_EQ(opened->version, version);
      EXPECT_EQ(opened->highest, token);
      const auto written = swap(locks, swap_of("cell", version, std::to_string(i), token));
      ASSERT_EQ(written.outcome, result::swapped);
      EXPECT_GT(written.now.version, version);
      version = written.now.version;
    }
    EXPECT_EQ(read(locks, "cell"), (seam::cell{"4", version, token}));
  });
}

TEST_P(cells, a_swap_whose_answer_was_lost_is_idempotent) {
  play_with_cells({ability::server_faults}, [this] {
    const client locks = stage().connect();
    const auto wanted = swap_of("cell", 0, "first", fence{7});
    stage().lose_next_answer(observer::verb::swap_cell);
    EXPECT_TRUE(stays_unanswered(locks, wanted, 1s));
    const auto again = swap(locks, wanted);
    EXPECT_EQ(again.outcome, result::swapped);
    EXPECT_EQ(read(locks, "cell"), (seam::cell{"first", again.now.version, fence{7}}));
  });
}

TEST_P(cells, a_late_write_does_not_undo_a_newer_one_of_the_same_fence) {
  play_with_cells({ability::server_faults}, [this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    stage().delay_next_request(observer::verb::swap_cell, 3s);
    EXPECT_TRUE(stays_unanswered(locks, swap_of("cell", 0, "late", fence{7}), 500ms));
    const auto newer = swap(others, swap_of("cell", 0, "newer", fence{7}));
    EXPECT_EQ(newer.outcome, result::swapped);
    stage().sleep(4s);
    EXPECT_EQ(read(locks, "cell"), (seam::cell{"newer", newer.now.version, fence{7}}));
  });
}

TEST_P(cells, a_value_is_any_bytes_up_to_the_limit) {
  play_with_cells([this] {
    const client locks = stage().connect();
    std::string bytes(stage().traits().cell_bytes, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    std::uint64_t version = 0;
    for (const std::string& value :
         {std::string{}, std::string{"\0a\0\xff'\"", 6}, bytes, std::string{"short again"}}) {
      const auto written = swap(locks, swap_of("cell", version, value));
      ASSERT_EQ(written.outcome, result::swapped);
      version = written.now.version;
      EXPECT_TRUE(read(locks, "cell") == (seam::cell{value, version, {}})) << value.size();
    }
    EXPECT_EQ(code_of([&] { (void)swap(locks, swap_of("cell", version, bytes + 'x')); }),
              errc::unsupported);
    EXPECT_EQ(read(locks, "cell").value, "short again");
  });
}

TEST_P(cells, names_are_apart_from_each_other_and_from_locks) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const std::vector<std::string> names{"a", "A", "a ", "a/b", "a%2Fb", "\xc3\xa4", "a\xcc\x88"};
    mutex lock{locks, "a"};
    auto held = lock.acquire();
    for (const std::string& each : names) {
      EXPECT_EQ(read(locks, each), seam::cell{}) << each;
      EXPECT_EQ(swap(locks, swap_of(each, 0, "of " + each)).outcome, result::swapped) << each;
    }
    for (const std::string& each : names) EXPECT_EQ(read(locks, each).value, "of " + each);
    EXPECT_EQ(locks.list().size(), 1U);  // the lock
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_EQ(read(locks, "a").value, "of a");
  });
}

TEST_P(cells, they_survive_a_restart_of_the_server) {
  play_with_cells({ability::server_faults}, [this] {
    const client before = stage().connect();
    ASSERT_TRUE(open(before, "cell", fence{5}));
    const auto written = swap(before, swap_of("cell", 0, "kept", fence{5}));
    ASSERT_TRUE(open(before, "cell", fence{6}));
    stage().restart_server();
    const client after = stage().connect();
    EXPECT_EQ(read(after, "cell"), (seam::cell{"kept", written.now.version, fence{6}}));
    EXPECT_FALSE(open(after, "cell", fence{5}));
  });
}

}  // namespace
}  // namespace crosslock::conformance
