// Connections that are lost and made anew, and what becomes of their session.
#include "faults/zookeeper_case.hpp"

#include <atomic>
#include <memory>

namespace crosslock::faults {
namespace {

/// What the observer of a client hears of its session.
class session_diary final : public observer {
 public:
  std::atomic<int> suspensions = 0;
  std::atomic<int> resumptions = 0;
  std::atomic<int> losses = 0;
  std::atomic<errc> why{};

  void suspended(const error& reason) noexcept override {
    why = reason.which();
    ++suspensions;
  }
  void resumed() noexcept override { ++resumptions; }
  void lost(const lost_event& event) noexcept override {
    EXPECT_EQ(event.reason, loss_reason::gone);
    ++losses;
  }
};

TEST_F(zookeeper_faults, F17_a_lost_connection_is_told_as_suspended_and_only_its_session_as_lost) {
  const auto diary = std::make_shared<session_diary>();
  options how;
  how.observer = diary;
  const client locks = connect(steady, how);
  mutex lock{locks, "name"};
  const hold held = lock.acquire();
  const std::int64_t first = testbed().session_of(0).id;
  for (int times = 1; times <= 2; ++times) {
    const int before = diary->resumptions;
    own_wire().cut();
    EXPECT_TRUE(eventually([&] { return diary->suspensions == times; }));
    EXPECT_EQ(diary->why, errc::unreachable);
    EXPECT_TRUE(held.valid());
    own_wire().heal();
    EXPECT_TRUE(eventually([&] { return diary->resumptions == before + 1; }));
    EXPECT_EQ(testbed().session_of(0).id, first);
    EXPECT_TRUE(held.valid());
  }
  EXPECT_EQ(diary->losses, 0);
  const int before = diary->resumptions;
  own_wire().cut();
  servers::zookeeper_talk{server().address(), testbed().session_of(0)}.close();
  own_wire().heal();
  EXPECT_TRUE(eventually([&] { return diary->losses == 1; }));
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(eventually([&] { return diary->resumptions == before + 1; }));
  EXPECT_EQ(diary->suspensions, 3);
  EXPECT_NE(testbed().session_of(0).id, first);
  EXPECT_GT(lock.acquire().fence(), held.fence());
}

class resumption_count final : public observer {
 public:
  std::atomic<int> count = 0;
  void resumed() noexcept override { ++count; }
};

/// Another server of an ensemble, or the same one with other limits.
TEST_F(zookeeper_faults, F17_a_session_that_comes_back_shorter_shortens_every_hold_at_once) {
  const auto diary = std::make_shared<resumption_count>();
  options how;
  how.observer = diary;
  const client locks = connect(20s, how);
  mutex lock{locks, "name"};
  mutex other{locks, "other"};
  const hold held = lock.acquire();
  const hold also_held = other.acquire();
  const int before = diary->count;
  constexpr duration shorter = 3s;
  server().kill();
  server().set("maxSessionTimeout", "3000");
  server().start();
  EXPECT_TRUE(eventually([&] { return diary->count == before + 1; }));
  EXPECT_LE(held.expires_at(), boot_clock::now() + shorter);
  EXPECT_LE(also_held.expires_at(), boot_clock::now() + shorter);
}

}  // namespace
}  // namespace crosslock::faults
