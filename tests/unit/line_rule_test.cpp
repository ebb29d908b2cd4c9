#include "line_rules/line_rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace crosslock::seam {
namespace {

constexpr demand X{.mode = claim_mode::exclusive, .permits = 1, .of = 1};
constexpr demand S{.mode = claim_mode::shared, .permits = 1, .of = 1};
constexpr demand P(std::int32_t k, std::int32_t n) {
  return {.mode = claim_mode::permit, .permits = k, .of = n};
}

using watches = std::vector<std::size_t>;
const line_verdict in{true, {}};
line_verdict waits(watches whom) { return {false, std::move(whom)}; }

struct row {
  std::string about;
  std::vector<demand> line;
  std::vector<line_verdict> expected;
};

const std::vector<row> table{
    {"nobody", {}, {}},
    {"one exclusive", {X}, {in}},
    {"one shared", {S}, {in}},
    {"one permit", {P(1, 3)}, {in}},
    {"all permits at once", {P(3, 3)}, {in}},
    {"exclusive after exclusive", {X, X}, {in, waits({0})}},
    {"exclusive watches the one before it", {X, X, X}, {in, waits({0}), waits({1})}},
    {"shared together", {S, S, S}, {in, in, in}},
    {"shared after exclusive", {X, S}, {in, waits({0})}},
    {"exclusive after shared", {S, X}, {in, waits({0})}},
    {"exclusive after two shared", {S, S, X}, {in, in, waits({1})}},
    {"a reader does not overtake a writer", {S, X, S}, {in, waits({0}), waits({1})}},
    {"readers watch the nearest writer",
     {X, S, X, S, S},
     {in, waits({0}), waits({1}), waits({2}), waits({2})}},
    {"readers between writers",
     {S, X, S, S, X},
     {in, waits({0}), waits({1}), waits({1}), waits({3})}},
    {"permits up to n", {P(1, 2), P(1, 2)}, {in, in}},
    {"one permit too many watches n", {P(1, 2), P(1, 2), P(1, 2)}, {in, in, waits({1, 0})}},
    {"the nearest n, not the first",
     {P(1, 2), P(1, 2), P(1, 2), P(1, 2)},
     {in, in, waits({1, 0}), waits({2, 1})}},
    {"of one: like a mutex", {P(1, 1), P(1, 1), P(1, 1)}, {in, waits({0}), waits({1})}},
    {"a big demand waits for room", {P(2, 3), P(2, 3)}, {in, waits({0})}},
    {"a small demand does not overtake a big one",
     {P(2, 3), P(2, 3), P(1, 3)},
     {in, waits({0}), waits({1, 0})}},
    {"small ones fill up before the big one",
     {P(1, 4), P(1, 4), P(3, 4), P(1, 4)},
     {in, in, waits({1, 0}), waits({2, 1})}},
    {"all of n watches the one before", {P(1, 3), P(3, 3)}, {in, waits({0})}},
    {"two after all of n", {P(3, 3), P(1, 3), P(1, 3)}, {in, waits({0}), waits({1, 0})}},
    {"k of n with mixed sizes",
     {P(2, 5), P(1, 5), P(2, 5), P(2, 5)},
     {in, in, in, waits({2, 1, 0})}},
    {"mixed sizes, enough with two",
     {P(1, 5), P(2, 5), P(2, 5), P(2, 5)},
     {in, in, in, waits({2, 1})}},
    {"permit after exclusive", {X, P(1, 3)}, {in, waits({0})}},
    {"an exclusive claim alone keeps permits out",
     {X, P(1, 3), P(1, 3)},
     {in, waits({0}), waits({0})}},
    {"permits watch what is nearer than the exclusive if it suffices",
     {X, P(2, 2), P(1, 2)},
     {in, waits({0}), waits({1})}},
    {"exclusive after permits", {P(1, 3), P(1, 3), X}, {in, in, waits({1})}},
    {"permits behind a waiting exclusive", {P(1, 3), X, P(1, 3)}, {in, waits({0}), waits({1})}},
    {"shared takes no permits", {S, P(1, 1)}, {in, in}},
    {"permits keep no shared out", {P(1, 1), S}, {in, in}},
    {"shared in between is not watched by permits", {P(1, 1), S, P(1, 1)}, {in, in, waits({0})}},
    {"2^31 - 1 permits do not overflow",
     {P(2147483647, 2147483647), P(2147483647, 2147483647), P(1, 2147483647)},
     {in, waits({0}), waits({1})}},
};

TEST(line_rule, the_table) {
  for (const row& one : table) {
    const auto verdict = judge_line(one.line);
    ASSERT_EQ(verdict.size(), one.expected.size()) << one.about;
    for (std::size_t i = 0; i < verdict.size(); ++i) {
      EXPECT_EQ(verdict[i].granted, one.expected[i].granted) << one.about << ", claim " << i;
      EXPECT_EQ(verdict[i].watches, one.expected[i].watches) << one.about << ", claim " << i;
    }
  }
}

struct upgrade_row {
  std::string about;
  std::vector<demand> line;
  std::vector<upgrade> upgrades;
  std::vector<line_verdict> expected;
};

const std::vector<upgrade_row> upgrade_table{
    {"alone with its own shared claim", {S, X}, {{1, 0}}, {in, in}},
    {"without naming it, it stands in the way", {S, X}, {}, {in, waits({0})}},
    {"another reader keeps it out", {S, S, X}, {{2, 0}}, {in, in, waits({1})}},
    {"its own is not watched", {S, S, X}, {{2, 1}}, {in, in, waits({0})}},
    {"an exclusive claim before it", {S, X, X}, {{2, 0}}, {in, waits({0}), waits({1})}},
    {"for everybody else it stands", {S, X, X}, {{1, 0}}, {in, in, waits({1})}},
    {"a reader behind it waits for it", {S, X, S}, {{1, 0}}, {in, in, waits({1})}},
    {"permits keep it out", {P(1, 3), S, X}, {{2, 1}}, {in, in, waits({0})}},
    {"two that want the same wait for each other",
     {S, S, X, X},
     {{2, 0}, {3, 1}},
     {in, in, waits({1}), waits({2})}},
};

TEST(line_rule, the_table_of_upgrades) {
  for (const upgrade_row& one : upgrade_table) {
    EXPECT_EQ(judge_line(one.line, one.upgrades), one.expected) << one.about;
  }
}

TEST(line_rule, only_an_exclusive_upgrade_stands_beside_anything) {
  claim one{.name = {}, .owner = {}, .upgrade = true, .beside = owner_id{}};
  EXPECT_TRUE(is_upgrade(one));
  EXPECT_TRUE(beside(one).has_value());
  one.mode = claim_mode::shared;
  EXPECT_FALSE(beside(one).has_value());
  one.mode = claim_mode::exclusive;
  one.upgrade = false;
  EXPECT_FALSE(is_upgrade(one));
  EXPECT_FALSE(beside(one).has_value());
}

/// The rule in its own words, written apart from the code: which sets of claims may not be in
/// together with, or stand before, this one.
bool kept_out(const std::vector<demand>& before, const demand& self) {
  std::int64_t permits = 0;
  for (const demand& other : before) {
    const bool one_exclusive =
        other.mode == claim_mode::exclusive || self.mode == claim_mode::exclusive;
    if (one_exclusive) return true;
    if (other.mode == claim_mode::permit) permits += other.permits;
  }
  return self.mode == claim_mode::permit && permits > self.of - self.permits;
}

class random_lines : public testing::Test {
 protected:
  std::vector<demand> draw(bool mixed) {
    const std::int32_t n = number(1, 6);
    const auto kind = mixed ? 2 : number(0, 1);
    std::vector<demand> line(static_cast<std::size_t>(number(0, 12)));
    for (demand& one : line) {
      const int what = kind == 0 ? number(0, 1) : kind == 1 ? 2 : number(0, 2);
      one = what == 0 ? X : what == 1 ? S : P(number(1, n), n);
    }
    return line;
  }
  int number(int low, int high) { return std::uniform_int_distribution{low, high}(rng_); }

