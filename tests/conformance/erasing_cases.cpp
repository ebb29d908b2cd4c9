// What nobody needs any more can be removed, and nothing that was read before works afterwards.
#include "client/core.hpp"
#include "conformance/fixture.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;
using result = seam::swap_answer::result;

class erasing : public conformance_case {
 protected:
  void play_with_cells(std::initializer_list<ability> needs, const std::function<void()>& body) {
    play(needs, [&] {
      if (stage().traits().cells) body();
    });
  }
  void play_with_cells(const std::function<void()>& body) { play_with_cells({}, body); }

  /// By a new writer.
  seam::cell_swap swap_of(std::uint64_t expected, std::string value, fence token = {}) {
    owner_id::bytes_type id{};
    stage().clock().fill_random(id);
    return {.name = std::make_shared<const lock_name>("cell"),
            .expected = expected,
            .value = std::move(value),
            .writer = owner_id{id},
            .token = token};
  }
  seam::cell_swap erasure_of(std::uint64_t expected, fence token = {}) {
    seam::cell_swap wanted = swap_of(expected, {}, token);
    wanted.erase = true;
    return wanted;
  }
  static seam::swap_answer swap(const client& locks, const seam::cell_swap& wanted,
                                duration patience = 5s) {
    return locks.core()->engine().swap_cell(wanted, locks.core()->clock().now() + patience);
  }
  static seam::cell read(const client& locks) {
    return locks.core()->engine().read_cell(lock_name{"cell"}, locks.core()->give_up());
  }
  /// And says that it may have been carried out.
  static bool stays_unanswered(const client& locks, const seam::cell_swap& wanted) {
    try {
      (void)swap(locks, wanted, 500ms);
      return false;
    } catch (const error& why) {
      return why.outcome_unknown();
    }
  }
  /// Waits for a latch that was counted down once, on a thread, until it is erased.
  void expect_told(const client& locks, const std::function<void()>& erase);
};
CONFORMANCE_ON_EVERY_STAGE(erasing);

TEST_P(erasing, an_erased_cell_is_as_if_never_written_and_its_versions_go_on) {
  play_with_cells([this] {
    const client locks = stage().connect();
    std::uint64_t highest = 0;
    // More often than a coarse clock moves on.
    for (int i = 0; i < 30; ++i) {
      const auto first = swap(locks, swap_of(0, "a"));
      ASSERT_EQ(first.outcome, result::swapped);
      EXPECT_GT(first.now.version, highest);
      const auto second = swap(locks, swap_of(first.now.version, "b"));
      ASSERT_EQ(second.outcome, result::swapped);
      highest = second.now.version;
      EXPECT_EQ(swap(locks, erasure_of(first.now.version)).outcome, result::changed);
      EXPECT_EQ(read(locks).value, "b");
      const auto gone = swap(locks, erasure_of(highest));
      EXPECT_EQ(gone.outcome, result::swapped);
      EXPECT_EQ(gone.now, seam::cell{});
      EXPECT_EQ(read(locks), seam::cell{});
      EXPECT_EQ(swap(locks, swap_of(highest, "stale")).outcome, result::changed);
      EXPECT_EQ(read(locks), seam::cell{});
    }
  });
}

TEST_P(erasing, erasing_what_is_not_there_is_done) {
  play_with_cells([this] {
    const client locks = stage().connect();
    EXPECT_EQ(swap(locks, erasure_of(0)).outcome, result::swapped);
    EXPECT_EQ(swap(locks, erasure_of(12345, fence{7})).outcome, result::swapped);
    EXPECT_EQ(read(locks), seam::cell{});
    // Only opened, never written: it knows a fence.
    ASSERT_TRUE(
        locks.core()->engine().open_cell(lock_name{"cell"}, fence{7}, locks.core()->give_up()));
    EXPECT_EQ(swap(locks, erasure_of(0, fence{6})).outcome, result::shut_out);
    EXPECT_EQ(swap(locks, erasure_of(0, fence{7})).outcome, result::swapped);
    EXPECT_EQ(read(locks), seam::cell{});
  });
}

TEST_P(erasing, a_write_that_was_decided_before_does_not_meet_the_next_cell) {
  play_with_cells({ability::server_faults}, [this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const auto old = swap(others, swap_of(0, "old"));
    stage().delay_next_request(observer::verb::swap_cell, 3s);
    EXPECT_TRUE(stays_unanswered(locks, swap_of(old.now.version, "late")));
    // Removed and made again, as often written as before.
    EXPECT_EQ(swap(others, erasure_of(old.now.version)).outcome, result::swapped);
    const auto fresh = swap(others, swap_of(0, "fresh"));
    EXPECT_EQ(fresh.outcome, result::swapped);
    stage().sleep(4s);
    EXPECT_EQ(read(others), (seam::cell{"fresh", fresh.now.version, {}}));
  });
}

