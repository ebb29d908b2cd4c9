// Servers that are killed, stopped, out of reach, or have forgotten what came last.
#include "faults/suites.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace crosslock::faults {
namespace {

using checker::fault;

TEST_P(server_faults, F6_a_server_killed_and_started_again_has_forgotten_nothing) {
  const client viewer = connect(bounds().patient, {});
  const auto [holder, next, first] = holder_and_waiter(viewer, bounds().patient, bounds().patient);
  for (int round = 0; round < 3; ++round) {
    note(fault::server_down);
    stage().kill_server();
    stage().start_server();
    note(fault::server_up);
    EXPECT_EQ(holder->say("work name 300"), "held");
    lock_info seen;
    EXPECT_TRUE(eventually([&] { return code_of([&] { seen = viewer.look("name"); }) == errc{}; },
                           bounds().looks_after_restart));
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].fence, first);
  }
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  const fence second = fence_in(next->answer());
  EXPECT_LE(now() - released, bounds().after_restart);
  EXPECT_GT(second, first);
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_GT(take_and_release("name"), second);
  judge(bounds().calm.restart);
}

TEST_P(strike_faults, F6_a_server_killed_again_and_again_amid_the_work_breaks_no_promise) {
  const auto plan = stage().strikes();
  std::vector<std::unique_ptr<real_actor>> actors;
  for (int i = 0; i < 4; ++i) {
    actors.push_back(start("p", bounds().lasting));
    actors.back()->send("loop name/" + std::to_string(i % 2) + ' ' + std::to_string(plan.cycles) +
                        " 2000");
  }
  const auto working = [&] {
    return std::none_of(actors.begin(), actors.end(),
                        [](const auto& each) { return each->has_answered(); });
  };
  int struck = 0;
  for (; struck < plan.rounds && working(); ++struck) {
    const std::int64_t before = stage().numbers().read("name/0");
    EXPECT_TRUE(eventually(
        [&] { return stage().numbers().read("name/0") > before + plan.progress || !working(); }));
    note(fault::server_down);
    stage().strike(struck);
    note(fault::server_up);
  }
  EXPECT_GE(struck, plan.at_least);
  for (const auto& each : actors) {
    const std::string said = each->answer();
    EXPECT_TRUE(said.starts_with("done ")) << said;
    EXPECT_EQ(each->say("loop name/0 3 0"), "done 3");
  }
  judge(bounds().calm.strikes);
}

TEST_P(server_faults, F7_a_stopped_server_costs_an_error_in_time_and_holders_are_told_in_time) {
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer);
  const client locks = connect(impatient(500ms));
  mutex lock{locks, "other"};
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 20000");
  note(fault::server_down);
  stage().stop_server();
  const time_point stopped = now();
  const errc failed = code_of([&] { (void)lock.try_acquire(); });
  EXPECT_TRUE(failed == errc::timed_out || failed == errc::unreachable) << static_cast<int>(failed);
  EXPECT_LE(now() - stopped, 500ms + stall);
  EXPECT_EQ(holder->answer(), "lost");
  EXPECT_LE(ask_notice(*holder, "name").when - stopped, bounds().brief);
  sleep_for_real(stopped + 2 * bounds().brief - now());
  EXPECT_FALSE(next->has_answered());  // nobody could have let it in
  stage().go_on_server();
  note(fault::server_up);
  const time_point went_on = now();
  EXPECT_LE(in_at(*next) - went_on, bounds().after_stop);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_TRUE(lock.try_acquire_for(20s));
  judge_with_stale_write(bounds().calm.stop);
}

TEST_P(server_faults, F7_a_short_stop_of_the_server_is_survived) {
  const auto holder = start("holder", bounds().lasting);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  for (int round = 0; round < 3; ++round) {
    stage().stop_server();
    sleep_for_real(700ms);
    stage().go_on_server();
    EXPECT_EQ(holder->say("work name 200"), "held");
  }
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_EQ(holder->say("loop name 5 0"), "done 5");
  judge();
}

TEST_P(outage_faults, F11_without_a_server_there_is_a_typed_error_in_time_and_no_grant) {
  const auto holder = start("holder", bounds().brief);
  const client locks = connect(impatient(500ms));
  mutex lock{locks, "name"};
  fence last;
  for (const harm& how : stage().outages()) {
    SCOPED_TRACE(how.name);
    const fence first = fence_in(holder->say("acquire name 20000"));
    EXPECT_GT(first, last);
    holder->send("work name 60000");
    note(fault::server_down);
    how.begin(*holder);
    const time_point down = now();
    for (int i = 0; i < 3; ++i) {
      const time_point asked = now();
      const errc failed = code_of([&] { EXPECT_FALSE(lock.try_acquire()); });
      EXPECT_TRUE(failed == errc::unreachable || failed == errc::timed_out) << int(failed);
      EXPECT_LE(now() - asked, 500ms + stall);
    }
    EXPECT_EQ(holder->answer(), "lost");
    EXPECT_LE(ask_notice(*holder, "name").when - down, bounds().brief);
    how.end(*holder);
    note(fault::server_up);
    EXPECT_EQ(holder->say("release name"), "lost");
    // Goes on by itself.
    EXPECT_TRUE(eventually(
        [&] { return code_of([&] { last = lock.try_acquire_for(20s)->fence(); }) == errc{}; }));
    EXPECT_GT(last, first);
  }
  judge(bounds().calm.outage);
}

