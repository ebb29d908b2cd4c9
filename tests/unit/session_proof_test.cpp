// A heartbeat moves the deadline only when a later one proves that the leader has heard of it.
#include "session/proof.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>

namespace crosslock::session {
namespace {

using namespace std::chrono_literals;

constexpr duration tick = 200ms;
constexpr time_point at(duration since) { return time_point{since}; }

/// Heartbeats that are writes: each may prove those before it.
class session_proof {
 public:
  explicit session_proof(duration apart) : proof_{apart} {}
  void connected(std::optional<time_point> began) { proof_.connected(began); }
  void sent(std::uint64_t number, time_point when) {
    sent_[number] = when;
    proof_.sent(number, when);
  }
  void answered(std::uint64_t number, time_point when) {
    if (proof_.answered(number, when)) proof_.confirmed(sent_.at(number));
  }
  void session_ended() { proof_.session_ended(); }
  std::optional<time_point> proven() const { return proof_.proven(); }

 private:
  proof proof_;
  std::map<std::uint64_t, time_point> sent_;
};

TEST(session_proof, a_new_session_counts_from_its_connect_request) {
  session_proof proof{tick};
  EXPECT_EQ(proof.proven(), std::nullopt);
  proof.connected(at(1s));
  EXPECT_EQ(proof.proven(), at(1s));
}

TEST(session_proof, an_answer_alone_proves_nothing) {
  session_proof proof{tick};
  proof.connected(at(1s));
  proof.sent(1, at(1100ms));
  proof.answered(1, at(1110ms));
  EXPECT_EQ(proof.proven(), at(1s));
}

TEST(session_proof, the_answer_to_one_sent_a_tick_after_the_answer_proves_it) {
  session_proof proof{tick};
  proof.connected(at(1s));
  proof.sent(1, at(1100ms));
  proof.answered(1, at(1110ms));
  proof.sent(2, at(1200ms));
  proof.answered(2, at(1210ms));
  proof.sent(3, at(1300ms));
  proof.answered(3, at(1305ms));
  EXPECT_EQ(proof.proven(), at(1s)) << "3 was sent less than a tick after the answer to 1";
  proof.sent(4, at(1310ms));
  EXPECT_EQ(proof.proven(), at(1s)) << "to be sent is not to be answered";
  proof.answered(4, at(1320ms));
  EXPECT_EQ(proof.proven(), at(1100ms)) << "exactly a tick is enough";
  proof.sent(5, at(1700ms));
  proof.answered(5, at(1710ms));
  EXPECT_EQ(proof.proven(), at(1310ms)) << "the newest that was answered a tick before";
}

TEST(session_proof, those_that_a_stall_has_brought_together_prove_nothing) {
  session_proof proof{tick};
  proof.connected(at(1s));
  proof.sent(1, at(1100ms));
  proof.sent(2, at(1400ms));
  proof.answered(1, at(1500ms));
  proof.answered(2, at(1501ms));
  EXPECT_EQ(proof.proven(), at(1s));
}

TEST(session_proof, what_was_never_answered_never_counts) {
  session_proof proof{tick};
  proof.connected(at(1s));
  proof.sent(1, at(1100ms));
  proof.answered(1, at(1110ms));
  proof.sent(2, at(1200ms));
  proof.sent(3, at(2s));
  proof.answered(3, at(2010ms));
  EXPECT_EQ(proof.proven(), at(1100ms)) << "2 may have failed";
}

TEST(session_proof, on_another_connection_it_begins_anew) {
  session_proof proof{tick};
  proof.connected(at(1s));
  proof.sent(1, at(1100ms));
  proof.answered(1, at(1110ms));
  proof.sent(2, at(1320ms));
  proof.connected(std::nullopt);
  EXPECT_EQ(proof.proven(), at(1s)) << "the session goes on";
  proof.answered(2, at(1400ms));
  EXPECT_EQ(proof.proven(), at(1s)) << "an answer of the old connection";
  proof.sent(3, at(1500ms));
  proof.answered(3, at(1500ms));
  EXPECT_EQ(proof.proven(), at(1s)) << "1 went to another server";
  proof.sent(4, at(1700ms));
  proof.answered(4, at(1701ms));
  EXPECT_EQ(proof.proven(), at(1500ms));
}

TEST(session_proof, ends_with_the_session) {
  session_proof proof{tick};
  proof.connected(at(1s));
  proof.sent(1, at(1100ms));
  proof.session_ended();
  EXPECT_EQ(proof.proven(), std::nullopt);
  proof.connected(at(500ms));
  EXPECT_EQ(proof.proven(), at(500ms));
  proof.sent(2, at(1400ms));
  proof.answered(1, at(1410ms));
  proof.answered(2, at(1420ms));
  EXPECT_EQ(proof.proven(), at(500ms)) << "1 was of the session before";
}

TEST(session_proof, never_goes_back_and_never_ahead_of_a_tick) {
  std::mt19937 rng{20261116};
  for (int round = 0; round < 500; ++round) {
    session_proof proof{tick};
    time_point now = at(1s);
    proof.connected(now);
    time_point before = now;
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    time_point newest_answered{};
    std::vector<time_point> when{now};
    for (int step = 0; step < 200; ++step) {
      now += std::chrono::milliseconds{rng() % 150};
      if (rng() % 20 == 0) {
        proof.connected(std::nullopt);
        answered = sent;  // whatever was on its way is gone
      } else if (answered < sent && rng() % 2 == 0) {
        proof.answered(++answered, now);
        newest_answered = when[answered];
      } else {
        proof.sent(++sent, now);
        when.push_back(now);
      }
      ASSERT_GE(*proof.proven(), before);
      if (*proof.proven() > before) {
        ASSERT_LE(*proof.proven() + tick, newest_answered);
      }
      before = *proof.proven();
    }
    ASSERT_GT(before, at(1s));
  }
}

TEST(session_proof, keepalives_count_when_a_write_behind_their_answer_has_succeeded) {
  proof tested{0s};
  tested.connected(at(1s));
  tested.sent(1, at(2s));
  EXPECT_TRUE(tested.answered(1, at(2010ms)));
  tested.sent(2, at(3s));
  EXPECT_TRUE(tested.answered(2, at(3010ms)));
  EXPECT_EQ(tested.proven(), at(1s)) << "answers alone, however many, prove nothing";
  tested.confirmed(at(2500ms));
  EXPECT_EQ(tested.proven(), at(2s)) << "2 was answered after the write was sent";
  tested.confirmed(at(3010ms));
  EXPECT_EQ(tested.proven(), at(3s));
  EXPECT_FALSE(tested.answered(7, at(4s)));
}

TEST(session_proof, heartbeats_are_at_most_a_sixth_of_the_session_apart) {
  EXPECT_EQ(heartbeat_interval(10s, 2s), 1100ms);
  EXPECT_EQ(heartbeat_interval(8s, 2s), 1100ms);
  EXPECT_EQ(heartbeat_interval(12s, 2s), 1100ms);
  EXPECT_EQ(heartbeat_interval(20s, 2s), 2500ms);
  for (const duration session : {8s, 10s, 12s, 30s}) {
    EXPECT_LE(heartbeat_interval(session, 2s), session / 6);
  }
}

}  // namespace
}  // namespace crosslock::session
