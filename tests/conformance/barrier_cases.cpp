// Enter together, leave together; and who is left behind is told.
#include "conformance/fixture.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class gathering : public conformance_case {
 protected:
  void play_with_barriers(std::initializer_list<ability> needs, const std::function<void()>& body) {
    play(needs, [&] {
      if (stage().traits().cells && stage().traits().shared) return body();
      const client locks = stage().connect();
      EXPECT_EQ(code_of([&] { barrier(locks, "gate", 2); }), errc::unsupported);
    });
  }
  void play_with_barriers(const std::function<void()>& body) { play_with_barriers({}, body); }

  /// How long a member that waits may take to notice that another one has died.
  duration broken_bound() { return lease() + stage().bounds().after_lease; }

  std::vector<std::unique_ptr<actor>> start_members(int count) {
    std::vector<std::unique_ptr<actor>> members;
    for (int i = 0; i < count; ++i) {
      members.push_back(stage().start_process("m" + std::to_string(i), lease()));
    }
    return members;
  }

  /// A whole round of `parties` new members works.
  void expect_usable(const std::string& name, std::int32_t parties) {
    thread_group threads{stage().clock()};
    for (std::int32_t i = 0; i < parties; ++i) {
      threads.start([&] {
        const client locks = steady();
        barrier gate{locks, name, parties};
        EXPECT_TRUE(gate.enter_for(60s));
        EXPECT_TRUE(gate.leave_for(60s));
      });
    }
  }

  static const std::string broken;
};
const std::string gathering::broken = "error " + make_error_code(errc::broken).message();
CONFORMANCE_ON_EVERY_STAGE(gathering);

TEST_P(gathering, nobody_is_in_before_all_have_come_and_nobody_out_before_all_leave) {
  play_with_barriers({ability::timely}, [this] {
    constexpr int parties = 6;
    constexpr int rounds = 4;
    std::atomic<int> came{0};
    std::atomic<int> leaving{0};
    thread_group threads{stage().clock()};
    for (int i = 0; i < parties; ++i) {
      threads.start([&, i] {
        const client locks = steady();
        barrier gate{locks, "gate", parties};
        for (int round = 1; round <= rounds; ++round) {
          stage().sleep(std::chrono::milliseconds{(i * 7 + round * 3) % 11});
          ++came;
          gate.enter();
          EXPECT_GE(came, round * parties);
          ++leaving;
          gate.leave();
          EXPECT_GE(leaving, round * parties);
        }
      });
    }
    threads.join();
    const client viewer = stage().connect();
    EXPECT_TRUE(viewer.list("crosslock:{").empty());
  });
}

TEST_P(gathering, a_barrier_of_one_is_open) {
  play_with_barriers([this] {
    const client locks = stage().connect();
    barrier gate{locks, "gate", 1};
    EXPECT_EQ(gate.parties(), 1);
    EXPECT_EQ(gate.name().str(), "gate");
    for (int i = 0; i < 3; ++i) {
      gate.enter();
      EXPECT_TRUE(gate.leave_for(0ms));
    }
  });
}

TEST_P(gathering, misuse_is_told) {
  play_with_barriers([this] {
    const client locks = stage().connect();
    barrier gate{locks, "gate", 1};
    EXPECT_EQ(code_of([&] { gate.leave(); }), errc::not_held);
    gate.enter();
    EXPECT_EQ(code_of([&] { gate.enter(); }), errc::would_deadlock);
    gate.leave();
    for (const std::int32_t bad : {0, -1, barrier::parties_max + 1}) {
      EXPECT_EQ(code_of([&] { barrier(locks, "other", bad); }), errc::conflict);
    }
    locks.close();
    EXPECT_EQ(code_of([&] { gate.enter(); }), errc::closed);
  });
}