  std::mt19937 rng_{20240607};
};

std::vector<demand> pick(const std::vector<demand>& line, const watches& which) {
  std::vector<demand> some;
  for (const std::size_t index : which) some.push_back(line[index]);
  return some;
}

TEST_F(random_lines, who_goes_in_is_what_the_definition_says) {
  for (int round = 0; round < 20000; ++round) {
    const auto line = draw(round % 2 == 0);
    const auto verdict = judge_line(line);
    ASSERT_EQ(verdict.size(), line.size());
    std::vector<demand> before;
    std::vector<demand> inside;
    for (std::size_t i = 0; i < line.size(); ++i) {
      ASSERT_EQ(verdict[i].granted, !kept_out(before, line[i])) << "round " << round;
      if (verdict[i].granted) {
        ASSERT_FALSE(kept_out(inside, line[i])) << "two that conflict are in, round " << round;
        inside.push_back(line[i]);
      }
      before.push_back(line[i]);
    }
  }
}

TEST_F(random_lines, the_watched_suffice_and_are_the_nearest) {
  for (int round = 0; round < 20000; ++round) {
    const auto line = draw(round % 2 == 0);
    const auto verdict = judge_line(line);
    for (std::size_t i = 0; i < line.size(); ++i) {
      const watches& whom = verdict[i].watches;
      ASSERT_EQ(whom.empty(), verdict[i].granted);
      if (whom.empty()) continue;
      ASSERT_TRUE(std::is_sorted(whom.rbegin(), whom.rend()));
      ASSERT_LT(whom.front(), i);
      ASSERT_TRUE(kept_out(pick(line, whom), line[i])) << "they do not keep it out";
      ASSERT_FALSE(kept_out(pick(line, {whom.begin(), whom.end() - 1}), line[i]))
          << "fewer of them keep it out already";
      watches nearer(i - whom.back() - 1);
      std::iota(nearer.begin(), nearer.end(), whom.back() + 1);
      ASSERT_FALSE(kept_out(pick(line, nearer), line[i])) << "nearer ones keep it out already";
    }
  }
}

TEST_F(random_lines, the_verdict_on_one_is_its_place_among_all) {
  for (int round = 0; round < 20000; ++round) {
    const auto line = draw(round % 2 == 0);
    const auto verdict = judge_line(line);
    for (std::size_t i = 0; i < line.size(); ++i) ASSERT_EQ(judge_claim(line, i), verdict[i]);
  }
}

TEST_F(random_lines, the_verdict_on_one_upgrade_is_its_place_among_all) {
  int upgrades = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto line = draw(true);
    const auto first_shared = std::ranges::find(line, S);
    const auto last_exclusive = std::ranges::find(line.rbegin(), line.rend(), X);
    if (last_exclusive == line.rend() || first_shared >= last_exclusive.base()) continue;
    const upgrade one{.claim = static_cast<std::size_t>(last_exclusive.base() - line.begin()) - 1,
                      .beside = static_cast<std::size_t>(first_shared - line.begin())};
    const auto verdict = judge_line(line, std::array{one});
    ASSERT_EQ(judge_claim(line, one.claim, one.beside), verdict[one.claim]);
    ++upgrades;
  }
  ASSERT_GT(upgrades, 1000);
}

