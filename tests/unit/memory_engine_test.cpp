// The memory engine over the direct network, on the real clock.
#include "memory_engine_rig.hpp"

#include "engine/registry.hpp"

#include <atomic>
#include <barrier>
#include <thread>

extern "C" const crosslock::seam::engine_export crosslock_engine_memory;

namespace crosslock::memory {
namespace {

using enum seam::ask_result;

class memory_engine : public testing::Test {
 protected:
  static seam::claim claim(std::uint32_t who, bool wait = true) {
    return {.name = name_of("stock"),
            .owner = owner(who),
            .mode = claim_mode::exclusive,
            .permits = 1,
            .of = 1,
            .lease = 10s,
            .wait = wait};
  }
  time_point soon() const { return clock.now() + 5s; }
  template <class Fn>
  static errc code_of(Fn&& fn) {
    try {
      fn();
    } catch (const error& why) {
      EXPECT_EQ(why.engine(), "memory");
      return why.which();
    }
    return {};
  }

  seam::clock& clock = seam::real_clock();
  std::shared_ptr<direct_network> wire = std::make_shared<direct_network>(clock);
  recorded_events heard_by_a;
  recorded_events heard_by_b;
  engine a{wire, heard_by_a, clock, "host a"};
  engine b{wire, heard_by_b, clock, "host b"};
};

TEST_F(memory_engine, a_grant_counts_from_before_the_send) {
  const auto before = clock.now();
  const auto answer = a.ask(claim(1), soon());
  ASSERT_EQ(answer.result, granted);
  EXPECT_GE(answer.granted.sent, before);
  EXPECT_LE(answer.granted.sent, clock.now());
  EXPECT_EQ(answer.granted.lease, 10s);
  EXPECT_FALSE(answer.granted.offer);
  EXPECT_EQ(answer.granted.last.value() - answer.granted.first.value(), 4095);
  EXPECT_EQ(a.ask(claim(1), soon()).granted.first, answer.granted.first);
}

TEST_F(memory_engine, a_handover_is_one_release_and_one_push) {
  const auto first = a.ask(claim(1), soon());
  const auto before = clock.now();
  const auto second = b.ask(claim(2), soon());
  const auto answered = clock.now();
  EXPECT_EQ(second.result, in_line);
  EXPECT_GT(second.look_after, 0s);
  EXPECT_EQ(heard_by_a.heard(), "wanted 1 ");
  EXPECT_EQ(b.waiting(), 1U);
  EXPECT_EQ(a.release(first.granted, soon()), seam::release_answer::released);
  ASSERT_EQ(heard_by_b.grants.size(), 1U);
  const auto& won = heard_by_b.grants[0];
  EXPECT_TRUE(won.offer);
  EXPECT_EQ(won.lease, 1s);
  EXPECT_GE(won.sent, before) << "counted from the ask that was answered in line";
  EXPECT_LE(won.sent, answered);
  EXPECT_GT(won.first, first.granted.last);
  EXPECT_EQ(b.waiting(), 0U);

  seam::renewal renewal{.held = won, .lease = 10s, .want_fences = true};
  b.renew({&renewal, 1}, soon());
  EXPECT_EQ(renewal.outcome, seam::renewal::result::renewed);
  EXPECT_EQ(renewal.granted_lease, 10s);
  EXPECT_GT(renewal.more_first, won.last);
  EXPECT_EQ(b.release(won, soon()), seam::release_answer::released);
  EXPECT_EQ(b.release(won, soon()), seam::release_answer::not_owner);
  EXPECT_EQ(a.look(lock_name{"stock"}, soon()).holders.size(), 0U);
  EXPECT_EQ(wire->applied(verb::ask), 2U);
}

TEST_F(memory_engine, ask_async_answers_through_engine_events) {
  a.ask_async(claim(1), soon());
  EXPECT_EQ(heard_by_a.heard(), "answered 1 ");
  ASSERT_EQ(heard_by_a.answers.size(), 1U);
  EXPECT_EQ(heard_by_a.answers[0].result, granted);
  b.ask_async(claim(2), soon());
  EXPECT_EQ(heard_by_b.answers.at(0).result, in_line);
  a.release(heard_by_a.answers[0].granted, soon());
  EXPECT_EQ(heard_by_b.heard(), "answered 2 granted 2 ");
}

TEST_F(memory_engine, a_withdrawn_claim_leaves_nothing_behind) {
  const auto first = a.ask(claim(1), soon());
  b.ask(claim(2), soon());
  b.withdraw(claim(2), soon());
  EXPECT_EQ(b.waiting(), 0U);
  a.release(first.granted, soon());
  EXPECT_EQ(heard_by_b.heard(), "");
  EXPECT_TRUE(a.list("", soon()).empty());
}

TEST_F(memory_engine, batches_travel_as_one_message) {
  std::vector<seam::renewal> batch;
  for (std::uint32_t i = 0; i < 100; ++i) {
    auto request = claim(i + 10);
    request.name = name_of("n" + std::to_string(i));
    batch.push_back({.held = a.ask(request, soon()).granted, .lease = 10s});
  }
  a.release(batch[7].held, soon());
  a.renew(batch, soon());
  EXPECT_EQ(wire->applied(verb::renew), 1U);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(batch[i].outcome,
              i == 7 ? seam::renewal::result::lost : seam::renewal::result::renewed);
  }
}

TEST_F(memory_engine, a_detached_grant_is_adopted_under_a_new_owner) {
  const auto held = a.ask(claim(1), soon()).granted;
  const auto taken = b.adopt(held, claim(2), soon());
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->owner, owner(2));
  EXPECT_EQ(taken->first, held.first);
  EXPECT_FALSE(b.adopt(held, claim(3), soon()).has_value());
  EXPECT_EQ(a.release(held, soon()), seam::release_answer::not_owner);
  EXPECT_EQ(b.release(*taken, soon()), seam::release_answer::released);
}