TEST_P(gathering, another_number_of_parties_is_a_conflict_that_names_both) {
  play_with_barriers({ability::timely}, [this] {
    const client locks = steady();
    const client others = steady();
    barrier two{locks, "gate", 2};
    barrier three{others, "gate", 3};
    thread_group threads{stage().clock()};
    threads.start([&] {
      EXPECT_TRUE(two.enter_for(60s));
      EXPECT_TRUE(two.leave_for(60s));
    });
    EXPECT_TRUE(eventually([&] { return !others.list("crosslock:{").empty(); }));
    stage().sleep(100ms);
    try {
      three.enter();
      ADD_FAILURE() << "both numbers were taken";
    } catch (const error& why) {
      EXPECT_EQ(why.which(), errc::conflict);
      const std::string text = why.what();
      EXPECT_NE(text.find("of 2"), text.npos) << text;
      EXPECT_NE(text.find("of 3"), text.npos) << text;
    }
    barrier second{others, "gate", 2};
    EXPECT_TRUE(second.enter_for(60s));
    EXPECT_TRUE(second.leave_for(60s));
    threads.join();
    expect_usable("gate", 3);  // nobody is here any more
  });
}

TEST_P(gathering, who_gives_up_breaks_the_round_for_the_others) {
  play_with_barriers({ability::timely}, [this] {
    const client locks = steady();
    const client others = steady();
    barrier waits{locks, "gate", 3};
    barrier leaves{others, "gate", 3};
    for (const bool stopped : {false, true}) {
      std::stop_source stop;
      std::atomic<time_point> told{time_point{}};
      std::atomic<time_point> gone{time_point{}};
      thread_group threads{stage().clock()};
      threads.start([&] {
        EXPECT_EQ(code_of([&] { waits.enter(); }), errc::broken);
        told = stage().now();
      });
      threads.start([&] {
        EXPECT_FALSE(stopped ? leaves.enter(stop.get_token()) : leaves.enter_for(500ms));
        gone = stage().now();
      });
      EXPECT_TRUE(eventually([&] {
        const auto all = locks.list("crosslock:{");
        return all.size() == 1 && all[0].holders.size() == 2;
      }));
      stage().sleep(300ms);
      EXPECT_EQ(told.load(), time_point{});
      if (stopped) stop.request_stop();
      threads.join();
      const auto bounds = stage().bounds();
      EXPECT_LE(told.load() - gone.load(),
                stage().traits().watches_cells ? bounds.wake_up : bounds.look);
    }
    EXPECT_TRUE(locks.list("crosslock:{").empty());
    expect_usable("gate", 3);
  });
}

TEST_P(gathering, a_member_that_is_destroyed_inside_breaks_the_round) {
  play_with_barriers({ability::timely}, [this] {
    const client locks = steady();
    const client others = steady();
    auto gone = std::make_unique<barrier>(others, "gate", 2);
    barrier stays{locks, "gate", 2};
    thread_group threads{stage().clock()};
    threads.start([&] { EXPECT_TRUE(gone->enter_for(60s)); });
    EXPECT_TRUE(stays.enter_for(60s));
    threads.join();
    gone.reset();
    EXPECT_EQ(code_of([&] { stays.leave(); }), errc::broken);
    EXPECT_EQ(code_of([&] { stays.leave(); }), errc::not_held);
    expect_usable("gate", 2);
  });
}

TEST_P(gathering, a_member_killed_while_others_wait_to_enter_breaks_the_round) {
  play_with_barriers({ability::processes}, [this] {
    const auto members = start_members(3);
    const client viewer = stage().connect();
    for (const auto& each : members) each->send("join gate 4 600000");
    EXPECT_TRUE(eventually([&] {
      const auto all = viewer.list("crosslock:{");
      return all.size() == 1 && all[0].holders.size() == 3;
    }));
    stage().sleep(lease() / 2);
    members[1]->kill();
    const time_point killed = stage().now();
    EXPECT_EQ(members[0]->answer(), broken);
    EXPECT_EQ(members[2]->answer(), broken);
    EXPECT_LE(stage().now() - killed, broken_bound());
    EXPECT_EQ(members[1]->answer(), "dead");
    expect_usable("gate", 4);
  });
}

TEST_P(gathering, a_member_that_died_while_nobody_waited_is_not_counted) {
  play_with_barriers({ability::processes}, [this] {
    const auto members = start_members(1);
    const client viewer = stage().connect();
    members[0]->send("join gate 2 600000");
    EXPECT_TRUE(eventually([&] {
      const auto all = viewer.list("crosslock:{");
      return all.size() == 1 && all[0].holders.size() == 1;
    }));
    stage().sleep(lease() / 2);
    members[0]->kill();
    EXPECT_EQ(members[0]->answer(), "dead");
    EXPECT_TRUE(
        eventually([&] { return viewer.list("crosslock:{").empty(); }));  // its lease has ended
    barrier mine{viewer, "gate", 2};
    EXPECT_FALSE(mine.enter_for(500ms)) << "nobody else is there";
    expect_usable("gate", 2);
  });
}

