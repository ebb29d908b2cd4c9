// Cells: versions, fences, repeated and late writes.
#include "line_suite.hpp"

#include <string>

namespace crosslock::memory {
namespace {

using result = seam::swap_answer::result;

TEST_P(line_cells, what_nobody_has_written_is_empty_with_version_zero) {
  EXPECT_EQ(at.read(), seam::cell{});
}

TEST_P(line_cells, a_swap_writes_if_the_version_is_still_the_one_that_was_read) {
  const auto first = at.swap(at.swap_of(1, 0, "a"));
  EXPECT_EQ(first.outcome, result::swapped);
  EXPECT_GT(first.now.version, 0U);
  EXPECT_EQ(at.read(), (seam::cell{"a", first.now.version, fence{}}));

  const auto stale = at.swap(at.swap_of(2, 0, "b"));
  EXPECT_EQ(stale.outcome, result::changed);
  EXPECT_EQ(stale.now, at.read());  // what the next try needs to know

  const auto second = at.swap(at.swap_of(2, first.now.version, "b"));
  EXPECT_EQ(second.outcome, result::swapped);
  EXPECT_GT(second.now.version, first.now.version);
  EXPECT_EQ(at.read().value, "b");
}

TEST_P(line_cells, a_repeated_swap_finds_its_own_work) {
  const auto wanted = at.swap_of(1, 0, "a");
  const auto first = at.swap(wanted);
  const auto again = at.swap(wanted);
  EXPECT_EQ(again.outcome, result::swapped);
  EXPECT_EQ(again.now, first.now);
  EXPECT_EQ(at.read().version, first.now.version);
}

TEST_P(line_cells, a_late_copy_of_an_older_write_does_not_undo_a_newer_one) {
  const auto older = at.swap_of(1, 0, "older", 7);
  const auto first = at.swap(older);
  const auto newer = at.swap_of(2, first.now.version, "newer", 7);  // the same hold writes again
  const auto second = at.swap(newer);
  EXPECT_EQ(second.outcome, result::swapped);
  EXPECT_EQ(at.swap(older).outcome, result::changed);
  EXPECT_EQ(at.read(), (seam::cell{"newer", second.now.version, fence{7}}));
}

TEST_P(line_cells, opening_with_a_higher_fence_shuts_out_the_lower_ones) {
  const auto opened = at.open(7);
  ASSERT_TRUE(opened);
  EXPECT_EQ(*opened, (seam::cell{"", 0, fence{7}}));
  const auto first = at.swap(at.swap_of(1, 0, "seven", 7));
  EXPECT_EQ(first.outcome, result::swapped);

  const auto higher = at.open(9);
  ASSERT_TRUE(higher);
  EXPECT_EQ(higher->version, first.now.version);
  const auto late = at.swap(at.swap_of(2, first.now.version, "late", 7));
  EXPECT_EQ(late.outcome, result::shut_out);
  EXPECT_EQ(late.now, (seam::cell{"seven", first.now.version, fence{9}}));
  EXPECT_FALSE(at.open(7));
  EXPECT_EQ(at.read().highest, fence{9});
  EXPECT_EQ(at.swap(at.swap_of(3, first.now.version, "nine", 9)).outcome, result::swapped);
}

TEST_P(line_cells, a_higher_fence_need_not_be_shown_before_its_first_write) {
  const auto first = at.swap(at.swap_of(1, 0, "seven", 7));
  const auto second = at.swap(at.swap_of(2, first.now.version, "nine", 9));
  EXPECT_EQ(second.outcome, result::swapped);
  EXPECT_EQ(second.now.highest, fence{9});
  EXPECT_EQ(at.swap(at.swap_of(3, second.now.version, "late", 7)).outcome, result::shut_out);
}

TEST_P(line_cells, a_write_without_a_fence_is_shut_out_once_one_was_shown) {
  const auto first = at.swap(at.swap_of(1, 0, "free"));
  EXPECT_TRUE(at.open(1));
  EXPECT_EQ(at.swap(at.swap_of(2, first.now.version, "late")).outcome, result::shut_out);
  EXPECT_EQ(at.read().value, "free");
}

TEST_P(line_cells, a_repeated_write_is_told_of_its_success_behind_a_higher_fence) {
  const auto wanted = at.swap_of(1, 0, "seven", 7);
  const auto first = at.swap(wanted);
  EXPECT_TRUE(at.open(9));
  const auto again = at.swap(wanted);
  EXPECT_EQ(again.outcome, result::swapped);
  EXPECT_EQ(again.now.version, first.now.version);
  EXPECT_EQ(at.read(), (seam::cell{"seven", first.now.version, fence{9}}));
}

TEST_P(line_cells, a_cell_and_a_lock_of_one_name_do_not_meet) {
  const auto held = on.ask(1);
  EXPECT_EQ(at.swap(at.swap_of(2, 0, "value", 5)).outcome, result::swapped);
  EXPECT_EQ(on.holders(), just(1));
  EXPECT_TRUE(on.release(1, held.granted.first.value()));
  EXPECT_EQ(at.read().value, "value");
  EXPECT_EQ(at.read().highest, fence{5});
}

TEST_P(line_cells, values_are_bytes_and_names_are_apart) {
  const std::string bytes{"\0a\0\xff", 4};
  at.swap(at.swap_of(1, 0, bytes));
  on.name = name_of("stock2");
  EXPECT_EQ(at.read(), seam::cell{});
  on.name = name_of("stock");
  EXPECT_EQ(at.read().value, bytes);
}

TEST_P(line_cells, an_erased_one_is_as_if_nobody_had_been_there) {
  const auto first = at.swap(at.swap_of(1, 0, "a", 7));
  auto erasure = at.swap_of(2, first.now.version, {}, 6);
  erasure.erase = true;
  EXPECT_EQ(at.swap(erasure).outcome, result::shut_out);
  erasure.token = fence{8};
  erasure.expected = first.now.version + 1;
  EXPECT_EQ(at.swap(erasure).outcome, result::changed);
  EXPECT_EQ(at.read().value, "a");
  erasure.expected = first.now.version;
  for (int i = 0; i < 2; ++i) {  // a repeated one finds that it is done
    const auto gone = at.swap(erasure);
    EXPECT_EQ(gone.outcome, result::swapped);
    EXPECT_EQ(gone.now, seam::cell{});
  }
  EXPECT_EQ(at.read(), seam::cell{});
  EXPECT_TRUE(at.open(1));
}

TEST_P(line_cells, versions_go_on_behind_an_erasure_although_the_clock_stands_or_steps_back) {
  std::uint64_t highest = 0;
  for (int i = 0; i < 5; ++i) {
    on.now = -5s * i;
    const auto first = at.swap(at.swap_of(1, 0, "a"));
    ASSERT_EQ(first.outcome, result::swapped);
    EXPECT_GT(first.now.version, highest);
    const auto second = at.swap(at.swap_of(2, first.now.version, "b"));
    highest = second.now.version;
    auto erasure = at.swap_of(3, highest, {});
    erasure.erase = true;
    EXPECT_EQ(at.swap(erasure).outcome, result::swapped);
  }
}

TEST_P(line_cells, versions_rise_when_the_clock_of_the_server_steps_back) {
  const auto first = at.swap(at.swap_of(1, 0, "a"));
  on.now = -5s;
  const auto second = at.swap(at.swap_of(2, first.now.version, "b"));
  EXPECT_EQ(second.now.version, first.now.version + 1);
}

}  // namespace
}  // namespace crosslock::memory
