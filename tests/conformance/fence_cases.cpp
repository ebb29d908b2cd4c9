// Fences only grow.
#include "conformance/fixture.hpp"

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class fencing : public conformance_case {
 protected:
  /// Takes the lock and demands a higher fence than ever before.
  void take(const client& locks, const std::string& name = "name") {
    mutex lock{locks, name};
    const hold held = lock.acquire();
    EXPECT_GT(held.fence(), last_);
    EXPECT_GT(held.fence(), fence{});
    last_ = held.fence();
  }

 private:
  fence last_;
};
CONFORMANCE_ON_EVERY_STAGE(fencing);

TEST_P(fencing, it_rises_over_thousands_of_grants) {
  play([this] {
    const client one = stage().connect();
    const client two = stage().connect();
    for (int i = 0; i < 2000; ++i) take(i % 3 == 0 ? one : two);
  });
}

TEST_P(fencing, it_rises_over_reconnects) {
  play([this] {
    for (int i = 0; i < 200; ++i) take(stage().connect());
  });
}

TEST_P(fencing, it_rises_over_a_restart_of_the_engine) {
  play({ability::server_faults}, [this] {
    const client locks = stage().connect();
    for (int i = 0; i < 20; ++i) {
      for (int k = 0; k < 5; ++k) take(locks);
      stage().restart_server();
      take(stage().connect());
    }
  });
}

TEST_P(fencing, it_rises_although_the_name_was_long_unused) {
  play([this] {
    const client locks = stage().connect();
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 100; ++i) take(locks);
      for (int i = 0; i < 1500; ++i) {
        mutex other{locks, "other/" + std::to_string(round * 1500 + i)};
        const hold held = other.acquire();
      }
    }
    take(locks);
  });
}

TEST_P(fencing, it_rises_when_a_lease_ends_and_when_a_lock_is_broken) {
  play([this] {
    const client locks = stage().connect();
    mutex lock{locks, "name"};
    fence last;
    for (int i = 0; i < 3; ++i) {
      const auto left = lock.try_acquire_for(20s, lease() / 5);
      ASSERT_TRUE(left);
      EXPECT_GT(left->fence(), last);
      const hold broken = lock.acquire();  // once the lease has ended
      EXPECT_GT(broken.fence(), left->fence());
      EXPECT_TRUE(locks.break_lock("name", broken.owner()));
      last = broken.fence();
    }
  });
}

}  // namespace
}  // namespace crosslock::conformance
