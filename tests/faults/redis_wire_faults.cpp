// Connections that the server kills, and scripts that it forgets.
#include "faults/redis_case.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace crosslock::faults {
namespace {

TEST_F(redis_faults, F17_killed_connections_are_made_anew_and_nothing_else_happens) {
  std::vector<std::unique_ptr<real_actor>> actors;
  for (int i = 0; i < 4; ++i) {
    actors.push_back(start("p", long_lease));
    EXPECT_EQ(actors.back()->say("sleep 0"), "awake");
  }
  for (const auto& each : actors) each->send("loop name 150 1000");
  int killed = 0;
  const auto done = [&] {
    return std::all_of(actors.begin(), actors.end(),
                       [](auto& each) { return each->has_answered(); });
  };
  while (!done()) {
    for (const std::string type : {"normal", "pubsub"}) {
      const auto said = server().say({"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
      killed += std::stoi(said.text);
    }
    note(fault::other);
    sleep_for_real(100ms);
  }
  EXPECT_GT(killed, 8);
  for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 150");
  judge();
}

TEST_F(redis_faults, F19_scripts_flushed_all_the_time_are_sent_again) {
  std::vector<std::unique_ptr<real_actor>> actors;
  for (int i = 0; i < 3; ++i) {
    actors.push_back(start("p", long_lease));
    actors.back()->send("loop name 100 1000");
  }
  int flushed = 0;
  while (!actors.back()->has_answered()) {
    EXPECT_EQ(server().say({"SCRIPT", "FLUSH"}).text, "OK");
    ++flushed;
    sleep_for_real(10ms);
  }
  for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 100");
  EXPECT_GT(flushed, 10);
  judge();
}

TEST_F(redis_faults, F19_a_flush_amid_many_renewals_loses_none_of_them) {
  ears people;
  options how;
  how.log = people.log();
  const client locks = connect(lease, how);
  std::vector<std::unique_ptr<mutex>> objects;
  std::vector<hold> holds;
  for (int i = 0; i < 200; ++i) {
    objects.push_back(std::make_unique<mutex>(locks, "name/" + std::to_string(i)));
    holds.push_back(objects.back()->acquire());
  }
  const time_point end = now() + 4 * lease;
  while (now() < end) {
    server().say({"SCRIPT", "FLUSH"});
    sleep_for_real(10ms);
  }
  const std::lock_guard guard{people.mutex};
  for (const hold& each : holds) {
    ASSERT_TRUE(each.valid()) << to_string(each.lost_reason()) << '\n' << people.heard;
  }
}

}  // namespace
}  // namespace crosslock::faults
