// Many clients at once, everything written down, and the checker as judge: no overlap, rising
// fences, no free lock beside a waiter beyond the bound, no increment lost.
#include "conformance/fixture.hpp"

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE_UNWAITING(history);

TEST_P(history, sixty_four_clients_keep_every_promise) {
  play([this] {
    constexpr std::int32_t clients = 64;
    constexpr int times = 8;
    {
      thread_group threads{stage().clock()};
      for (std::int32_t t = 0; t < clients; ++t) {
        threads.start([&, t] {
          const client locks = stage().connect();
          mutex lock{locks, "name/" + std::to_string(t % 3)};
          EXPECT_EQ(increment(of(stage()), lock, times, 200us, t), times);
        });
      }
    }
    std::int64_t sum = 0;
    for (int i = 0; i < 3; ++i) {
      const std::string name = "name/" + std::to_string(i);
      sum += stage().resource().read(name);
      stage().book().final_value(stage().now(), name, stage().resource().read(name));
    }
    EXPECT_EQ(sum, clients * times);
    judge();
  });
}

TEST_P(history, sixty_four_processes_keep_every_promise) {
  play({ability::processes}, [this] {
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 64; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), 30s));
      actors.back()->send("loop name/" + std::to_string(i % 3) + " 8 500");
    }
    for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 8");
    judge();
  });
}

TEST_P(history, sixty_four_processes_with_faults_keep_every_promise_of_safety) {
  play({ability::processes}, [this] {
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 64; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), lease()));
      actors.back()->send("loop name/" + std::to_string(i % 3) + " 20 20000");
    }
    const duration step = lease() / 7;
    for (std::size_t i = 0; i < 12; ++i) {
      stage().sleep(step);
      actors[5 * i]->freeze();
      actors[5 * i + 1]->cut_off();
      if (i % 3 == 0) actors[5 * i + 2]->kill();
      stage().sleep(i % 2 == 0 ? step : 2 * lease());
      actors[5 * i]->thaw();
      actors[5 * i + 1]->heal();
    }
    for (std::size_t i = 0; i < actors.size(); ++i) {
      const std::string said = actors[i]->answer();
      const bool ended = said == "dead" || said.starts_with("done") || said.starts_with("error");
      EXPECT_TRUE(ended) << said;
    }
    auto how = stage().strictness();
    how.owner_never_refused = false;  // a cut may make a client release twice
    how.calm_bound = stage().frozen_waiter_bound(lease());
    how.after_fault_bound = 3 * lease() + stage().bounds().after_lease;
    judge(how);
  });
}

}  // namespace
}  // namespace crosslock::conformance
