// Many clients that read, write, change their holds, and take permits: everything is written down,
// and the checker is the judge.
#include "conformance/fixture.hpp"
#include "conformance/mode_performer.hpp"

#include <atomic>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class mode_history : public conformance_case {
  bool unlocks_wait() const override { return false; }

 protected:
  bool unsupported() { return !stage().traits().shared || !stage().traits().permits; }

  static std::string name_of(int i) { return "name/" + std::to_string(i % 3); }

  /// What was written must be there at the end.
  void note_final_values(std::int64_t accepted) {
    std::int64_t sum = 0;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t value = stage().resource().read(name_of(i));
      stage().book().final_value(stage().now(), name_of(i), value);
      sum += value;
    }
    EXPECT_EQ(sum, accepted);
  }

  /// Freezes, cuts off and kills some of them while they are at work, then hears all answers.
  void disturb(const std::vector<std::unique_ptr<actor>>& actors) {
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
    for (const auto& each : actors) {
      const std::string said = each->answer();
      const bool ended =
          said == "dead" || said == "torn" || said.starts_with("done") || said.starts_with("error");
      EXPECT_TRUE(ended) << said;
    }
    auto how = stage().strictness();
    how.owner_never_refused = false;  // a cut may make a client release twice
    how.calm_bound = stage().frozen_waiter_bound(lease());
    how.after_fault_bound = 3 * lease() + stage().bounds().after_lease;
    judge(how);
  }

  /// `clients`, each with so many threads, read and write three names.
  void read_and_write_by(std::int32_t clients, std::int32_t threads_each, int times) {
    std::atomic<int> accepted{0};
    std::atomic<int> torn{0};
    {
      thread_group threads{stage().clock()};
      for (std::int32_t c = 0; c < clients; ++c) {
        threads.start([&, c] {
          const client locks = stage().connect();
          thread_group own{stage().clock()};
          for (std::int32_t t = 0; t < threads_each; ++t) {
            own.start([&, t] {
              const std::int32_t number = c * threads_each + t;
              shared_mutex lock{locks, name_of(number)};
              const auto result = read_and_write(of(stage()), lock, times, 200us,
                                                 static_cast<std::uint64_t>(number), number);
              accepted += result.accepted;
              torn += result.torn;
            });
          }
        });
      }
    }
    EXPECT_EQ(torn, 0);
    EXPECT_GT(accepted, 0);
    note_final_values(accepted);
    judge();
  }
};
CONFORMANCE_ON_EVERY_STAGE(mode_history);

TEST_P(mode_history, sixty_four_clients_that_read_and_write_keep_every_promise) {
  play([this] {
    if (!unsupported()) read_and_write_by(64, 1, 8);
  });
}

TEST_P(mode_history, readers_and_writers_that_share_clients_keep_every_promise) {
  play([this] {
    if (!unsupported()) read_and_write_by(8, 8, 12);
  });
}

TEST_P(mode_history, a_mutex_and_a_shared_mutex_of_one_name_keep_every_promise) {
  play([this] {
    if (unsupported()) return;
    std::atomic<int> accepted{0};
    std::atomic<int> torn{0};
    {
      thread_group threads{stage().clock()};
      for (std::int32_t t = 0; t < 24; ++t) {
        threads.start([&, t] {
          const client locks = stage().connect();
          if (t % 3 == 0) {
            mutex plain{locks, "name/0"};
            accepted += increment(of(stage()), plain, 8, 200us, t);
            return;
          }
          shared_mutex lock{locks, "name/0"};
          const auto result =
              read_and_write(of(stage()), lock, 8, 200us, static_cast<std::uint64_t>(t), t);
          accepted += result.accepted;
          torn += result.torn;
        });
      }
    }
    EXPECT_EQ(torn, 0);
    note_final_values(accepted);
    judge();
  });
}

TEST_P(mode_history, sixty_four_clients_that_take_permits_keep_every_promise) {
  play([this] {
    if (unsupported()) return;
    thread_group threads{stage().clock()};
    for (std::int32_t t = 0; t < 64; ++t) {
      threads.start([&, t] {
        const client locks = stage().connect();
        semaphore lock{locks, name_of(t), 5};
        use_permits(of(stage()), lock, 8, 200us, static_cast<std::uint64_t>(t), t);
      });
    }
    threads.join();
    judge();
  });
}

TEST_P(mode_history, threads_of_few_clients_that_take_permits_keep_every_promise) {
  play([this] {
    if (unsupported()) return;
    std::vector<client> clients;
    for (int i = 0; i < 4; ++i) clients.push_back(stage().connect());
    thread_group threads{stage().clock()};
    for (std::int32_t t = 0; t < 32; ++t) {
      threads.start([&, t] {
        semaphore lock{clients[static_cast<std::size_t>(t) % clients.size()], "name", 7};
        use_permits(of(stage()), lock, 12, 200us, static_cast<std::uint64_t>(t), t);
      });
    }
    threads.join();
    judge();
  });
}

TEST_P(mode_history, sixty_four_processes_that_read_and_write_keep_every_promise) {
  play({ability::processes}, [this] {
    if (unsupported()) return;
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 64; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), 30s));
      actors.back()->send("mixed " + name_of(i) + " 8 500 " + std::to_string(i));
    }
    std::int64_t accepted = 0;
    for (const auto& each : actors) {
      const std::string said = each->answer();
      EXPECT_TRUE(said.starts_with("done ")) << said;
      if (said.starts_with("done ")) accepted += std::stoll(said.substr(5));
    }
    note_final_values(accepted);
    judge();
  });
}

TEST_P(mode_history, sixty_four_processes_that_take_permits_keep_every_promise) {
  play({ability::processes}, [this] {
    if (unsupported()) return;
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 64; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), 30s));
      actors.back()->send("permits " + name_of(i) + " 5 8 500 " + std::to_string(i));
    }
    for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 8");
    judge();
  });
}

TEST_P(mode_history, processes_that_read_and_write_with_faults_keep_every_promise_of_safety) {
  play({ability::processes}, [this] {
    if (unsupported()) return;
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 64; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), lease()));
      actors.back()->send("mixed " + name_of(i) + " 20 20000 " + std::to_string(i));
    }
    disturb(actors);
  });
}

TEST_P(mode_history, processes_that_take_permits_with_faults_keep_every_promise_of_safety) {
  play({ability::processes}, [this] {
    if (unsupported()) return;
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 64; ++i) {
      actors.push_back(stage().start_process("p" + std::to_string(i), lease()));
      actors.back()->send("permits " + name_of(i) + " 5 20 20000 " + std::to_string(i));
    }
    disturb(actors);
  });
}

}  // namespace
}  // namespace crosslock::conformance
