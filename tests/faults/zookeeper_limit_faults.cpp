// Too small a disk, and a line that is full.
#include "faults/small_disk.hpp"
#include "faults/zookeeper_case.hpp"

namespace crosslock::faults {
namespace {

/// There before the server that stores things on it, and longer.
struct own_small_disk {
  const conformance::stage_folder home{};
  small_disk disk{home.path() / "small", "8m"};
};

class zookeeper_on_a_small_disk : protected own_small_disk, public zookeeper_alone {
 protected:
  zookeeper_on_a_small_disk() : zookeeper_alone{{.data = disk.path() / "data"}} {}
};

TEST_F(zookeeper_on_a_small_disk, F22_a_full_disk_is_an_error_and_holders_are_told_in_time) {
  if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount";
  const client locks = connect(steady, impatient(500ms));
  mutex lock{locks, "name"};
  const auto holder = start("holder");
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  holder->send("work held 60000");
  disk.fill();
  // Its journal was given room ahead of need; when that is used up the server ends itself.
  servers::zookeeper_talk filler{server().address()};
  filler.create("/filler");
  try {
    for (int i = 0; i < 1000; ++i) filler.set("/filler", std::string(100'000, 'x'));
    ADD_FAILURE() << "there is room for ever";
  } catch (const std::runtime_error&) {
  }
  filler.hang_up();
  const time_point full = now();
  EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::unreachable);
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "held").when - full, session);
  disk.make_room();
  server().kill();
  server().start();
  EXPECT_TRUE(eventually(
      [&] { return code_of([&] { EXPECT_TRUE(lock.try_acquire_for(5s)); }) == errc{}; }));
  EXPECT_TRUE(holder->say("acquire held 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release held"), "released");
}

class zookeeper_with_room : public zookeeper_alone {
 protected:
  zookeeper_with_room()
      : zookeeper_alone{{.machine = {"-Xmx1g", "-Dznode.container.checkIntervalMs=1000",
                                     "-Dznode.container.maxPerMinute=1000000"}}} {}
};

TEST_F(zookeeper_with_room, F32_a_full_line_refuses_and_keeps_nothing_of_whoever_was_refused) {
  constexpr std::size_t longest = 8192;
  const client locks = connect(60s);
  mutex lock{locks, "name"};
  take_and_release("name");  // its parents are there
  const std::string place = testbed().root() + "/name";
  servers::zookeeper_talk crowd = testbed().talk();
  const auto come = [&] {
    return crowd.create(place + "/lock-", {}, servers::zookeeper_talk::kind::ephemeral_sequential);
  };
  std::string last;
  for (std::size_t i = 0; i < longest; ++i) last = come();
  EXPECT_EQ(code_of([&] { (void)lock.try_acquire_for(5s); }), errc::queue_full);
  EXPECT_EQ(code_of([&] { EXPECT_FALSE(lock.try_acquire()); }), errc{});
  EXPECT_TRUE(eventually([&] { return crowd.children(place).size() == longest; }));
  crowd.remove(last);
  EXPECT_EQ(code_of([&] { EXPECT_FALSE(lock.try_acquire_for(500ms)); }), errc{});
  crowd.close();
  EXPECT_TRUE(lock.try_acquire_for(30s));
}

}  // namespace
}  // namespace crosslock::faults