TEST_F(memory_engine, a_broken_lock_is_told_to_its_holder) {
  a.ask(claim(1), soon());
  EXPECT_FALSE(b.break_lock(lock_name{"stock"}, owner(7), soon()));
  EXPECT_TRUE(b.break_lock(lock_name{"stock"}, owner(1), soon()));
  ASSERT_EQ(heard_by_a.failures.size(), 1U);
  EXPECT_EQ(heard_by_a.failures[0].which(), errc::lost);
}

TEST_F(memory_engine, a_lease_out_of_range_is_refused_before_any_message) {
  for (const duration lease : {duration{-1s}, duration{0s}, duration{9ms}, duration{25h}}) {
    auto request = claim(1);
    request.lease = lease;
    EXPECT_EQ(code_of([&] { a.ask(request, soon()); }), errc::invalid_lease);
    EXPECT_EQ(code_of([&] { a.ask_async(request, soon()); }), errc::invalid_lease);
  }
  EXPECT_EQ(wire->applied(verb::ask), 0U);
  EXPECT_EQ(a.about().lease_min, 10ms);
  EXPECT_EQ(a.about().lease_max, 24h);
}

TEST_F(memory_engine, a_closed_engine_hears_nothing_and_does_nothing) {
  const auto first = a.ask(claim(1), soon());
  b.ask(claim(2), soon());
  b.close();
  a.release(first.granted, soon());
  EXPECT_EQ(heard_by_b.heard(), "");
  EXPECT_EQ(code_of([&] { b.ask(claim(3), soon()); }), errc::closed);
  EXPECT_EQ(code_of([&] { b.ask_async(claim(3), soon()); }), errc::closed);
  EXPECT_EQ(code_of([&] { b.look(lock_name{"stock"}, soon()); }), errc::closed);
}

TEST_F(memory_engine, close_from_within_an_event_returns) {
  const auto first = a.ask(claim(1), soon());
  b.ask(claim(2), soon());
  heard_by_b.on_granted = [&](const seam::grant&) { b.close(); };
  a.release(first.granted, soon());
  EXPECT_EQ(heard_by_b.heard(), "granted 2 ");
}

TEST_F(memory_engine, close_waits_for_an_event_on_another_thread) {
  const auto first = a.ask(claim(1), soon());
  b.ask(claim(2), soon());
  std::barrier inside{2};
  std::atomic<bool> done{false};
  heard_by_b.on_granted = [&](const seam::grant&) {
    inside.arrive_and_wait();
    std::this_thread::yield();
    done = true;
  };
  std::thread releaser{[&] { a.release(first.granted, soon()); }};
  inside.arrive_and_wait();
  b.close();
  EXPECT_TRUE(done);
  releaser.join();
}

