#include "engines/zookeeper/digest.hpp"

#include <gtest/gtest.h>

namespace crosslock::zookeeper {
namespace {

// What org.apache.zookeeper.server.auth.DigestAuthenticationProvider says.
TEST(zookeeper_digest, is_what_the_server_computes) {
  EXPECT_EQ(digest_id("super", "test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
  EXPECT_EQ(digest_id("ann", "a b:c/\xc3\xbc"), "ann:865P5+qdJwLbbJjJNNvHP7ptyZE=");
  EXPECT_EQ(digest_id("", ""), ":BaefBs8/Z/cm2uaNGKIpD2yaUMk=");
}

}  // namespace
}  // namespace crosslock::zookeeper