TEST_P(erasing, an_erasure_that_comes_late_does_not_meet_the_next_cell) {
  play_with_cells({ability::server_faults}, [this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const auto old = swap(others, swap_of(0, "old"));
    stage().delay_next_request(observer::verb::swap_cell, 3s);
    EXPECT_TRUE(stays_unanswered(locks, erasure_of(old.now.version)));
    EXPECT_EQ(swap(others, erasure_of(old.now.version)).outcome, result::swapped);
    const auto fresh = swap(others, swap_of(0, "fresh"));
    EXPECT_EQ(fresh.outcome, result::swapped);
    stage().sleep(4s);
    EXPECT_EQ(read(others), (seam::cell{"fresh", fresh.now.version, {}}));
  });
}

TEST_P(erasing, one_whose_answer_was_lost_is_done_once) {
  play_with_cells({ability::server_faults}, [this] {
    options how;
    how.timeout = 1s;
    const client locks = stage().connect(how);
    versioned value{locks, "value"};
    ASSERT_TRUE(value.compare_and_set(0, "a"));
    stage().lose_next_answer(observer::verb::swap_cell);
    value.erase();
    EXPECT_EQ(value.read().version, 0U);
    EXPECT_EQ(value.read().value, "");
  });
}

TEST_P(erasing, it_survives_a_restart_that_versions_go_on) {
  play_with_cells({ability::server_faults}, [this] {
    std::uint64_t highest = 0;
    {
      const client before = stage().connect();
      versioned value{before, "value"};
      for (int i = 0; i < 10; ++i) highest = value.compare_and_set(highest, "a").value_or(0);
      value.erase();
    }
    stage().restart_server();
    const client after = stage().connect();
    versioned value{after, "value"};
    EXPECT_EQ(value.read().version, 0U);
    const auto written = value.compare_and_set(0, "b");
    ASSERT_TRUE(written);
    EXPECT_GT(*written, highest);
  });
}

TEST_P(erasing, values_at_any_version_or_only_at_one) {
  play_with_cells([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    versioned mine{locks, "value"};
    versioned theirs{others, "value"};
    EXPECT_TRUE(mine.erase(0));
    const auto first = mine.compare_and_set(0, "first");
    ASSERT_TRUE(first);
    const auto second = theirs.compare_and_set(*first, "second");
    ASSERT_TRUE(second);
    EXPECT_FALSE(mine.erase(*first));
    EXPECT_EQ(mine.read().value, "second");
    EXPECT_TRUE(theirs.erase(*second));
    EXPECT_EQ(mine.read().version, 0U);
    EXPECT_FALSE(mine.compare_and_set(*second, "stale"));
    EXPECT_TRUE(mine.erase(*second));  // it is gone, whatever was read
    EXPECT_EQ(mine.update([](const std::string& was) { return was + "x"; })->value, "x");
    mine.erase();
    mine.erase();
    EXPECT_EQ(theirs.read().value, "");
    EXPECT_FALSE(mine.update(
        [&](const std::string&) -> std::optional<std::string> { return std::nullopt; }));
  });
}

TEST_P(erasing, a_register_under_its_fence_with_all_it_remembers) {
  play_with_cells([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    mutex lock{locks, "stock"};
    fenced_register stock{locks, "stock"};
    const fence older = lock.acquire().fence();
    const auto newer = lock.acquire();
    EXPECT_TRUE(stock.write(older, "older"));
    EXPECT_EQ(stock.open(newer), "older");
    EXPECT_FALSE(stock.erase(older));
    EXPECT_EQ(heard->rejected(), (std::vector{std::pair{older, newer.fence()}}));
    versioned same{locks, "stock"};
    EXPECT_EQ(code_of([&] { same.erase(); }), errc::conflict);
    EXPECT_EQ(code_of([&] { (void)same.erase(same.read().version); }), errc::conflict);
    EXPECT_EQ(code_of([&] { (void)stock.erase(fence{}); }), errc::conflict);
    EXPECT_EQ(stock.read().value, "older");
    EXPECT_TRUE(stock.erase(newer));
    EXPECT_EQ(stock.read().value, "");
    EXPECT_EQ(stock.read().fence, fence{});
    EXPECT_TRUE(stock.erase(newer));
    // As documented: the register begins anew, with whoever comes first.
    EXPECT_TRUE(stock.write(older, "again"));
    EXPECT_EQ(stock.read().fence, older);
    EXPECT_TRUE(stock.erase(newer));
  });
}