TEST_P(gathering, a_member_killed_inside_breaks_the_round) {
  play_with_barriers({ability::processes}, [this] {
    const auto members = start_members(3);
    for (const auto& each : members) each->send("join gate 3 600000");
    for (const auto& each : members) EXPECT_EQ(each->answer(), "entered");
    members[0]->send("part gate 600000");
    stage().sleep(lease() / 3);
    EXPECT_FALSE(members[0]->has_answered());
    members[1]->kill();
    const time_point killed = stage().now();
    EXPECT_EQ(members[0]->answer(), broken);
    EXPECT_LE(stage().now() - killed, broken_bound());
    EXPECT_EQ(members[2]->say("part gate 600000"), broken);
    // Told, they are members of the next round; the dead one is replaced.
    const auto next = stage().start_process("next", lease());
    next->send("join gate 3 600000");
    members[0]->send("join gate 3 600000");
    EXPECT_EQ(members[2]->say("join gate 3 600000"), "entered");
    EXPECT_EQ(next->answer(), "entered");
    EXPECT_EQ(members[0]->answer(), "entered");
    for (actor* each : {members[0].get(), members[2].get(), next.get()}) {
      each->send("part gate 600000");
    }
    for (actor* each : {members[0].get(), members[2].get(), next.get()}) {
      EXPECT_EQ(each->answer(), "left");
    }
  });
}

TEST_P(gathering, a_frozen_member_is_taken_for_dead_and_told_on_waking) {
  play_with_barriers({ability::processes}, [this] {
    const auto members = start_members(2);
    for (const auto& each : members) each->send("join gate 3 600000");
    const client viewer = stage().connect();
    EXPECT_TRUE(eventually([&] {
      const auto all = viewer.list("crosslock:{");
      return all.size() == 1 && all[0].holders.size() == 2;
    }));
    stage().sleep(lease() / 3);
    members[0]->freeze();
    const time_point frozen = stage().now();
    EXPECT_EQ(members[1]->answer(), broken);
    EXPECT_LE(stage().now() - frozen, broken_bound());
    expect_usable("gate", 3);
    members[0]->thaw();
    EXPECT_EQ(members[0]->answer(), broken);
    expect_usable("gate", 3);
  });
}

TEST_P(gathering, a_timed_wait_comes_back_in_time_also_when_the_server_is_silent) {
  play_with_barriers({ability::processes}, [this] {
    const auto alone = stage().start_process("alone", 30s);
    const auto counts = stage().start_process("counts", 30s);
    const time_point began = stage().now();
    alone->send("join gate 2 1500");
    counts->send("await latch 2 1500");
    stage().sleep(500ms);
    alone->cut_off();
    counts->cut_off();
    for (actor* each : {alone.get(), counts.get()}) {
      const std::string said = each->answer();
      EXPECT_TRUE(said == "gave up" || said == "shut" || said.starts_with("error")) << said;
    }
    EXPECT_LE(stage().now() - began, 1500ms + 1s);  // a request may take 5 s
    alone->heal();
    counts->heal();
  });
}

TEST_P(gathering, requests_whose_answers_are_lost_count_once) {
  play_with_barriers({ability::server_faults, ability::timely}, [this] {
    options how;
    how.timeout = 500ms;
    how.lease = std::max<duration>(steady_lease(), 10s);
    std::vector<client> clients;
    for (int i = 0; i < 3; ++i) clients.push_back(stage().connect(how));
    for (int round = 0; round < 3; ++round) {
      thread_group threads{stage().clock()};
      for (const client& locks : clients) {
        threads.start([&] {
          barrier gate{locks, "gate", 3};
          EXPECT_TRUE(gate.enter_for(60s));
          EXPECT_TRUE(gate.leave_for(60s));
        });
        stage().lose_next_answer(observer::verb::swap_cell);
      }
    }
    EXPECT_TRUE(clients[0].list("crosslock:{").empty());
  });
}

}  // namespace
}  // namespace crosslock::conformance
