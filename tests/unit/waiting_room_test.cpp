// What a pushed grant is worth, by what the client has asked and heard before it.
#include "line_rules/waiting_room.hpp"

#include "memory_rig.hpp"

namespace crosslock::seam {
namespace {

using namespace std::chrono_literals;
using memory::owner;
using worth = waiting_room::worth;

class waiting_rooms : public testing::Test {
 protected:
  waiting_room::verdict pushed(ticket_number ticket) { return room.judge(grant(ticket), now); }
  static pushed_grant grant(ticket_number ticket) {
    return {.name = name, .owner = owner(1), .ticket = ticket, .lease = 1s};
  }
  void asked_and_in_line(ticket_number ticket, time_point sent) {
    room.asking(name, owner(1));
    EXPECT_FALSE(room.in_line(owner(1), ticket, sent, now));
  }

  static inline const name_ref name = std::make_shared<const lock_name>("stock");
  waiting_room room;
  time_point now{100s};
};

TEST_F(waiting_rooms, nobody_asked) { EXPECT_EQ(pushed(5).is, worth::unknown); }

TEST_F(waiting_rooms, the_ticket_in_line_counts_from_its_ask_once) {
  asked_and_in_line(5, now - 300ms);
  const auto verdict = pushed(5);
  EXPECT_EQ(verdict.is, worth::counts);
  EXPECT_EQ(verdict.sent, now - 300ms);
  EXPECT_EQ(pushed(5).is, worth::nothing);
  EXPECT_EQ(room.size(), 0U);
}

TEST_F(waiting_rooms, a_refresh_moves_the_start_and_an_older_answer_does_not_move_it_back) {
  asked_and_in_line(5, now - 200ms);
  asked_and_in_line(5, now - 100ms);
  asked_and_in_line(5, now - 300ms);
  EXPECT_EQ(pushed(5).sent, now - 100ms);
}

TEST_F(waiting_rooms, another_ticket_never_counts) {
  asked_and_in_line(5, now);
  EXPECT_EQ(pushed(4).is, worth::nothing) << "an old stay";
  EXPECT_EQ(pushed(6).is, worth::news) << "a stay whose answer was lost";
  EXPECT_EQ(pushed(5).is, worth::counts);
}

TEST_F(waiting_rooms, an_answer_of_an_older_stay_is_ignored) {
  asked_and_in_line(6, now);
  asked_and_in_line(5, now + 1s);
  EXPECT_EQ(pushed(5).is, worth::nothing);
  EXPECT_EQ(pushed(6).sent, now);
}

TEST_F(waiting_rooms, a_push_before_its_answer_waits_for_it) {
  room.asking(name, owner(1));
  EXPECT_EQ(pushed(5).is, worth::too_soon);
  const auto early = room.in_line(owner(1), 5, now, now);
  ASSERT_TRUE(early.has_value());
  EXPECT_EQ(early->ticket, 5);
  EXPECT_EQ(room.size(), 0U);
  EXPECT_EQ(pushed(5).is, worth::nothing) << "a copy of it";
}

TEST_F(waiting_rooms, a_push_before_an_answer_of_another_ticket_is_dropped) {
  room.asking(name, owner(1));
  EXPECT_EQ(pushed(4).is, worth::too_soon);
  EXPECT_FALSE(room.in_line(owner(1), 5, now, now));
  EXPECT_EQ(pushed(4).is, worth::nothing);
  EXPECT_EQ(pushed(5).is, worth::counts);
}

TEST_F(waiting_rooms, a_grant_by_answer_ends_the_wait) {
  asked_and_in_line(5, now);
  room.asking(name, owner(1));
  room.not_in_line(owner(1));
  EXPECT_EQ(room.size(), 0U);
  EXPECT_EQ(pushed(5).is, worth::unknown) << "given back only if it is still an offer";
}

TEST_F(waiting_rooms, a_lost_refresh_keeps_the_place) {
  asked_and_in_line(5, now - 1ms);
  room.asking(name, owner(1));
  room.unanswered(owner(1));
  EXPECT_EQ(pushed(5).sent, now - 1ms);
  room.asking(name, owner(1));
  room.unanswered(owner(1));
  EXPECT_EQ(room.size(), 0U) << "nothing was known";
}

TEST_F(waiting_rooms, an_answer_after_the_grant_does_not_wait_again) {
  asked_and_in_line(5, now);
  room.asking(name, owner(1));
  EXPECT_EQ(pushed(5).is, worth::counts);
  EXPECT_FALSE(room.in_line(owner(1), 5, now, now));
  EXPECT_EQ(room.size(), 0U);
}

TEST_F(waiting_rooms, an_answer_after_the_withdrawal_does_not_wait_again) {
  room.asking(name, owner(1));
  room.forget(owner(1));
  EXPECT_FALSE(room.in_line(owner(1), 5, now, now));
  EXPECT_EQ(room.size(), 0U);
  EXPECT_EQ(pushed(5).is, worth::unknown);
}

TEST_F(waiting_rooms, they_can_say_who_waits) {
  asked_and_in_line(5, now);
  room.asking(name, owner(2));
  EXPECT_EQ(room.waiting().size(), 2U);
  room.not_in_line(owner(2));
  ASSERT_EQ(room.waiting().size(), 1U);
  EXPECT_EQ(room.waiting()[0].owner, owner(1));
  EXPECT_EQ(room.waiting()[0].name, name);
}

TEST_F(waiting_rooms, grants_taken_are_not_remembered_for_ever) {
  for (std::uint32_t who = 1; who < 10000; ++who) {
    room.asking(name, owner(who));
    room.in_line(owner(who), who, now, now);
    pushed_grant news = grant(who);
    news.owner = owner(who);
    EXPECT_EQ(room.judge(news, now).is, worth::counts);
    now += 1ms;
  }
  EXPECT_LT(room.remembered(), 3000U);
}

}  // namespace
}  // namespace crosslock::seam
