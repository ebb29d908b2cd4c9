// Engines over the network with faults, in slow motion.
#include "memory_engine_rig.hpp"

namespace crosslock::memory {
namespace {

using enum seam::ask_result;
using way = faulty_network::way;
using fate = faulty_network::fate;
using sighting = faulty_network::sighting;
using memory_after = faulty_network::memory_after;

constexpr duration trip = 1ms;

class memory_network : public testing::Test {
 protected:
  memory_network() { wire->set_weather({.delay_min = trip, .delay_max = trip}); }

  static seam::claim claim(std::uint32_t who, bool wait = true) {
    return {.name = name_of("stock"),
            .owner = owner(who),
            .mode = claim_mode::exclusive,
            .permits = 1,
            .of = 1,
            .lease = 10s,
            .wait = wait};
  }
  time_point soon() const { return time.now() + 100ms; }
  template <class Fn>
  error error_of(Fn&& fn) {
    try {
      fn();
    } catch (const error& why) {
      EXPECT_EQ(why.engine(), "memory");
      return why;
    }
    ADD_FAILURE() << "it did not throw";
    return error{errc::protocol, ""};
  }
  lock_info look() const {
    auto copy = wire->server_copy();
    const auto result = copy.apply(0, look_request{name_of("stock")}, wire->server_now());
    return std::get<look_reply>(result.answer).info;
  }
  /// Loses replies to this verb until told otherwise.
  void lose_replies(verb what) {
    wire->set_script([what](const sighting& one) -> std::optional<fate> {
      if (one.going == way::to_client && one.what == what) return fate{};
      return std::nullopt;
    });
  }
  void lose_nothing() { wire->set_script(nullptr); }