void erasing::expect_told(const client& locks, const std::function<void()>& erase) {
  const auto heard = std::make_shared<listener>();
  const client waits = heard_by(heard);
  std::atomic<bool> told{false};
  thread_group threads{stage().clock()};
  threads.start([&] {
    count_down_latch latch{waits, "latch", 2};
    told = code_of([&] { latch.wait(); }) == errc::broken;
  });
  // It has seen that the latch counts.
  EXPECT_TRUE(eventually([&] { return heard->round_trips(observer::verb::read_cell) > 0; }));
  erase();
  threads.join();
  EXPECT_TRUE(told);
  EXPECT_EQ(count_down_latch(locks, "latch", 2).count(), 2);
}

TEST_P(erasing, a_latch_and_who_waits_for_it_is_told) {
  play_with_cells([this] {
    const client locks = stage().connect();
    count_down_latch latch{locks, "latch", 2};
    latch.erase();
    for (int i = 0; i < 2; ++i) {
      latch.count_down();
      expect_told(locks, [&] { latch.erase(); });
    }
    // Whatever it was agreed to count, and whatever this object has counted before.
    count_down_latch other{locks, "latch", 3};
    other.count_down();
    EXPECT_EQ(other.count(), 2);
    other.erase();
    latch.count_down();
    EXPECT_EQ(latch.count(), 1);
    latch.count_down();
    EXPECT_TRUE(latch.try_wait());
    latch.erase();
    EXPECT_FALSE(latch.try_wait());
  });
}

TEST_P(erasing, a_latch_in_a_later_round) {
  play_with_cells([this] {
    const client locks = stage().connect();
    count_down_latch latch{locks, "latch", 2};
    latch.count_down(2);
    EXPECT_TRUE(latch.reset());
    latch.count_down();
    // Erased and begun anew at once: the round that is waited for never ends.
    expect_told(locks, [&] {
      latch.erase();
      latch.count_down();
      EXPECT_EQ(latch.count(), 1);
      latch.erase();
    });
  });
}

TEST_P(erasing, a_count_behind_a_lost_answer_and_an_erasure_counts_once) {
  play_with_cells({ability::server_faults}, [this] {
    options how;
    how.timeout = 1s;
    const client locks = stage().connect(how);
    const client others = stage().connect();
    count_down_latch mine{locks, "latch", 5};
    count_down_latch theirs{others, "latch", 5};
    mine.count_down(2);
    theirs.erase();
    // Under the id that had counted two before.
    stage().lose_next_answer(observer::verb::swap_cell);
    mine.count_down();
    EXPECT_EQ(theirs.count(), 4);
  });
}

TEST_P(erasing, an_election_when_nobody_leads_or_stands_for_it) {
  play_with_cells({ability::timely}, [this] {
    const client locks = steady();
    const client others = steady();
    election mine{locks, "office"};
    election theirs{others, "office"};
    EXPECT_TRUE(mine.erase());
    auto term = mine.campaign("first");
    const fence first = term.fence();
    EXPECT_FALSE(theirs.erase());
    EXPECT_FALSE(mine.erase());
    EXPECT_EQ(theirs.leader()->value, "first");
    term.resign();
    EXPECT_TRUE(theirs.erase());
    EXPECT_FALSE(mine.leader());
    EXPECT_TRUE(theirs.erase());
    auto next = theirs.campaign("second");
    EXPECT_GT(next.fence(), first);
    EXPECT_EQ(mine.leader()->value, "second");
    next.resign();
    EXPECT_TRUE(mine.erase());
    EXPECT_EQ(locks.core()->engine().read_cell(lock_name::reserved("election", "office"),
                                               locks.core()->give_up()),
              seam::cell{});
  });
}

TEST_P(erasing, a_barrier_when_nobody_takes_part) {
  play_with_cells({ability::timely}, [this] {
    if (!stage().traits().shared) return;
    const client locks = steady();
    const client others = steady();
    barrier mine{locks, "gate", 1};
    barrier theirs{others, "gate", 1};
    EXPECT_TRUE(mine.erase());
    for (int i = 0; i < 2; ++i) {
      mine.enter();
      EXPECT_FALSE(mine.erase());
      EXPECT_FALSE(theirs.erase());
      mine.leave();
      EXPECT_TRUE(theirs.erase());
    }
    EXPECT_TRUE(theirs.enter_for(10s));
    EXPECT_TRUE(theirs.leave_for(10s));
    EXPECT_TRUE(mine.erase());
  });
}

}  // namespace
}  // namespace crosslock::conformance