TEST_F(memory_engine, ghosts_in_line_are_given_back_one_after_the_other) {
  // Asks whose answers nobody heard: the client does not know the claims when their turn comes.
  auto first = a.ask(claim(1), soon());
  for (std::uint32_t ghost = 100; ghost < 2100; ++ghost) {
    wire->call(b.id(), ask_request{claim(ghost), nullptr}, soon(), clock);
  }
  EXPECT_EQ(b.ask(claim(2), soon()).result, in_line);
  a.release(first.granted, soon());
  EXPECT_EQ(heard_by_b.heard(), "granted 2 ");
}

TEST_F(memory_engine, threads_hand_over_without_a_lost_wake_up) {
  // Every waiter of a real thread: pushes overtake answers, and none may be given back for that.
  constexpr int rounds = 300;
  constexpr std::uint32_t workers = 4;
  std::atomic<int> inside{0};
  std::atomic<std::int64_t> last_fence{0};
  std::vector<std::thread> threads;
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      struct waker final : seam::engine_events {
        void answered(const seam::claim&, const seam::answer&) noexcept override {}
        void granted(const seam::grant& grant) noexcept override {
          {
            const std::lock_guard guard{mutex};
            won = grant;
          }
          rings.fetch_add(1);
          rings.notify_all();
        }
        void look_again(seam::claim_key) noexcept override {}
        void wanted(seam::claim_key) noexcept override {}
        void failed(seam::claim_key, const error&) noexcept override {}
        std::mutex mutex;
        std::optional<seam::grant> won;
        std::atomic<int> rings{0};
      } events;
      engine mine{wire, events, clock, "worker"};
      for (int round = 0; round < rounds; ++round) {
        auto request = claim(1000 * (worker + 1) + static_cast<std::uint32_t>(round));
        request.lease = 24h;
        const int seen = events.rings.load();
        const auto answer = mine.ask(request, soon());
        seam::grant grant = answer.granted;
        if (answer.result == in_line) {
          events.rings.wait(seen);
          const std::lock_guard guard{events.mutex};
          grant = *std::exchange(events.won, std::nullopt);
        }
        EXPECT_EQ(inside.fetch_add(1), 0);
        EXPECT_LT(last_fence.exchange(grant.first.value()), grant.first.value());
        inside.fetch_sub(1);
        EXPECT_EQ(mine.release(grant, soon()), seam::release_answer::released);
      }
      EXPECT_EQ(mine.waiting(), 0U);
      mine.close();
    });
  }
  for (auto& one : threads) one.join();
}

class memory_factory : public testing::Test {
 protected:
  std::unique_ptr<seam::engine> open(const std::string& text) {
    seam::url url = seam::parse_url(text);
    return crosslock_engine_memory.open({.url = url,
                                         .who = "me",
                                         .timeout = 5s,
                                         .events = events,
                                         .clock = seam::real_clock(),
                                         .log = {}});
  }
  static bool try_lock(seam::engine& engine, std::uint32_t who) {
    const seam::claim claim{.name = name_of("n"), .owner = owner(who), .lease = 10s};
    return engine.ask(claim, time_point::max()).result == granted;
  }

  recorded_events events;
};

TEST_F(memory_factory, urls_of_one_name_meet_and_others_do_not) {
  const auto one = open("memory:factory");
  const auto same = open("memory:factory");
  const auto other = open("memory:elsewhere");
  const auto nameless = open("memory:");
  EXPECT_TRUE(try_lock(*one, 1));
  EXPECT_FALSE(try_lock(*same, 2));
  EXPECT_TRUE(try_lock(*other, 3));
  EXPECT_TRUE(try_lock(*nameless, 4));
  one->close();
  EXPECT_FALSE(try_lock(*same, 5)) << "the server outlives its clients";
}

TEST_F(memory_factory, unknown_parameters_are_refused) {
  try {
    open("memory:x?colour=red");
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::invalid_url);
  }
}

}  // namespace
}  // namespace crosslock::memory
