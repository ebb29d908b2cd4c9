// The servers that tests of ZooKeeper start: what they are told to do happens.
#include "servers/zookeeper_server.hpp"
#include "servers/zookeeper_ensemble.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace crosslock::servers {
namespace {

using namespace std::chrono_literals;

TEST(zookeeper_server_test, it_serves_and_comes_back_at_the_same_port) {
  zookeeper_server server{{.settings = {{"tickTime", "300"}}}};
  EXPECT_EQ(server.mode(), "standalone");
  EXPECT_NE(server.say("conf").find("tickTime=300"), std::string::npos);
  EXPECT_EQ(server.number("zk_watch_count"), 0);
  EXPECT_GT(server.number("zk_znode_count"), 0);
  const std::uint16_t port = server.port();
  server.kill();
  EXPECT_FALSE(server.serves());
  server.start();
  EXPECT_TRUE(server.serves());
  EXPECT_EQ(server.port(), port);
}

TEST(zookeeper_ensemble_test, two_go_on_without_one_that_was_killed_or_cut_off) {
  zookeeper_ensemble three;
  const std::size_t first = three.leader();
  EXPECT_EQ(three[three.others(first)[0]].mode(), "follower");
  three[first].kill();
  const std::size_t second = three.leader();
  EXPECT_NE(second, first);
  three.mend();

  three.cut_off(second);
  EXPECT_TRUE(eventually([&] { return !three[second].serves(); }));
  const std::size_t third = three.leader();
  EXPECT_NE(third, second);
  three.heal(second);
  EXPECT_TRUE(eventually([&] { return three[second].mode() == "follower"; }));

  three.cut_off(second);
  EXPECT_TRUE(eventually([&] { return !three[second].serves(); }));
  EXPECT_EQ(three.leader(), third);
  three.mend();
  EXPECT_EQ(three[second].mode(), "follower");
}

}  // namespace
}  // namespace crosslock::servers