TEST_F(random_lines, newcomers_never_change_what_stands) {
  for (int round = 0; round < 5000; ++round) {
    auto line = draw(round % 2 == 0);
    const auto before = judge_line(line);
    const auto more = draw(true);
    line.insert(line.end(), more.begin(), more.end());
    const auto after = judge_line(line);
    ASSERT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  }
}

TEST_F(random_lines, a_big_permit_wish_is_not_starved_by_later_small_ones) {
  for (int round = 0; round < 500; ++round) {
    std::vector<demand> line(static_cast<std::size_t>(number(1, 8)), P(1, 3));
    std::size_t big = line.size();
    line.push_back(P(3, 3));
    // Whoever is in leaves at random, and for each a small one comes: the big one is in as soon
    // as those before it have gone.
    for (std::size_t left = big; left > 0; --left) {
      const auto verdict = judge_line(line);
      watches inside;
      for (std::size_t i = 0; i < line.size(); ++i) {
        if (verdict[i].granted) inside.push_back(i);
      }
      ASSERT_LT(inside.back(), big) << "a small one overtook";
      const int gone = number(0, static_cast<int>(inside.size()) - 1);
      line.erase(line.begin() + static_cast<std::ptrdiff_t>(inside.at(std::size_t(gone))));
      --big;
      line.push_back(P(1, 3));
    }
    ASSERT_EQ(big, 0U);
    ASSERT_TRUE(judge_line(line)[0].granted);
  }
}

TEST(line_so_far, it_is_closed_behind_an_exclusive_claim_only) {
  line_so_far before;
  EXPECT_FALSE(before.closed());
  before.add(S);
  before.add(P(3, 3));
  EXPECT_FALSE(before.closed());
  EXPECT_FALSE(before.admits(X));
  EXPECT_FALSE(before.admits(P(1, 3)));
  EXPECT_TRUE(before.admits(S));
  before.add(X);
  EXPECT_TRUE(before.closed());
  EXPECT_FALSE(before.admits(S));
}

}  // namespace
}  // namespace crosslock::seam
