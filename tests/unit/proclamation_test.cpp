#include "cells/proclamation.hpp"

#include <crosslock/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace crosslock::inner {
namespace {

const lock_name name{"office"};

errc refused(const std::string& text) {
  try {
    (void)read_proclamation(name, text);
  } catch (const error& why) {
    return why.which();
  }
  return errc{};
}

TEST(proclamation, what_is_written_is_read_again) {
  for (const std::string& value :
       {std::string{}, std::string{"node 7"}, std::string{" \0\n\xff ", 5}}) {
    const auto read = read_proclamation(name, to_text(leader_info{value, fence{fence::max_value}}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->value, value);
    EXPECT_EQ(read->fence.value(), fence::max_value);
  }
  EXPECT_EQ(to_text(leader_info{"node 7", fence{42}}), "election1 42 node 7");
  EXPECT_FALSE(read_proclamation(name, ""));
}

TEST(proclamation, what_is_none_is_refused) {
  for (const char* text : {"7", "election 1 x", "latch1 0 3"}) {
    EXPECT_EQ(refused(text), errc::conflict) << text;
  }
  for (const char* text : {"election1", "election1 ", "election1 7", "election1 0 x",
                           "election1 -7 x", "election1 9223372036854775808 x", "election1 x y"}) {
    EXPECT_EQ(refused(text), errc::protocol) << text;
  }
}

}  // namespace
}  // namespace crosslock::inner
