// Watched cells: the next write is told, to those who can be heard, once, and within the span.
#include "memory_engine_rig.hpp"

#include <string>

namespace crosslock::memory {
namespace {

using result = seam::swap_answer::result;

class memory_watch : public testing::Test {
 protected:
  seam::cell watch(client_id from, duration span = 10s) {
    return on.send<read_cell_reply>(from, read_cell_request{on.name, span}).found;
  }
  result write(std::uint32_t writer, std::uint64_t expected, std::int64_t token = 0) {
    const auto answer =
        on.send<swap_cell_reply>(1, swap_cell_request{{.name = on.name,
                                                       .expected = expected,
                                                       .value = std::to_string(writer),
                                                       .writer = owner(writer),
                                                       .token = fence{token}}})
            .answer;
    version = answer.now.version;
    return answer.outcome;
  }
  /// The clients that were told by the last request.
  std::vector<client_id> told() const {
    std::vector<client_id> all;
    for (const push& news : on.pushes) {
      EXPECT_EQ(news.what, push::kind::cell_changed);
      EXPECT_EQ(*news.name, *on.name);
      all.push_back(news.to);
    }
    return all;
  }
  using clients = std::vector<client_id>;

  rig on;
  std::uint64_t version = 0;
};

TEST_F(memory_watch, whoever_watches_is_told_of_the_next_write_once) {
  EXPECT_EQ(watch(2), seam::cell{});
  watch(3);
  EXPECT_TRUE(on.pushes.empty());
  write(1, 0);
  EXPECT_EQ(told(), (clients{2, 3}));
  EXPECT_EQ(watch(3).value, "1");
  write(2, version);
  EXPECT_EQ(told(), clients{3}) << "who wants to hear more watches again";
}

TEST_F(memory_watch, a_write_that_changes_nothing_is_not_told) {
  write(1, 0, 5);
  watch(2);
  EXPECT_EQ(write(2, 0, 5), result::changed);
  EXPECT_TRUE(on.pushes.empty());
  EXPECT_EQ(write(3, version, 4), result::shut_out);
  EXPECT_TRUE(on.pushes.empty());
  EXPECT_EQ(write(1, 0, 5), result::swapped) << "repeated: done already";
  EXPECT_TRUE(on.pushes.empty());
  on.send<open_cell_reply>(3, open_cell_request{on.name, fence{5}});
  EXPECT_TRUE(on.pushes.empty());
  on.send<open_cell_reply>(3, open_cell_request{on.name, fence{6}});
  EXPECT_EQ(told(), clients{2}) << "a higher fence is a change";
}

TEST_F(memory_watch, it_ends_with_its_span_and_a_shorter_one_does_not_shorten_it) {
  watch(2, 1s);
  watch(3, 5s);
  watch(3, 1s);
  on.now += 1s;
  write(1, 0);
  EXPECT_EQ(told(), clients{3});
}

TEST_F(memory_watch, plain_reading_does_not_watch_and_other_cells_do_not_matter) {
  on.send<read_cell_reply>(2, read_cell_request{on.name, {}});
  on.send<read_cell_reply>(3, read_cell_request{name_of("other"), 10s});
  write(1, 0);
  EXPECT_TRUE(on.pushes.empty());
}

TEST_F(memory_watch, who_cannot_be_heard_is_told_when_it_is_back) {
  watch(2);
  on.server_under_test.disconnect(2);
  write(1, 0);
  EXPECT_TRUE(on.pushes.empty());
  const auto missed = on.server_under_test.connect(2);
  ASSERT_EQ(missed.size(), 1U);
  EXPECT_EQ(missed[0].what, push::kind::cell_changed);
  EXPECT_TRUE(on.server_under_test.connect(2).empty()) << "once";
}

TEST(memory_watch_engine, a_write_of_another_client_is_told_by_engine_events) {
  slow_motion time;
  const auto network = std::make_shared<faulty_network>(time);
  network->set_weather({.delay_min = 1ms, .delay_max = 1ms});
  recorded_events events;
  recorded_events other_events;
  engine watcher{network, events, time, "watcher"};
  engine writer{network, other_events, time, "writer"};
  EXPECT_TRUE(watcher.about().watches_cells);
  EXPECT_EQ(watcher.watch_cell(*name_of("cell"), 5s, time.now() + 1s), seam::cell{});
  const seam::cell_swap wanted{.name = name_of("cell"), .value = "a", .writer = owner(1)};
  EXPECT_EQ(writer.swap_cell(wanted, time.now() + 1s).outcome, result::swapped);
  time.run_for(10ms);
  EXPECT_EQ(events.heard(), "cell_changed cell ");
  EXPECT_EQ(other_events.heard(), "");
}

}  // namespace
}  // namespace crosslock::memory
