// Cells of the memory server: versions, fences, repeated and late writes, rollbacks; and the engine
// over a network that repeats and reorders.
#include "memory_engine_rig.hpp"

#include <optional>
#include <string>
#include <utility>

namespace crosslock::memory {
namespace {

using result = seam::swap_answer::result;

/// A rig that writes to one cell.
class cell_rig : public rig {
 public:
  seam::cell_swap wish(std::uint32_t writer, std::uint64_t expected, std::string value,
                       std::int64_t token = 0) const {
    return {.name = name,
            .expected = expected,
            .value = std::move(value),
            .writer = owner(writer),
            .token = fence{token}};
  }
  seam::swap_answer swap(const seam::cell_swap& wanted) {
    return send<swap_cell_reply>(1, swap_cell_request{wanted}).answer;
  }
  seam::cell read() { return send<read_cell_reply>(2, read_cell_request{name}).found; }
  std::optional<seam::cell> open(std::int64_t token) {
    return send<open_cell_reply>(3, open_cell_request{name, fence{token}}).opened;
  }
};

TEST(memory_cells, what_nobody_has_written_is_empty_with_version_zero) {
  cell_rig at;
  EXPECT_EQ(at.read(), seam::cell{});
}

TEST(memory_cells, a_swap_writes_if_the_version_is_still_the_one_that_was_read) {
  cell_rig at;
  const auto first = at.swap(at.wish(1, 0, "a"));
  EXPECT_EQ(first.outcome, result::swapped);
  EXPECT_GT(first.now.version, 0U);
  EXPECT_EQ(at.read(), (seam::cell{"a", first.now.version, fence{}}));

  const auto stale = at.swap(at.wish(2, 0, "b"));
  EXPECT_EQ(stale.outcome, result::changed);
  EXPECT_EQ(stale.now, at.read());  // what the next try needs to know

  const auto second = at.swap(at.wish(2, first.now.version, "b"));
  EXPECT_EQ(second.outcome, result::swapped);
  EXPECT_GT(second.now.version, first.now.version);
  EXPECT_EQ(at.read().value, "b");
}

TEST(memory_cells, a_repeated_swap_finds_its_own_work) {
  cell_rig at;
  const auto wanted = at.wish(1, 0, "a");
  const auto first = at.swap(wanted);
  const auto again = at.swap(wanted);
  EXPECT_EQ(again.outcome, result::swapped);
  EXPECT_EQ(again.now, first.now);
  EXPECT_EQ(at.read().version, first.now.version);
}

TEST(memory_cells, a_late_copy_of_an_older_write_does_not_undo_a_newer_one) {
  cell_rig at;
  const auto older = at.wish(1, 0, "older", 7);
  const auto first = at.swap(older);
  const auto newer = at.wish(2, first.now.version, "newer", 7);  // the same hold writes again
  const auto second = at.swap(newer);
  EXPECT_EQ(second.outcome, result::swapped);
  EXPECT_EQ(at.swap(older).outcome, result::changed);
  EXPECT_EQ(at.read(), (seam::cell{"newer", second.now.version, fence{7}}));
}

TEST(memory_cells, opening_with_a_higher_fence_shuts_out_the_lower_ones) {
  cell_rig at;
  const auto opened = at.open(7);
  ASSERT_TRUE(opened);
  EXPECT_EQ(*opened, (seam::cell{"", 0, fence{7}}));
  const auto first = at.swap(at.wish(1, 0, "seven", 7));
  EXPECT_EQ(first.outcome, result::swapped);

  const auto higher = at.open(9);
  ASSERT_TRUE(higher);
  EXPECT_EQ(higher->version, first.now.version);
  const auto late = at.swap(at.wish(2, first.now.version, "late", 7));
  EXPECT_EQ(late.outcome, result::shut_out);
  EXPECT_EQ(late.now, (seam::cell{"seven", first.now.version, fence{9}}));
  EXPECT_FALSE(at.open(7));
  EXPECT_EQ(at.read().highest, fence{9});
  EXPECT_EQ(at.swap(at.wish(3, first.now.version, "nine", 9)).outcome, result::swapped);
}

TEST(memory_cells, a_higher_fence_need_not_be_shown_before_its_first_write) {
  cell_rig at;
  const auto first = at.swap(at.wish(1, 0, "seven", 7));
  const auto second = at.swap(at.wish(2, first.now.version, "nine", 9));
  EXPECT_EQ(second.outcome, result::swapped);
  EXPECT_EQ(second.now.highest, fence{9});
  EXPECT_EQ(at.swap(at.wish(3, second.now.version, "late", 7)).outcome, result::shut_out);
}

TEST(memory_cells, a_write_without_a_fence_is_shut_out_once_one_was_shown) {
  cell_rig at;
  const auto first = at.swap(at.wish(1, 0, "free"));
  EXPECT_TRUE(at.open(1));
  EXPECT_EQ(at.swap(at.wish(2, first.now.version, "late")).outcome, result::shut_out);
  EXPECT_EQ(at.read().value, "free");
}

TEST(memory_cells, a_repeated_write_is_told_of_its_success_behind_a_higher_fence) {
  cell_rig at;
  const auto wanted = at.wish(1, 0, "seven", 7);
  const auto first = at.swap(wanted);
  EXPECT_TRUE(at.open(9));
  const auto again = at.swap(wanted);
  EXPECT_EQ(again.outcome, result::swapped);
  EXPECT_EQ(again.now.version, first.now.version);
  EXPECT_EQ(at.read(), (seam::cell{"seven", first.now.version, fence{9}}));
}

TEST(memory_cells, a_cell_and_a_lock_of_one_name_do_not_meet) {
  cell_rig at;
  const auto held = at.ask(1);
  EXPECT_EQ(at.swap(at.wish(2, 0, "value", 5)).outcome, result::swapped);
  EXPECT_EQ(at.holders(), just(1));
  EXPECT_TRUE(at.release(1, held.granted.first.value()));
  EXPECT_EQ(at.read().value, "value");
  EXPECT_EQ(at.read().highest, fence{5});
}

TEST(memory_cells, values_are_bytes_and_names_are_apart) {
  cell_rig at;
  const std::string bytes{"\0a\0\xff", 4};
  at.swap(at.wish(1, 0, bytes));
  at.name = name_of("stock2");
  EXPECT_EQ(at.read(), seam::cell{});
  at.name = name_of("stock");
  EXPECT_EQ(at.read().value, bytes);
}

TEST(memory_cells, a_rollback_takes_cells_back_and_a_repeated_swap_is_carried_out_again) {
  cell_rig at;
  const auto first = at.swap(at.wish(1, 0, "kept"));
  EXPECT_TRUE(at.open(3));
  const auto disk = at.server_under_test.snapshot();
  const auto wanted = at.wish(2, first.now.version, "lost", 4);
  const auto lost = at.swap(wanted);
  EXPECT_EQ(lost.outcome, result::swapped);
  at.server_under_test.restore(disk);
  EXPECT_EQ(at.read(), (seam::cell{"kept", first.now.version, fence{3}}));
  EXPECT_EQ(at.swap(wanted).outcome, result::swapped);
  EXPECT_EQ(at.read().value, "lost");
}

TEST(memory_cells, what_was_read_before_a_rollback_is_not_taken_for_what_is_written_after_it) {
  cell_rig at;
  const auto disk = at.server_under_test.snapshot();
  const auto before = at.swap(at.wish(1, 0, "before"));
  at.server_under_test.restore(disk);
  at.now += 1ms;  // restarting takes time
  const auto after = at.swap(at.wish(2, 0, "after"));
  EXPECT_GT(after.now.version, before.now.version);
  EXPECT_EQ(at.swap(at.wish(3, before.now.version, "mistaken")).outcome, result::changed);
  EXPECT_EQ(at.read().value, "after");
}

TEST(memory_cells, versions_rise_when_the_clock_of_the_server_steps_back) {
  cell_rig at;
  const auto first = at.swap(at.wish(1, 0, "a"));
  at.now = -5s;
  const auto second = at.swap(at.wish(2, first.now.version, "b"));
  EXPECT_EQ(second.now.version, first.now.version + 1);
}

/// Engines of several clients over a network that repeats a third of all messages and delays
/// each by its own time.
class memory_cell_engine : public testing::TestWithParam<std::uint64_t> {
 protected:
  memory_cell_engine() {
    network->set_weather({.delay_min = 1ms, .delay_max = 80ms, .duplicate_permille = 333});
  }

