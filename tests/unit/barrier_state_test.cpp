#include "cells/barrier_state.hpp"

#include <crosslock/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crosslock::inner {
namespace {

using phase = barrier_state::phase;

const lock_name name{"gate"};
const std::string id_a = "000102030405060708090a0b0c0d0e0f";
const std::string id_b = "ff0102030405060708090a0b0c0d0e0f";
const std::string id_c = "ee0102030405060708090a0b0c0d0e0f";
const owner_id a = *owner_id::parse(id_a);
const owner_id b = *owner_id::parse(id_b);
const owner_id c = *owner_id::parse(id_c);

errc refused(const std::string& text) {
  try {
    read_barrier(name, text);
  } catch (const error& why) {
    return why.which();
  }
  return errc{};
}

barrier_state after(const barrier_state& state) { return read_barrier(name, to_text(state)); }

TEST(barrier_state, a_round_from_the_first_member_to_the_last) {
  barrier_state state;
  EXPECT_TRUE(may_enter(state, 3));
  state = after(entered(state, 3, a));
  EXPECT_TRUE(may_enter(state, 3));
  EXPECT_FALSE(may_enter(state, 2));
  state = after(entered(state, 3, b));
  EXPECT_EQ(state.now_is, phase::entering);
  state = after(entered(state, 3, c));
  EXPECT_EQ(state.now_is, phase::inside);
  EXPECT_FALSE(may_enter(state, 3));
  state = after(left(state, b));
  EXPECT_TRUE(state.has_left(b));
  EXPECT_FALSE(state.has_left(a));
  state = after(left(state, b));  // says it twice
  state = after(left(state, a));
  EXPECT_EQ(state.round, 0U);
  state = after(left(state, c));
  EXPECT_EQ(state,
            (barrier_state{.round = 1, .parties = 0, .now_is = phase::entering, .members = {}}));
  EXPECT_TRUE(may_enter(state, 7));
}

TEST(barrier_state, a_barrier_of_one_is_full_at_once) {
  const barrier_state state = after(entered({}, 1, a));
  EXPECT_EQ(state.now_is, phase::inside);
  EXPECT_EQ(after(left(state, a)).round, 1U);
}

TEST(barrier_state, who_is_gone_breaks_the_round_until_all_are_told) {
  const std::vector<owner_id> only_a{a};
  const std::vector<owner_id> only_b{b};
  const std::vector<owner_id> b_and_c{b, c};
  for (const bool full : {false, true}) {
    barrier_state state =
        entered(entered(entered({}, full ? 3 : 4, a), full ? 3 : 4, b), full ? 3 : 4, c);
    EXPECT_EQ(state.now_is, full ? phase::inside : phase::entering);
    if (full) state = left(state, c);
    state = after(without(state, only_b));
    EXPECT_EQ(state.now_is, phase::broken);
    EXPECT_TRUE(state.has(a));
    EXPECT_TRUE(state.has(c));
    EXPECT_FALSE(may_enter(state, 3));
    EXPECT_EQ(without(state, only_b), state);  // it is no member any more
    state = after(without(state, only_a));     // has been told
    EXPECT_EQ(state.now_is, phase::broken);
    state = after(without(state, b_and_c));
    EXPECT_EQ(state.now_is, phase::entering);
    EXPECT_EQ(state.round, 1U);
    EXPECT_TRUE(state.members.empty());
  }
}

TEST(barrier_state, strangers_change_nothing) {
  const std::vector<owner_id> nobody{};
  const std::vector<owner_id> stranger{c};
  const barrier_state state = entered(entered({}, 3, a), 3, b);
  EXPECT_EQ(without(state, nobody), state);
  EXPECT_EQ(without(state, stranger), state);
  EXPECT_EQ(without({}, stranger), barrier_state{});
}

TEST(barrier_state, something_else_is_a_conflict) {
  for (const char* text : {"7", "barrier", "barrier2 0 0 entering", "latch1 0 3"}) {
    EXPECT_EQ(refused(text), errc::conflict) << text;
  }
}

TEST(barrier_state, a_barrier_that_makes_no_sense_is_refused) {
  for (const std::string& text : {std::string{"barrier1"},
                                  std::string{"barrier1 0 3"},
                                  std::string{"barrier1 0 0 gone"},
                                  std::string{"barrier1 0 3 entering"},
                                  std::string{"barrier1 0 0 inside"},
                                  std::string{"barrier1 0 0 broken"},
                                  std::string{"barrier1 0 3 broken"},
                                  std::string{"barrier1 -1 0 entering"},
                                  std::string{"barrier1 0 0 entering "},
                                  "barrier1 0 1 entering " + id_a,
                                  "barrier1 0 0 entering " + id_a,
                                  "barrier1 0 3 entering " + id_a + "-",
                                  "barrier1 0 3 entering " + id_a + " " + id_a,
                                  "barrier1 0 2 inside " + id_a,
                                  "barrier1 0 1 inside " + id_a + "-",
                                  "barrier1 0 1 inside " + id_a + " " + id_b,
                                  "barrier1 0 2 inside " + id_a + " " + id_a,
                                  "barrier1 0 1 broken " + id_a,
                                  "barrier1 0 2 inside " + id_a + " " + id_b.substr(1),
                                  "barrier1 0 2 inside " + id_a + " " + id_b + "--"}) {
    EXPECT_EQ(refused(text), errc::protocol) << text;
  }
}

TEST(barrier_state, the_largest_barrier_fits_into_a_cell) {
  barrier_state state;
  for (int i = 0; i < 10'000; ++i) {
    owner_id::bytes_type bytes{};
    bytes[0] = static_cast<std::uint8_t>(i);
    bytes[1] = static_cast<std::uint8_t>(i >> 8);
    state = entered(std::move(state), 10'000, owner_id{bytes});
  }
  EXPECT_EQ(state.now_is, phase::inside);
  EXPECT_LT(to_text(state).size(), std::size_t{1} << 20);
  EXPECT_EQ(after(state), state);
}

}  // namespace
}  // namespace crosslock::inner
