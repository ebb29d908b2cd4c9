#include <crosslock/error.hpp>
#include <crosslock/lock_name.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace crosslock {
namespace {

using namespace std::string_literals;

/// The text of the error, or nothing when the name is legal.
std::optional<std::string> complaint(std::string_view text) {
  try {
    const lock_name name{text};
    EXPECT_EQ(name.view(), text);
    return std::nullopt;
  } catch (const error& failure) {
    EXPECT_EQ(failure.which(), errc::invalid_name);
    return failure.what();
  }
}

bool printable_ascii(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) return false;
  }
  return true;
}

std::string utf8(std::uint32_t point) {
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xc0 | point >> 6), byte(0x80 | (point & 0x3f))};
  if (point < 0x10000) {
    return {byte(0xe0 | point >> 12), byte(0x80 | (point >> 6 & 0x3f)),
            byte(0x80 | (point & 0x3f))};
  }
  return {byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 0x3f)),
          byte(0x80 | (point >> 6 & 0x3f)), byte(0x80 | (point & 0x3f))};
}

TEST(lock_name, names_of_every_strange_legal_kind_are_accepted_as_they_are) {
  const std::vector<std::string> legal{"a",
                                       "stock/sku-42",
                                       "..",
                                       ".",
                                       "/",
                                       "a//b",
                                       "trailing/",
                                       "zookeeper",
                                       "{tag}",
                                       "a:b",
                                       "*",
                                       "with space",
                                       " ",
                                       "a ",
                                       "Lock",
                                       "lock",
                                       "'; DROP TABLE locks; --",
                                       "100%",
                                       "back\\slash",
                                       "\"quoted\"",
                                       "redis.call('del', KEYS[1])",
                                       "M\xc3\xbcller",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x94\x92",
                                       "\xef\xbf\xbf",
                                       "\xef\xbf\xbe",
                                       "\xc2\xa0",
                                       "\xf4\x8f\xbf\xbf",
                                       "crosslock",
                                       "crosslock:",
                                       "crosslock:x{",
                                       " crosslock:{",
                                       "Crosslock:{",
                                       std::string(512, 'x')};
  std::set<lock_name> distinct;
  for (const auto& text : legal) {
    EXPECT_EQ(complaint(text), std::nullopt) << text;
    distinct.insert(lock_name{text});
  }
  EXPECT_EQ(distinct.size(), legal.size());
}

struct bad_name {
  std::string text;
  std::string why;
  std::size_t at;
};

TEST(lock_name, bad_bytes_are_refused_by_position_and_reason) {
  const std::vector<bad_name> rows{
      {"a\0b"s, "a control character", 1},
      {"\n", "a control character", 0},
      {"line\r\n", "a control character", 4},
      {"tab\t", "a control character", 3},
      {"\x1b[2J", "a control character", 0},
      {"del\x7f", "a control character", 3},
      {"\xc2\x80", "a control character", 0},
      {"xy\xc2\x9f", "a control character", 2},
      {"a\x80", "continuation byte", 1},
      {"a\xbf\xbf", "continuation byte", 1},
      {"\xc0\x80", "overlong", 0},
      {"\xc1\xbf", "overlong", 0},
      {"a\xe0\x9f\xbf", "overlong", 1},
      {"\xf0\x8f\xbf\xbf", "overlong", 0},
      {"ab\xed\xa0\x80", "surrogate", 2},
      {"\xed\xbf\xbf", "surrogate", 0},
      {"\xf4\x90\x80\x80", "above U+10FFFF", 0},
      {"\xf5\x80\x80\x80", "above U+10FFFF", 0},
      {"\xf8\x88\x80\x80\x80", "never part of UTF-8", 0},
      {"\xff", "never part of UTF-8", 0},
      {"abc\xc3", "cut off", 3},
      {"\xe2\x82", "cut off", 0},
      {"\xf0\x9f\x94", "cut off", 0},
      {"\xc3(", "not complete", 0},
      {"\xe2\x82(", "not complete", 0},
      {"\xf0\x9f\x94(", "not complete", 0},
      {"crosslock:{", "reserved", 0},
      {"crosslock:{x}:y", "reserved", 0},
  };
  for (const auto& [text, why, at] : rows) {
    const auto said = complaint(text);
    ASSERT_TRUE(said) << testing::PrintToString(text);
    EXPECT_NE(said->find(why), std::string::npos) << *said;
    EXPECT_NE(said->find("byte offset " + std::to_string(at)), std::string::npos) << *said;
    EXPECT_TRUE(printable_ascii(*said)) << *said;
  }
}

