// Cells of the memory server after a rollback, and of the engine over a network that repeats and
// reorders.
#include "memory_engine_rig.hpp"

#include <optional>
#include <string>
#include <utility>

namespace crosslock::memory {
namespace {

using result = seam::swap_answer::result;

TEST(memory_cells, a_rollback_takes_cells_back_and_a_repeated_swap_is_carried_out_again) {
  rig on;
  cell_writer at{on};
  const auto first = at.swap(at.swap_of(1, 0, "kept"));
  EXPECT_TRUE(at.open(3));
  const auto disk = on.server_under_test.snapshot();
  const auto wanted = at.swap_of(2, first.now.version, "lost", 4);
  const auto lost = at.swap(wanted);
  EXPECT_EQ(lost.outcome, result::swapped);
  on.server_under_test.restore(disk);
  EXPECT_EQ(at.read(), (seam::cell{"kept", first.now.version, fence{3}}));
  EXPECT_EQ(at.swap(wanted).outcome, result::swapped);
  EXPECT_EQ(at.read().value, "lost");
}

TEST(memory_cells, what_was_read_before_a_rollback_is_not_taken_for_what_is_written_after_it) {
  rig on;
  cell_writer at{on};
  const auto disk = on.server_under_test.snapshot();
  const auto before = at.swap(at.swap_of(1, 0, "before"));
  on.server_under_test.restore(disk);
  on.now += 1ms;  // restarting takes time
  const auto after = at.swap(at.swap_of(2, 0, "after"));
  EXPECT_GT(after.now.version, before.now.version);
  EXPECT_EQ(at.swap(at.swap_of(3, before.now.version, "mistaken")).outcome, result::changed);
  EXPECT_EQ(at.read().value, "after");
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
  recorded_events events;
  seam::name_ref name = name_of("counter");
  std::uint32_t last_writer = 0;
};

TEST_P(memory_cell_engine, no_acknowledged_write_is_undone_by_a_late_copy) {
  engine one{network, events, time, "one"};
  engine two{network, events, time, "two"};
  for (int i = 1; i <= 40; ++i) {
    EXPECT_TRUE(increment(i % 2 == 0 ? one : two));
    EXPECT_EQ(one.read_cell(*name, time.now() + 10s).value, std::to_string(i));
  }
  time.run_for(1s);  // whatever is still on its way
  EXPECT_EQ(two.read_cell(*name, time.now() + 10s).value, "40");
  EXPECT_GT(network->applied(verb::swap_cell), 40U);  // there were copies
}

TEST_P(memory_cell_engine, a_writer_that_was_fenced_off_stays_out_whatever_is_still_on_its_way) {
  engine old{network, events, time, "old"};
  engine fresh{network, events, time, "fresh"};
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
  recorded_events events;
  engine under_test{network, events, time, "one"};
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
  recorded_events events;
  engine under_test{network, events, time, "one"};
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
