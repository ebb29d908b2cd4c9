// The machine of a claim, by its table: for each phase, what is done when.
#include "local/claim_state.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace crosslock::inner {
namespace {

using namespace std::chrono_literals;
using kind = claim_step::kind;
using seam::ask_result;
using wait_result = observer::wait_result;

constexpr time_point at(std::int64_t milliseconds) {
  return time_point{std::chrono::milliseconds{milliseconds}};
}

const error refused{errc::unreachable, "refused"};
const error silent{
    errc::timed_out, "silent", {.engine = "", .native_code = 0, .outcome_unknown = true}};
const error denied{errc::denied, "denied"};

seam::answer answer(ask_result result, std::int64_t fence = 0) {
  seam::answer said;
  said.result = result;
  said.granted.first = crosslock::fence{fence};
  return said;
}

seam::grant grant(std::int64_t fence) {
  seam::grant given;
  given.first = crosslock::fence{fence};
  return given;
}

// A claim that has come so far.
claim_state fresh() { return {}; }
claim_state asking() {
  claim_state claim;
  note_ask(claim, at(0));
  return claim;
}
claim_state in_line() {
  claim_state claim = asking();
  note_answer(claim, answer(ask_result::in_line), at(100));
  return claim;
}
claim_state told_busy() {
  claim_state claim = asking();
  note_answer(claim, answer(ask_result::busy), at(100));
  return claim;
}
claim_state pausing(const error& why = refused, int times = 1) {
  claim_state claim;
  for (int i = 0; i < times; ++i) {
    note_ask(claim, at(0));
    note_failure(claim, why, at(0), at(100));
  }
  return claim;
}
claim_state then_silent(claim_state claim) {
  note_ask(claim, at(10));
  note_failure(claim, silent, at(20), at(100));
  return claim;
}
claim_state with_news(claim_state claim) {
  claim.news = true;
  return claim;
}
claim_state with_push(claim_state claim) {
  note_push(claim, grant(7));
  return claim;
}
claim_state spent() {
  claim_state claim = with_push(in_line());
  claim.granted.reset();
  begin_anew(claim);
  return claim;
}

claim_surroundings around(std::int64_t now, std::int64_t end = 10'000) {
  return {.now = at(now), .end = at(end), .timeout = 1s, .endures = {.tries = 3, .time = 5s}};
}
claim_surroundings changed(claim_surroundings one,
                           const std::function<void(claim_surroundings&)>& how) {
  how(one);
  return one;
}
claim_surroundings heard(claim_surroundings one) {
  one.answered = true;
  return one;
}
claim_surroundings stopped(claim_surroundings one) {
  one.stopped = true;
  return one;
}
claim_surroundings not_waiting(claim_surroundings one) {
  one.waits = false;
  one.end = time_point::max();
  return one;
}
claim_surroundings adopting(claim_surroundings one) {
  one.once = true;
  return one;
}

std::string described(const claim_step& step) {
  switch (step.what) {
    case kind::ask:
      return "ask";
    case kind::miss:
      return "miss";
    case kind::wait:
      return "wait until " + std::to_string(step.until.time_since_epoch() / 1ms);
    case kind::take:
      return "take";
    case kind::leave:
      return step.because == wait_result::busy        ? "leave: busy"
             : step.because == wait_result::cancelled ? "leave: cancelled"
                                                      : "leave: timed out";
    case kind::fail:
      return step.code == errc::closed      ? "fail: closed"
             : step.code == errc::lost      ? "fail: lost"
             : step.code == errc::timed_out ? "fail: no answer"
                                            : "fail: last failure";
  }
  return "?";
}

TEST(claim_state, does_what_the_table_says) {
  struct row {
    const char* name;
    claim_state claim;
    claim_surroundings around;
    const char* step;
  };
  const std::vector<row> table{
      {"fresh", fresh(), around(0), "ask"},
      {"fresh, its time is up: asks once", fresh(), around(20'000), "ask"},
      {"fresh, stopped: asks once", fresh(), stopped(around(0)), "ask"},
      {"fresh again, its time is up", spent(), around(20'000), "leave: timed out"},
      {"fresh again", spent(), around(0), "ask"},
      {"fresh again, an adoption", spent(), adopting(around(0)), "leave: busy"},

      {"asking", asking(), around(0), "wait until 1250"},
      {"asking, its time is nearer", asking(), around(0, 500), "wait until 500"},
      {"asking, news", with_news(asking()), around(0), "wait until 1250"},
      {"asking, the answer is overdue", asking(), around(1250), "miss"},
      {"asking, overdue, does not wait", asking(), not_waiting(around(1250)), "miss"},
      {"asking, push", with_push(asking()), around(0), "take"},
      {"asking, stopped", asking(), stopped(around(0)), "leave: cancelled"},
      {"asking, time is up", asking(), around(500, 500), "leave: timed out"},
      {"asking, not a word for a whole request", asking(), around(2000, 1500), "fail: no answer"},

      {"in line", in_line(), around(0), "wait until 100"},
      {"in line, its time is nearer", in_line(), around(0, 50), "wait until 50"},
      {"in line, time to look", in_line(), around(100), "ask"},
      {"in line, news", with_news(in_line()), around(0), "ask"},
      {"in line, push", with_push(in_line()), around(0), "take"},
      {"in line, push and stopped: it is ours", with_push(in_line()), stopped(around(0)), "take"},
      {"in line, news and stopped", with_news(in_line()), stopped(around(0)), "leave: cancelled"},
      {"in line, time is up", in_line(), around(20'000), "leave: timed out"},

      {"busy, waits", told_busy(), around(0), "wait until 100"},
      {"busy, does not wait", told_busy(), not_waiting(around(0)), "leave: busy"},
      {"busy, an adoption", told_busy(), adopting(around(0)), "leave: busy"},

      {"pausing", pausing(), around(0), "wait until 100"},
      {"pausing, news do not shorten it", with_news(pausing()), around(0), "wait until 100"},
      {"pausing, push", with_push(pausing()), around(0), "take"},
      {"pausing, it is over", pausing(), around(100), "ask"},
      {"failed, does not wait", pausing(), not_waiting(around(0)), "fail: last failure"},
      {"failed for good", pausing(denied), around(0), "fail: last failure"},
      {"failed often, not for long", pausing(refused, 40), around(50), "wait until 100"},
      {"failed often, for nearly a lease", pausing(refused, 40), around(4999), "ask"},
      {"failed often, for a lease", pausing(refused, 40), around(5000), "fail: last failure"},
      {"failed for a lease, but not often", pausing(refused, 3), around(6000), "ask"},
      {"failed too often for a lease", pausing(refused, 4), around(6000), "fail: last failure"},
      {"silent for a lease", pausing(silent, 4), around(6000), "fail: last failure"},
      {"an outage lasted the whole wait", pausing(), around(50, 50), "fail: last failure"},
      {"the same, told to others before", pausing(), heard(around(50, 50)), "leave: timed out"},
      {"an outage and then silence", then_silent(pausing()), around(50, 50), "fail: last failure"},
      {"silence shorter than a request", pausing(silent), around(50, 50), "leave: timed out"},
      {"silence as long as a request", pausing(silent), around(2000, 1500), "fail: last failure"},
  };
  for (const row& each : table) {
    EXPECT_EQ(described(next_step(each.claim, each.around)), each.step) << each.name;
  }
}

TEST(claim_state, an_end_of_its_surroundings_ends_it_in_every_phase) {
  const auto closed = changed(around(0), [](auto& one) { one.closed = true; });
  const auto lost = changed(around(0), [](auto& one) { one.upgrade_lost = true; });
  for (const claim_state& claim : {fresh(), asking(), with_push(in_line()), pausing(), spent()}) {
    EXPECT_EQ(described(next_step(claim, closed)), "fail: closed");
    EXPECT_EQ(described(next_step(claim, lost)), "fail: lost");
  }
}

TEST(claim_state, an_outage_after_an_answer_is_only_time_that_ran_out) {
  claim_state claim = in_line();
  note_ask(claim, at(0));
  note_failure(claim, refused, at(0), at(200));
  EXPECT_EQ(described(next_step(claim, around(20'000))), "leave: timed out");
}

TEST(claim_state, what_the_server_may_know_is_withdrawn) {
  EXPECT_FALSE(fresh().on_server);
  EXPECT_TRUE(asking().on_server);
  EXPECT_TRUE(in_line().on_server);
  EXPECT_FALSE(told_busy().on_server);
  EXPECT_FALSE(pausing(refused).on_server);
  EXPECT_TRUE(pausing(silent).on_server);
  EXPECT_FALSE(spent().on_server);
  EXPECT_TRUE(with_push(told_busy()).on_server) << "a push proves that it is known there";
  claim_state claim = in_line();
  note_ask(claim, at(0));
  note_failure(claim, refused, at(0), at(200));
  EXPECT_TRUE(claim.on_server) << "it stands in line since its first ask";
  note_failure(claim, refused, at(0), at(300));
  EXPECT_TRUE(claim.on_server) << "a failure that comes twice changes nothing";
}

TEST(claim_state, an_answer_is_preferred_to_a_push_that_came_before_it) {
  claim_state claim = with_push(asking());
  note_answer(claim, answer(ask_result::granted, 9), at(0));
  EXPECT_EQ(claim.granted->first.value(), 9);
  EXPECT_EQ(claim.granted_by, acquire_cause::asked);
  EXPECT_EQ(described(next_step(claim, around(0))), "take");
}

TEST(claim_state, a_push_that_came_amid_an_ask_is_taken_behind_its_answer) {
  claim_state claim = with_push(asking());
  note_answer(claim, answer(ask_result::in_line), at(100));
  EXPECT_EQ(described(next_step(claim, around(0))), "take");
  EXPECT_EQ(claim.granted_by, acquire_cause::pushed);
}

TEST(claim_state, news_amid_an_ask_are_looked_at_behind_its_answer) {
  claim_state claim = with_news(asking());
  note_answer(claim, answer(ask_result::in_line), at(100));
  EXPECT_EQ(described(next_step(claim, around(0))), "ask");
  note_ask(claim, at(0));
  EXPECT_EQ(claim.cause, acquire_cause::looked);
  note_answer(claim, answer(ask_result::in_line), at(100));
  EXPECT_EQ(described(next_step(claim, around(0))), "wait until 100");
}

TEST(claim_state, a_revoked_grant_is_forgotten_and_asked_for_again) {
  claim_state claim = with_push(in_line());
  note_revoked(claim, at(5));
  EXPECT_FALSE(claim.granted);
  EXPECT_EQ(claim.revoked_at, at(5));
  EXPECT_EQ(described(next_step(claim, around(6))), "ask");
}

TEST(claim_state, whoever_has_waited_or_had_trouble_stands) {
  EXPECT_FALSE(asking().stands);
  EXPECT_TRUE(in_line().stands);
  EXPECT_TRUE(told_busy().stands);
  EXPECT_TRUE(pausing().stands);
  EXPECT_TRUE(spent().stands) << "others need not try before it, whatever its owner id is now";
}

TEST(claim_state, failures_are_counted_from_the_last_answer) {
  claim_state claim = pausing(refused, 3);
  note_ask(claim, at(0));
  note_answer(claim, answer(ask_result::in_line), at(100));
  EXPECT_EQ(claim.trouble.failures, 0);
  note_ask(claim, at(0));
  note_failure(claim, refused, at(0), at(200));
  EXPECT_EQ(described(next_step(claim, around(0))), "wait until 200");
}

TEST(claim_state, one_failure_that_is_told_twice_counts_once) {
  claim_state claim = asking();
  note_failure(claim, silent, at(1250), at(1300));  // it was overdue
  note_failure(claim, refused, at(1260), at(1400));
  EXPECT_EQ(claim.trouble.failures, 1);
  EXPECT_EQ(claim.trouble.since, at(1250));
  EXPECT_EQ(described(next_step(claim, around(1270))), "wait until 1300");
}

TEST(claim_state, a_push_is_an_answer) {
  claim_state claim = with_push(pausing());
  note_revoked(claim, at(5));
  EXPECT_EQ(described(next_step(claim, around(50, 50))), "leave: timed out");
}

}  // namespace
}  // namespace crosslock::inner
