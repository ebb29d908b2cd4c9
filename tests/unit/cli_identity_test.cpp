// What --owner and --meta make of themselves, and what they refuse.
#include "cli/command.hpp"
#include "cli/identity.hpp"

#include <gtest/gtest.h>

namespace crosslock::cli {
namespace {

TEST(cli_identity, the_owner_replaces_the_default_and_the_rest_follows) {
  EXPECT_EQ(note({}, "runs make"), "runs make");
  EXPECT_EQ(note({}, ""), "");
  EXPECT_EQ(note({"nightly", {}}, "runs make"), "nightly");
  EXPECT_EQ(note({{}, {"build=7"}}, "runs make"), "runs make; build=7");
  EXPECT_EQ(note({"nightly", {"build=7", "url=http://x?a=b c"}}, ""),
            "nightly; build=7, url=http://x?a=b c");
  EXPECT_EQ(note({{}, {"a=b"}}, ""), "a=b");
  EXPECT_EQ(note({"Jürgen", {}}, ""), "Jürgen");
}

TEST(cli_identity, what_cannot_be_shown_in_a_line_is_a_usage_error) {
  for (const std::string& owner : {std::string{}, std::string{"a\nb"}, std::string{"\x1b[31m"},
                                   std::string{"\xff"}, std::string(129, 'x')}) {
    EXPECT_THROW(note({owner, {}}, ""), usage_error) << owner;
  }
  for (const std::string& pair :
       {std::string{"a"}, std::string{"=b"}, std::string{"a="}, std::string{"a b=c"},
        std::string{"a=b\tc"}, std::string(33, 'k') + "=v", "k=" + std::string(129, 'v')}) {
    EXPECT_THROW(note({{}, {pair}}, ""), usage_error) << pair;
  }
  EXPECT_THROW(note({{}, std::vector<std::string>(9, "a=b")}, ""), usage_error);
  EXPECT_EQ(note({std::string(128, 'x'), std::vector<std::string>(8, "a=b")}, "").size(),
            128U + 2 + 8 * 3 + 7 * 2);
}

}  // namespace
}  // namespace crosslock::cli