// A holder in another process, and here: somebody who waits for its lock as a thread, somebody who
// waits without one, and somebody at a latch.
TEST_P(outage_faults, F11_who_waits_outlasts_an_outage_that_is_shorter_than_a_lease) {
  const auto holder = start("holder", bounds().patient);
  struct retry_counter final : observer {
    void retrying(std::string_view, const error& why, int) noexcept override {
      if (why.retryable()) ++told;
    }
    std::atomic<int> told{0};
  };
  const auto counter = std::make_shared<retry_counter>();
  ears people;
  options how = impatient(500ms);
  how.look_every = 300ms;
  how.observer = counter;
  how.log = people.log();
  const client locks = connect(bounds().patient, how);
  const client viewer = connect(bounds().patient, {});
  mutex lock{locks, "name"};
  for (const harm& away : stage().outages()) {
    SCOPED_TRACE(away.name);
    EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
    count_down_latch gate{viewer, "gate/" + away.name, 1};
    errc blocked{};
    errc opened{};
    case_threads waiting;
    waiting.start([&](const std::stop_token& stop) {
      blocked = code_of([&] { EXPECT_TRUE(lock.acquire(stop)); });
    });
    EXPECT_TRUE(line_reaches(viewer, "name", 1));
    auto later = lock.async_acquire().future();
    waiting.start([&](const std::stop_token& stop) {
      const count_down_latch same{locks, "gate/" + away.name, 1};
      opened = code_of([&] { EXPECT_TRUE(same.wait(stop)); });
    });
    const int told_before = counter->told;
    away.begin(*holder);
    sleep_for_real(2500ms);
    EXPECT_GT(counter->told, told_before);
    away.end(*holder);
    EXPECT_TRUE(eventually([&] { return code_of([&] { gate.count_down(); }) == errc{}; }));
    EXPECT_EQ(holder->say("work name 10"), "held");
    EXPECT_TRUE(eventually([&] { return holder->say("release name") != "unknown"; }));
    waiting.join();
    EXPECT_EQ(blocked, errc{}) << int(blocked);
    EXPECT_EQ(opened, errc{}) << int(opened);
    EXPECT_EQ(code_of([&] { (void)later.get(); }), errc{});
  }
  const std::lock_guard guard{people.mutex};
  EXPECT_NE(people.heard.find("the wait goes on"), std::string::npos) << people.heard;
  EXPECT_NE(people.heard.find("answers again"), std::string::npos) << people.heard;
}

TEST_P(outage_faults, F11_an_outage_that_lasts_the_whole_wait_is_no_contention) {
  const auto victim = start("victim", bounds().patient);
  EXPECT_TRUE(victim->say("acquire other 20000").starts_with("held"));
  EXPECT_EQ(victim->say("release other"), "released");
  // What was asked for amid an outage may be carried out after it: that ends with its lease.
  const client locks = connect(4 * bounds().brief, impatient(400ms));
  mutex lock{locks, "name"};
  count_down_latch gate{locks, "gate", 1};
  for (const harm& away : stage().outages()) {
    SCOPED_TRACE(away.name);
    EXPECT_TRUE(eventually([&] { return code_of([&] { (void)lock.try_acquire(); }) == errc{}; }));
    away.begin(*victim);
    const auto is_outage = [](errc code) {
      return code == errc::unreachable || code == errc::timed_out;
    };
    const time_point began = now();
    errc code = code_of([&] { EXPECT_FALSE(lock.try_acquire_for(1s)); });
    EXPECT_TRUE(is_outage(code)) << int(code);
    code = code_of([&] { EXPECT_FALSE(lock.async_acquire({}, 1s).future().get()); });
    EXPECT_TRUE(is_outage(code)) << int(code);
    code = code_of([&] { EXPECT_FALSE(gate.wait_for(1s)); });
    EXPECT_TRUE(is_outage(code)) << int(code);
    EXPECT_LE(now() - began, 3s + 3 * stall);
    // Those who queue behind a thread of their own process learn as much.
    std::vector<errc> codes(3);
    case_threads threads;
    for (errc& each : codes) {
      threads.start(
          [&](const std::stop_token&) { each = code_of([&] { (void)lock.try_acquire_for(1s); }); });
    }
    threads.join();
    for (const errc each : codes) EXPECT_TRUE(is_outage(each)) << int(each);
    away.end(*victim);
  }
  EXPECT_TRUE(eventually([&] { return code_of([&] { (void)lock.try_acquire(); }) == errc{}; }));
}

TEST_P(rollback_faults, F8_after_a_crash_that_lost_the_last_second_fences_rise) {
  take_and_release("name");
  stage().remember();
  const auto holder = start("holder", bounds().lasting);
  const fence first = fence_in(holder->say("acquire name 20000"));
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  const bool lives = stage().clients_outlive_rollback();
  if (!lives) holder->kill();
  note(fault::server_down);
  note(fault::rollback);
  stage().roll_back();
  note(fault::server_up);
  const auto next = start("next", bounds().lasting);
  const fence second = fence_in(next->say("acquire name 20000"));
  EXPECT_GT(second, first);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  if (lives) {
    EXPECT_EQ(holder->say("write name 3"), "refused");
  }
  EXPECT_EQ(next->say("release name"), "released");
  if (!lives) {
    judge();
    return;
  }
  // Only the fence tells the two apart.
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(judge_with_stale_write().expected_overlaps, 1U);
}

}  // namespace
}  // namespace crosslock::faults
