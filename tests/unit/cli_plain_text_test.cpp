// Texts for terminals: nothing in them may be obeyed, and columns must be right.
#include "cli/looking/plain_text.hpp"

#include "cli/looking/table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace crosslock::cli {
namespace {

using namespace std::string_literals;

TEST(cli_plain_text, what_can_be_printed_stays_as_it_is) {
  for (const char* text : {"", "nightly", "a b/c:d", "naïve", "日本語", "\U0001F512", "e\u0301"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(cli_plain_text, what_a_terminal_would_obey_is_written_out) {
  EXPECT_EQ(printable("\x1b[2Jred"), "\\x1b[2Jred");
  EXPECT_EQ(printable("a\nb\rc\td\x7f"), "a\\x0ab\\x0dc\\x09d\\x7f");
  EXPECT_EQ(printable("a\0b"s), "a\\x00b");
  EXPECT_EQ(printable("\u009b2J"), "\\u{009b}2J");  // the control sequence in one character
  EXPECT_EQ(printable("abc\u202Etxt"), "abc\\u{202e}txt");
  EXPECT_EQ(printable("a\u2028b"), "a\\u{2028}b");
}

TEST(cli_plain_text, bytes_that_are_no_characters_are_written_out) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe6\x97"), "\\xe6\\x97");  // cut off
  EXPECT_EQ(printable("\xe6\x97\xa5\xe6"), "日\\xe6");
}

TEST(cli_plain_text, wide_and_combining_characters_are_counted_in_columns) {
  EXPECT_EQ(columns_of("abc"), 3U);
  EXPECT_EQ(columns_of("naïve"), 5U);
  EXPECT_EQ(columns_of("日本語"), 6U);
  EXPECT_EQ(columns_of("\U0001F512"), 2U);
  EXPECT_EQ(columns_of("e\u0301"), 1U);
}

TEST(cli_plain_text, a_cut_never_takes_more_than_its_columns) {
  EXPECT_EQ(cut("nightly", 7), "nightly");
  EXPECT_EQ(cut("nightly", 6), "night…");
  EXPECT_EQ(cut("nightly", 1), "…");
  EXPECT_EQ(cut("nightly", 0), "");
  EXPECT_EQ(cut("日本語", 6), "日本語");
  EXPECT_EQ(cut("日本語", 5), "日本…");
  EXPECT_EQ(cut("日本語", 4), "日…");  // half of a wide one is none
  for (std::size_t columns = 0; columns < 12; ++columns) {
    EXPECT_LE(columns_of(cut("a日b本c語de\u0301f", columns)), columns);
  }
}

TEST(cli_plain_text, padding_goes_by_columns) {
  EXPECT_EQ(padded("ab", 4), "ab  ");
  EXPECT_EQ(padded("日本", 5), "日本 ");
  EXPECT_EQ(padded("abcde", 4), "abcde");
}

TEST(cli_table, columns_stand_below_each_other) {
  table rows{{"NAME", "WHO"}};
  rows.add({"日本", "ann"});
  rows.add({"longer-name", "\x1b[31mbob"});
  EXPECT_EQ(rows.lines({}), (std::vector<std::string>{"NAME         WHO", "日本         ann",
                                                      "longer-name  \\x1b[31mbob"}));
}

TEST(cli_table, no_line_is_wider_than_the_terminal) {
  table rows{{"NAME", "WHO"}};
  rows.add({std::string(50, 'n'), std::string(50, 'w')});
  rows.add({"日本語日本語日本語", "someone"});
  for (std::size_t columns = 1; columns < 130; ++columns) {
    for (const std::string& line : rows.lines({.columns = columns, .colours = false})) {
      EXPECT_LE(columns_of(line), columns) << line;
    }
  }
  EXPECT_EQ(rows.lines({.columns = 30, .colours = false})[1].substr(0, 12), "nnnnnnnnn…");
}

TEST(cli_table, colours_go_around_the_cut_line) {
  table rows{{"NAME"}};
  rows.add({"abcdefghijkl"}, colour::yellow);
  EXPECT_EQ(rows.lines({.columns = 8, .colours = true}),
            (std::vector<std::string>{"\x1b[1mNAME\x1b[0m", "\x1b[33mabcdefg…\x1b[0m"}));
}

}  // namespace
}  // namespace crosslock::cli
