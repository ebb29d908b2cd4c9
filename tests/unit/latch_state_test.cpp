#include "cells/latch_state.hpp"

#include <crosslock/error.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace crosslock::inner {
namespace {

const lock_name name{"latch"};
const std::string id_a = "000102030405060708090a0b0c0d0e0f";
const std::string id_b = "ff0102030405060708090a0b0c0d0e0f";
const owner_id a = *owner_id::parse(id_a);
const owner_id b = *owner_id::parse(id_b);

errc refused(const std::string& text) {
  try {
    read_latch(name, text);
  } catch (const error& why) {
    return why.which();
  }
  return errc{};
}

TEST(latch_state, what_is_written_is_read_again) {
  for (const latch_state& state :
       {latch_state{.round = 0, .count = 3, .open = false, .shares = {}},
        latch_state{.round = 7, .count = 0, .open = false, .shares = {}},
        latch_state{.round = 7, .count = 3, .open = true, .shares = {}},
        latch_state{
            .round = UINT64_MAX, .count = 10'000, .open = false, .shares = {{a, 1}, {b, 9}}}}) {
    EXPECT_EQ(read_latch(name, to_text(state)), state) << to_text(state);
  }
  EXPECT_EQ(read_latch(name, ""), latch_state{});
  EXPECT_EQ(to_text({.round = 2, .count = 5, .open = false, .shares = {{a, 4}}}),
            "latch1 2 5 " + id_a + ":4");
}

TEST(latch_state, something_else_is_a_conflict) {
  for (const char* text :
       {"7", "latch", "latch2 0 3", "barrier1 0 3 entering", " latch1 0 3", "latch10 0 3"}) {
    EXPECT_EQ(refused(text), errc::conflict) << text;
  }
}

TEST(latch_state, a_latch_that_makes_no_sense_is_refused) {
  for (const std::string& text : {std::string{"latch1"},
                                  std::string{"latch1 "},
                                  std::string{"latch1 0"},
                                  std::string{"latch1 0 "},
                                  std::string{"latch1 x 3"},
                                  std::string{"latch1 0 -3"},
                                  std::string{"latch1 0 3 "},
                                  std::string{"latch1  0 3"},
                                  std::string{"latch1 0 3 opened"},
                                  std::string{"latch1 0 0 open"},
                                  std::string{"latch1 0 3 open open"},
                                  std::string{"latch1 0 99999999999"},
                                  std::string{"latch1 18446744073709551616 3"},
                                  "latch1 0 3 " + id_a,
                                  "latch1 0 3 " + id_a + ":",
                                  "latch1 0 3 " + id_a + ":0",
                                  "latch1 0 3 " + id_a + ":x",
                                  "latch1 0 3 " + id_a + ":3",
                                  "latch1 0 3 " + id_a + ":4",
                                  "latch1 0 0 " + id_a + ":1",
                                  "latch1 0 9 " + id_a + ":1 " + id_a + ":1",
                                  "latch1 0 3 " + id_a + ":1 " + id_b + ":2",
                                  "latch1 0 3 " + id_a + ":1 open",
                                  "latch1 0 3 open " + id_a + ":1",
                                  "latch1 0 3 " + id_a.substr(1) + ":1",
                                  "latch1 0 3 " + id_a + ":1\n"}) {
    EXPECT_EQ(refused(text), errc::protocol) << text;
  }
}

TEST(latch_state, each_share_is_counted_and_zero_opens) {
  latch_state state;
  state = counted_down(state, 6, a, 1);
  EXPECT_EQ(state.left(), 5);
  state = counted_down(state, 6, b, 2);
  state = counted_down(state, 6, a, 1);
  EXPECT_EQ(state.left(), 2);
  EXPECT_EQ(state.counted_by(a), 2);
  EXPECT_EQ(state.counted_by(b), 2);
  EXPECT_FALSE(state.open);
  state = counted_down(state, 6, b, 9);
  EXPECT_TRUE(state.open);
  EXPECT_EQ(state.left(), 0);
  EXPECT_TRUE(state.shares.empty());
  const latch_state next = begun_anew(state);
  EXPECT_EQ(next, (latch_state{.round = 1, .count = 0, .open = false, .shares = {}}));
}

TEST(latch_state, the_largest_latch_fits_into_a_cell) {
  latch_state state{.round = UINT64_MAX, .count = 10'000, .open = false, .shares = {}};
  for (int i = 0; i < 9'999; ++i) {
    owner_id::bytes_type bytes{};
    bytes[0] = static_cast<std::uint8_t>(i);
    bytes[1] = static_cast<std::uint8_t>(i >> 8);
    state.shares.push_back({owner_id{bytes}, 1});
  }
  const std::string text = to_text(state);
  EXPECT_LT(text.size(), std::size_t{1} << 20);
  EXPECT_EQ(read_latch(name, text), state);
}

}  // namespace
}  // namespace crosslock::inner