TEST(lock_name, an_empty_name_is_refused) {
  EXPECT_NE(complaint("").value_or("").find("is empty"), std::string::npos);
}

TEST(lock_name, byte_513_is_one_too_many) {
  const auto said = complaint(std::string(513, 'x')).value_or("");
  EXPECT_NE(said.find("513 bytes"), std::string::npos) << said;
  EXPECT_LT(said.size(), 250U) << "a long name must be shown shortened";
}

TEST(lock_name, the_limit_counts_bytes_and_not_characters) {
  std::string text;
  while (text.size() < 512) text += "\xc3\xb6";
  EXPECT_EQ(complaint(text), std::nullopt);
  EXPECT_TRUE(complaint(text + "\xc3\xb6"));
}

TEST(lock_name, a_huge_name_is_refused_without_reading_it) {
  EXPECT_TRUE(complaint(std::string(std::size_t{1} << 20, '\xff')));
}

TEST(lock_name, every_code_point_is_judged_as_unicode_says) {
  for (std::uint32_t point = 0; point <= 0x110000; ++point) {
    const bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    const bool legal = !control && !surrogate && point <= 0x10ffff;
    // Exceptions are slow: most of the legal ones are enough.
    if (legal || point < 0x100 || point % 64 == 0) {
      ASSERT_EQ(!complaint(utf8(point)), legal) << std::hex << point;
    }
  }
}

TEST(lock_name, random_bytes_are_accepted_unchanged_or_refused_in_plain_text) {
  std::mt19937_64 random{7};
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 12, '\0');
    for (auto& c : text) c = static_cast<char>(random());
    if (const auto said = complaint(text)) {
      ASSERT_TRUE(printable_ascii(*said)) << *said;
    }
  }
}

TEST(lock_name, names_are_ordered_by_their_bytes) {
  EXPECT_LT(lock_name{"A"}, lock_name{"a"});
  EXPECT_LT(lock_name{"a"}, lock_name{"a "});
  EXPECT_LT(lock_name{"z"}, lock_name{"\xc3\xb6"});
  EXPECT_EQ(lock_name{"a"}, lock_name{"a"});
}

TEST(lock_name, what_a_server_has_stored_is_a_name_again) {
  const std::string longest(lock_name::max_bytes, 'x');
  for (const lock_name& name :
       {lock_name{"a"}, lock_name{longest}, lock_name::reserved("kind", "a"),
        lock_name::reserved("kind", "}:{kind}:"), lock_name::reserved("two_words", longest)}) {
    EXPECT_EQ(lock_name::stored(name.view()), name);
  }
  for (const std::string& text :
       {std::string{}, std::string{"crosslock:{"}, std::string{"crosslock:{}:a"},
        std::string{"crosslock:{kind}"}, std::string{"crosslock:{kind}:"},
        std::string{"crosslock:{kind:a"}, std::string{"crosslock:{Kind}:a"},
        std::string{"crosslock:{kind}:a\n"}, "crosslock:{kind}:" + longest + 'x',
        std::string{"crosslock:{kind}:crosslock:{kind}:a"}, longest + 'x'}) {
    EXPECT_THROW(lock_name::stored(text), error) << text;
  }
}

}  // namespace
}  // namespace crosslock
