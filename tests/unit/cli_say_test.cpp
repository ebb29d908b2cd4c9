// Whatever is said, no secret is.
#include "cli/say.hpp"

#include <gtest/gtest.h>

namespace crosslock::cli {
namespace {

TEST(without_secrets, passwords_and_receipts_are_left_out) {
  EXPECT_EQ(without_secrets("not expected: redis://ann:s3:c@ret@host/0"),
            "not expected: redis://ann:***@host/0");
  EXPECT_EQ(without_secrets("'redis://:pw@h' and zk://a:b@h"), "'redis://:***@h' and zk://a:***@h");
  EXPECT_EQ(without_secrets("redis+unix:///s?password=pw&x=1"), "redis+unix:///s?password=***&x=1");
  EXPECT_EQ(without_secrets("--format is 'crosslock1:redis:0a1b:77:stock'"),
            "--format is 'crosslock1:redis:***'");
}

TEST(without_secrets, everything_else_stays) {
  for (const char* text : {"", "'a' is busy: held by ann@host pid 7 x", "sqlite:///a/b.db:12",
                           "redis://host:6379/0", "mail ann:x@y"}) {
    EXPECT_EQ(without_secrets(text), text);
  }
}

}  // namespace
}  // namespace crosslock::cli