  slow_motion time;
  std::shared_ptr<faulty_network> wire = std::make_shared<faulty_network>(time);
  recorded_events heard_by_a;
  recorded_events heard_by_b;
  engine a{wire, heard_by_a, time, "host a"};
  engine b{wire, heard_by_b, time, "host b"};
};

TEST_F(memory_network, a_request_takes_its_time_and_counts_from_its_start) {
  const auto start = time.now();
  const auto answer = a.ask(claim(1), soon());
  EXPECT_EQ(answer.result, granted);
  EXPECT_EQ(time.now() - start, 2 * trip);
  EXPECT_EQ(answer.granted.sent, start);
}

TEST_F(memory_network, a_pushed_grant_counts_from_the_last_ask_answered_in_line) {
  const auto first = a.ask(claim(1), soon()).granted;
  b.ask(claim(2), soon());
  time.run_for(300ms);
  const auto asked = time.now();
  b.ask(claim(2), soon());
  time.run_for(300ms);
  a.release(first, soon());
  time.run_for(10ms);
  ASSERT_EQ(heard_by_b.grants.size(), 1U);
  EXPECT_EQ(heard_by_b.grants[0].sent, asked);
  EXPECT_EQ(heard_by_b.grants[0].lease, 1s);
}

TEST_F(memory_network, a_lost_reply_times_out_with_unknown_outcome_and_the_retry_finds_it) {
  lose_replies(verb::ask);
  const auto end = soon();
  const auto why = error_of([&] { a.ask(claim(1), end); });
  EXPECT_EQ(why.which(), errc::timed_out);
  EXPECT_TRUE(why.outcome_unknown());
  EXPECT_EQ(time.now(), end);
  ASSERT_EQ(look().holders.size(), 1U);
  lose_nothing();
  const auto again = a.ask(claim(1), soon());
  EXPECT_EQ(again.result, granted);
  EXPECT_EQ(again.granted.first, look().holders[0].fence);
}

TEST_F(memory_network, a_late_reply_is_ignored) {
  wire->set_script([](const sighting& one) -> std::optional<fate> {
    if (one.going == way::to_client) return fate{duration{1s}};
    return std::nullopt;
  });
  EXPECT_EQ(error_of([&] { a.ask(claim(1), soon()); }).which(), errc::timed_out);
  time.run_for(5s);
  EXPECT_EQ(heard_by_a.heard(), "");
}

TEST_F(memory_network, an_asynchronous_ask_fails_through_turn_exactly_once) {
  lose_replies(verb::ask);
  a.ask_async(claim(1), soon());
  EXPECT_EQ(heard_by_a.heard(), "");
  time.run_for(1s);
  EXPECT_EQ(heard_by_a.heard(), "failed 1 ");
  EXPECT_TRUE(heard_by_a.failures.at(0).outcome_unknown());
  lose_nothing();
  a.ask_async(claim(1), soon());
  time.run_for(1s);
  EXPECT_EQ(heard_by_a.heard(), "failed 1 answered 1 ");
}

TEST_F(memory_network, a_copied_push_is_not_taken_for_a_second_grant) {
  const auto first = a.ask(claim(1), soon()).granted;
  b.ask(claim(2), soon());
  wire->set_script([](const sighting& one) -> std::optional<fate> {
    if (one.news == push::kind::granted) return fate{trip, 5 * trip, 20 * trip};
    return std::nullopt;
  });
  a.release(first, soon());
  time.run_for(500ms);
  EXPECT_EQ(heard_by_b.heard(), "granted 2 ");
  EXPECT_EQ(look().holders.at(0).owner, owner(2)) << "the copies were not answered by withdraw";
}

TEST_F(memory_network, an_old_push_does_not_count_for_a_new_stay_in_the_line) {
  const auto first = a.ask(claim(1), soon()).granted;
  b.ask(claim(2), soon());
  wire->set_script([](const sighting& one) -> std::optional<fate> {
    if (one.news == push::kind::granted) return fate{duration{1500ms}};
    return std::nullopt;
  });
  a.release(first, soon());
  time.run_for(1200ms);  // the offer has ended
  EXPECT_EQ(a.ask(claim(3), soon()).result, granted);
  EXPECT_EQ(b.ask(claim(2), soon()).result, in_line);
  time.run_for(500ms);
  EXPECT_EQ(heard_by_b.heard(), "") << "two holders";
  EXPECT_EQ(look().line.size(), 1U);
}

TEST_F(memory_network, a_push_that_overtakes_its_answer_is_kept_for_it) {
  const auto first = a.ask(claim(1), soon()).granted;
  wire->set_script([&](const sighting& one) -> std::optional<fate> {
    if (one.client == b.id() && one.going == way::to_client && one.what) return fate{50 * trip};
    return std::nullopt;
  });
  b.ask_async(claim(2), soon());
  time.run_for(2 * trip);
  a.release(first, soon());
  time.run_for(10 * trip);
  EXPECT_EQ(heard_by_b.heard(), "");
  time.run_for(500ms);
  EXPECT_EQ(heard_by_b.heard(), "answered 2 granted 2 ");
  EXPECT_EQ(look().holders.at(0).owner, owner(2));
  EXPECT_EQ(b.waiting(), 0U);
}

TEST_F(memory_network, a_push_nobody_waits_for_is_given_back) {
  const auto first = a.ask(claim(1), soon()).granted;
  b.ask(claim(2), soon());
  lose_replies(verb::withdraw);
  wire->set_script([&](const sighting& one) -> std::optional<fate> {
    if (one.what == verb::withdraw && one.going == way::to_server && one.client == b.id() &&
        look().holders.at(0).owner == owner(1)) {
      return fate{};  // the withdrawal itself is lost
    }
    return std::nullopt;
  });
  error_of([&] { b.withdraw(claim(2), soon()); });
  a.release(first, soon());
  time.run_for(10 * trip);
  EXPECT_EQ(heard_by_b.heard(), "");
  EXPECT_TRUE(look().holders.empty());
}

TEST_F(memory_network, dropped_pushes_are_found_by_the_next_look) {
  const auto first = a.ask(claim(1), soon()).granted;
  b.ask(claim(2), soon());
  wire->drop_pushes(true);
  a.release(first, soon());
  time.run_for(300ms);
  EXPECT_EQ(heard_by_b.heard(), "");
  EXPECT_EQ(b.ask(claim(2), soon()).result, granted);
}

TEST_F(memory_network, a_cut_is_silent_and_may_be_one_way) {
  a.ask(claim(1), soon());
  wire->cut(a.id(), way::to_client);
  EXPECT_EQ(error_of([&] { a.withdraw(claim(1), soon()); }).which(), errc::timed_out);
  EXPECT_TRUE(look().holders.empty()) << "it had arrived";
  wire->heal(a.id());
  a.ask(claim(1), soon());
  wire->cut(a.id(), way::to_server);
  EXPECT_TRUE(error_of([&] { a.withdraw(claim(1), soon()); }).outcome_unknown());
  EXPECT_EQ(look().holders.size(), 1U);
  wire->heal(a.id());
  a.withdraw(claim(1), soon());
  EXPECT_TRUE(look().holders.empty());
}

TEST_F(memory_network, a_known_cut_fails_at_once_and_its_waiters_are_passed_over) {
  const auto first = a.ask(claim(1), soon()).granted;
  b.ask(claim(2), soon());
  wire->refuse(b.id());
  const auto start = time.now();
  const auto why = error_of([&] { b.ask(claim(2), soon()); });
  EXPECT_EQ(why.which(), errc::unreachable);
  EXPECT_FALSE(why.outcome_unknown());
  EXPECT_EQ(time.now(), start);
  a.release(first, soon());
  EXPECT_TRUE(look().holders.empty());
  EXPECT_EQ(look().line.size(), 1U);
  wire->heal(b.id());
  time.run_for(10 * trip);
  EXPECT_EQ(heard_by_b.heard(), "look_again 2 ");
  EXPECT_EQ(b.ask(claim(2), soon()).result, granted);
}

TEST_F(memory_network, a_connection_lost_in_flight_leaves_the_outcome_unknown) {
  time.at(time.now() + trip / 2, [&] { wire->refuse(a.id()); });
  const auto why = error_of([&] { a.ask(claim(1), soon()); });
  EXPECT_EQ(why.which(), errc::unreachable);
  EXPECT_TRUE(why.outcome_unknown());
  time.run_for(10 * trip);
  EXPECT_EQ(look().holders.size(), 1U) << "it arrived all the same";
}

TEST_F(memory_network, a_paused_server_lets_requests_wait) {
  wire->pause_server();
  time.at(time.now() + 50ms, [&] { wire->resume_server(); });
  const auto start = time.now();
  EXPECT_EQ(a.ask(claim(1), soon()).result, granted);
  EXPECT_EQ(time.now() - start, 50ms + trip);
}

TEST_F(memory_network, a_paused_client_hears_later_in_order) {
  const auto first = a.ask(claim(1), soon()).granted;
  b.ask(claim(2), soon());
  b.ask_async(claim(3), soon());
  wire->pause_client(b.id());
  a.release(first, soon());
  time.run_for(500ms);
  EXPECT_EQ(heard_by_b.heard(), "");
  wire->resume_client(b.id());
  EXPECT_EQ(heard_by_b.heard(), "answered 3 granted 2 ");
}

TEST_F(memory_network, a_dead_client_hears_nothing_and_its_requests_fail) {
  const auto first = a.ask(claim(1), soon()).granted;
  b.ask(claim(2), soon());
  wire->kill_client(b.id());
  EXPECT_EQ(error_of([&] { b.ask(claim(2), soon()); }).which(), errc::unreachable);
  a.release(first, soon());
  time.run_for(1s);
  EXPECT_EQ(heard_by_b.heard(), "");
  EXPECT_TRUE(look().holders.empty());
}

TEST_F(memory_network, a_crashed_server_comes_back_with_what_it_is_given) {
  for (const memory_after state :
       {memory_after::kept, memory_after::snapshot, memory_after::empty}) {
    const auto first = a.ask(claim(1), soon()).granted;
    wire->take_snapshot();
    a.release(first, soon());
    const auto second = a.ask(claim(2), soon()).granted;
    wire->crash_server();
    EXPECT_EQ(error_of([&] { a.ask(claim(2), soon()); }).which(), errc::unreachable);
    wire->restart_server(state);
    const auto holders = look().holders;
    if (state == memory_after::kept) {
      EXPECT_EQ(holders.at(0).owner, owner(2));
    } else if (state == memory_after::snapshot) {
      EXPECT_EQ(holders.at(0).owner, owner(1));
    } else {
      EXPECT_TRUE(holders.empty());
    }
    a.withdraw(claim(1), soon());
    a.withdraw(claim(2), soon());
    EXPECT_GT(a.ask(claim(3), soon()).granted.first, second.first) << "whatever was lost";
    a.withdraw(claim(3), soon());
  }
}

TEST_F(memory_network, a_crash_ends_what_is_in_flight) {
  time.at(time.now() + trip / 2, [&] { wire->crash_server(); });
  const auto why = error_of([&] { a.ask(claim(1), soon()); });
  EXPECT_TRUE(why.outcome_unknown());
  wire->restart_server(memory_after::kept);
  time.run_for(10 * trip);
  EXPECT_TRUE(look().holders.empty()) << "what was on its way to the old process is lost";
}

TEST_F(memory_network, a_clock_step_ends_leases_early) {
  a.ask(claim(1), soon());
  wire->step_server_clock(1h);
  EXPECT_EQ(b.ask(claim(2), soon()).result, granted);
  wire->step_server_clock(-2h);
  EXPECT_EQ(b.ask(claim(3), soon()).result, in_line);
}

TEST_F(memory_network, closing_ends_open_requests_and_events) {
  const auto first = a.ask(claim(1), soon()).granted;
  b.ask(claim(2), soon());
  b.ask_async(claim(3), soon());
  b.close();
  a.release(first, soon());
  time.run_for(1s);
  EXPECT_EQ(heard_by_b.heard(), "");
}

TEST_F(memory_network, what_arrives_after_the_network_is_lost) {
  slow_motion late;
  recorded_events nobody_listens;
  {
    auto gone = std::make_shared<faulty_network>(late);
    gone->set_weather({.delay_min = trip, .delay_max = trip});
    engine one{gone, nobody_listens, late, ""};
    one.ask_async(claim(1), late.now() + 1s);
  }
  late.run_for(10s);
  EXPECT_EQ(nobody_listens.heard(), "");
}

TEST(memory_network_seeds, one_seed_gives_one_history) {
  const auto history = [](std::uint64_t seed) {
    slow_motion time{seed};
    auto wire = std::make_shared<faulty_network>(time);
    wire->set_weather({1ms, 50ms, 100, 100});
    recorded_events events;
    engine one{wire, events, time, ""};
    engine two{wire, events, time, ""};
    for (std::uint32_t i = 0; i < 100; ++i) {
      const seam::claim claim{
          .name = name_of("stock"), .owner = owner(i), .lease = 10s, .wait = true};
      (i % 2 == 0 ? one : two).ask_async(claim, time.now() + 200ms);
      time.run_for(20ms);
    }
    time.run_for(1s);
    return events.heard();
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

}  // namespace
}  // namespace crosslock::memory