  /// Adds one to the number in a cell; tries again with the same writer when no answer comes.
  /// False when the outcome stays unknown.
  bool increment(engine& from, std::int64_t token = 0) {
    seam::cell seen = from.read_cell(*name, time.now() + 10s);
    for (;;) {
      const seam::cell_swap wanted{
          .name = name,
          .expected = seen.version,
          .value = std::to_string(seen.value.empty() ? 1 : std::stoi(seen.value) + 1),
          .writer = owner(++last_writer),
          .token = fence{token}};
      auto [answer, in_doubt] = swap_until_answered(from, wanted);
      if (answer.outcome == result::swapped) return true;
      if (answer.outcome == result::shut_out || in_doubt) return false;
      seen = std::move(answer.now);
    }
  }

  std::pair<seam::swap_answer, bool> swap_until_answered(engine& from,
                                                         const seam::cell_swap& wanted) {
    for (bool in_doubt = false;; in_doubt = true) {
      try {
        return {from.swap_cell(wanted, time.now() + 100ms), in_doubt};
      } catch (const error& why) {
        EXPECT_TRUE(why.outcome_unknown()) << why.what();
        EXPECT_EQ(why.which(), errc::timed_out);
      }
    }
  }

  slow_motion time{GetParam()};
  std::shared_ptr<faulty_network> network = std::make_shared<faulty_network>(time);
  recording_turn turn;
  seam::name_ref name = name_of("counter");
  std::uint32_t last_writer = 0;
};

TEST_P(memory_cell_engine, no_acknowledged_write_is_undone_by_a_late_copy) {
  engine one{network, turn, time, "one"};
  engine two{network, turn, time, "two"};
  for (int i = 1; i <= 40; ++i) {
    EXPECT_TRUE(increment(i % 2 == 0 ? one : two));
    EXPECT_EQ(one.read_cell(*name, time.now() + 10s).value, std::to_string(i));
  }
  time.run_for(1s);  // whatever is still on its way
  EXPECT_EQ(two.read_cell(*name, time.now() + 10s).value, "40");
  EXPECT_GT(network->applied(verb::swap_cell), 40U);  // there were copies
}

TEST_P(memory_cell_engine, a_writer_that_was_fenced_off_stays_out_whatever_is_still_on_its_way) {
  engine old{network, turn, time, "old"};
  engine fresh{network, turn, time, "fresh"};
  ASSERT_TRUE(old.open_cell(*name, fence{1}, time.now() + 10s));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(increment(old, 1));
  const auto opened = fresh.open_cell(*name, fence{2}, time.now() + 10s);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->value, "10");
  EXPECT_FALSE(increment(old, 1));
  time.run_for(1s);
  EXPECT_EQ(fresh.read_cell(*name, time.now() + 10s), *opened);
  EXPECT_TRUE(increment(fresh, 2));
  EXPECT_FALSE(old.open_cell(*name, fence{1}, time.now() + 10s));
}

INSTANTIATE_TEST_SUITE_P(seeds, memory_cell_engine, testing::Range<std::uint64_t>(1, 21));

TEST(memory_cells, an_unanswered_swap_is_answered_the_same_when_it_is_repeated) {
  slow_motion time;
  const auto network = std::make_shared<faulty_network>(time);
  network->set_weather({.delay_min = 1ms, .delay_max = 1ms});
  recording_turn turn;
  engine under_test{network, turn, time, "one"};
  const seam::cell_swap wanted{.name = name_of("cell"), .value = "a", .writer = owner(1)};
  bool lost = false;
  network->set_script(
      [&](const faulty_network::sighting& message) -> std::optional<faulty_network::fate> {
        if (lost || message.going != faulty_network::way::to_client) return std::nullopt;
        lost = true;
        return faulty_network::fate{};
      });
  EXPECT_THROW(under_test.swap_cell(wanted, time.now() + 1s), error);
  const auto again = under_test.swap_cell(wanted, time.now() + 1s);
  EXPECT_EQ(again.outcome, result::swapped);
  EXPECT_EQ(again.now.version, under_test.read_cell(*wanted.name, time.now() + 1s).version);
  EXPECT_EQ(network->applied(verb::swap_cell), 2U);
}

TEST(memory_cells, a_value_over_the_limit_is_refused_before_any_message) {
  slow_motion time;
  const auto network = std::make_shared<faulty_network>(time);
  recording_turn turn;
  engine under_test{network, turn, time, "one"};
  seam::cell_swap wanted{.name = name_of("cell"),
                         .value = std::string(seam::cell_bytes_max + 1, 'x'),
                         .writer = owner(1)};
  try {
    under_test.swap_cell(wanted, time.now() + 1s);
    ADD_FAILURE() << "it was taken";
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::unsupported);
    EXPECT_FALSE(why.outcome_unknown());
    EXPECT_FALSE(why.retryable());
    EXPECT_NE(std::string{why.what()}.find("1048577 bytes for 'cell'"), std::string::npos)
        << why.what();
  }
  EXPECT_EQ(network->applied(verb::swap_cell), 0U);
  wanted.value.pop_back();
  EXPECT_EQ(under_test.swap_cell(wanted, time.now() + 1s).outcome, result::swapped);
}

}  // namespace
}  // namespace crosslock::memory
