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

TEST_F(zookeeper_faults, F32_more_permits_than_a_message_takes_are_refused_before_they_are_sent) {
  const client locks = connect(steady);
  mutex other{locks, "other"};
  const hold kept = other.acquire();
  const proxy::jute_session before = testbed().session_of(0);
  semaphore lock{locks, "name", 10'000};
  EXPECT_EQ(code_of([&] { (void)lock.try_acquire(5'000); }), errc::unsupported);
  EXPECT_TRUE(testbed().talk().children(testbed().root() + "/name").empty());
  try {
    (void)lock.try_acquire(5'000);
  } catch (const error& why) {
    const std::string text = why.what();
    const auto most = std::stoi(text.substr(text.find("at most ") + 8));
    EXPECT_GT(most, 1'000);
    EXPECT_TRUE(lock.try_acquire(most));
  }
  EXPECT_TRUE(kept.valid());
  EXPECT_EQ(testbed().session_of(0).id, before.id);
}

/// kazoo makes the parent of a lock once, and fails for good when it is gone.
TEST_F(zookeeper_with_room, F14_beside_kazoo_parents_stay_and_beside_curator_they_go) {
  options how;
  how.lease = steady;
  const auto use = [&](const std::string& name, const std::string& naming) {
    const client locks = testbed().connect(how, naming);
    EXPECT_EQ(mutex(locks, name).acquire().release(), release_result::released);
  };
  use("kazoos", "&naming=kazoo");
  use("curators", "");
  servers::zookeeper_talk looks = testbed().talk();
  EXPECT_TRUE(eventually([&] { return !looks.exists(testbed().root() + "/curators"); }));
  EXPECT_TRUE(looks.exists(testbed().root() + "/kazoos"));
}

}  // namespace
}  // namespace crosslock::faults
