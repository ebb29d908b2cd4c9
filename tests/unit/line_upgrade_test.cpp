// Upgrades and downgrades, one transcript each. Client n holds as owner n and upgrades as owner
// 10 + n.
#include "line_suite.hpp"

#include <functional>

namespace crosslock::memory {
namespace {

using enum seam::ask_result;

TEST_P(line_rules, alone_it_is_granted_at_once_beside_the_shared_grant) {
  const std::int64_t old = shared_by(1);
  const auto answer = on.upgrade(11, 1);
  EXPECT_EQ(answer.result, granted);
  EXPECT_GT(answer.granted.first.value(), old + 4095);
  EXPECT_EQ(answer.granted.lease, on.lease);
  EXPECT_EQ(on.holders(), just(1, 11));
  EXPECT_EQ(on.look().holders.at(1).mode, claim_mode::exclusive);
  EXPECT_EQ(on.shared(2).result, in_line);
  EXPECT_TRUE(on.release(1, old));
  EXPECT_EQ(on.holders(), just(11)) << "the shared grant ends by its own release";
}

TEST_P(line_rules, without_naming_it_the_own_shared_grant_stands_in_the_way) {
  shared_by(1);
  EXPECT_EQ(on.upgrade(11, std::nullopt, false).result, busy);
  EXPECT_EQ(on.upgrade(11, std::nullopt).result, in_line);
  EXPECT_EQ(on.holders(), just(1));
  EXPECT_EQ(on.upgrade(11, 1).result, granted) << "a later ask may name it";
  EXPECT_EQ(on.holders(), just(1, 11));
}

TEST_P(line_rules, one_that_does_not_wait_is_busy_while_others_share) {
  shared_by(1);
  shared_by(2);
  EXPECT_EQ(on.upgrade(11, 1, false).result, busy);
  EXPECT_EQ(on.holders(), just(1, 2));
  EXPECT_EQ(on.line(), nobody());
}

TEST_P(line_rules, in_line_it_is_served_when_the_last_other_reader_goes) {
  shared_by(1);
  const std::int64_t other = shared_by(2);
  const auto place = on.upgrade(11, 1);
  EXPECT_EQ(place.result, in_line);
  EXPECT_EQ(on.shared(3).result, in_line) << "no reader overtakes it";
  EXPECT_EQ(on.line(), just(11, 3));
  EXPECT_TRUE(on.release(2, other));
  ASSERT_EQ(on.pushes.size(), 1U);
  EXPECT_EQ(on.pushes[0].what, push::kind::granted);
  EXPECT_EQ(on.pushes[0].to, 1U);
  EXPECT_EQ(on.pushes[0].owner, owner(11));
  EXPECT_EQ(on.pushes[0].ticket, place.ticket);
  EXPECT_TRUE(on.pushes[0].offer.wanted);
  EXPECT_EQ(on.holders(), just(1, 11));
  EXPECT_EQ(on.line(), just(3));
}

TEST_P(line_rules, what_it_names_may_be_taken_back_before_it_is_served) {
  shared_by(1);
  const std::int64_t other = shared_by(2);
  EXPECT_EQ(on.upgrade(11, 1).result, in_line);
  EXPECT_EQ(on.upgrade(11, std::nullopt).result, in_line);
  on.release(2, other);
  EXPECT_TRUE(on.pushes.empty());
  EXPECT_EQ(on.holders(), just(1));
}

TEST_P(line_rules, the_second_of_two_is_told_at_once_and_keeps_what_it_has) {
  shared_by(1);
  const std::int64_t second = shared_by(2);
  EXPECT_EQ(on.upgrade(11, 1).result, in_line);
  for (const bool waits : {true, false}) {
    on.upgrade(12, 2, waits);
    EXPECT_EQ(on.refused, errc::upgrade_conflict);
    EXPECT_NE(on.refusal_text.find("'stock'"), std::string::npos);
    EXPECT_NE(on.refusal_text.find("release the shared hold and acquire anew"), std::string::npos);
  }
  EXPECT_EQ(on.holders(), just(1, 2));
  EXPECT_EQ(on.line(), just(11));
  EXPECT_TRUE(on.release(2, second));
  EXPECT_EQ(on.holders(), just(1, 11));
}

TEST_P(line_rules, a_repeated_ask_in_line_or_granted_is_no_conflict) {
  shared_by(1);
  const std::int64_t other = shared_by(2);
  const auto place = on.upgrade(11, 1);
  EXPECT_EQ(on.ask(3).result, in_line);
  EXPECT_EQ(on.upgrade(11, 1).ticket, place.ticket);
  on.release(2, other);
  const auto offered = on.pushes.at(0).offer.first;
  EXPECT_EQ(on.upgrade(11, 1).granted.first, offered);
}

TEST_P(line_rules, an_exclusive_holder_conflicts_and_a_lost_shared_grant_makes_it_a_plain_claim) {
  const std::int64_t old = shared_by(1);
  on.release(1, old);
  on.ask(2);
  on.upgrade(11, 1);
  EXPECT_EQ(on.refused, errc::upgrade_conflict);
  on.withdraw(2);
  EXPECT_EQ(on.upgrade(11, 1).result, granted);
}

TEST_P(line_rules, it_stands_beside_nothing_but_a_shared_grant) {
  EXPECT_EQ(on.permits(1, 1, 3).result, granted);
  EXPECT_EQ(on.upgrade(11, 1, false).result, busy);
  EXPECT_EQ(on.holders(), just(1));
}

TEST_P(line_rules, leaving_the_line_leaves_the_shared_grant_as_it_is) {
  shared_by(1);
  const std::int64_t other = shared_by(2);
  on.upgrade(11, 1);
  on.shared(3);
  on.withdraw(11);
  ASSERT_EQ(on.pushes.size(), 1U);
  EXPECT_EQ(on.pushes[0].owner, owner(3)) << "who waited behind it goes in";
  EXPECT_EQ(on.holders(), (std::vector<owner_id>{owner(1), owner(2), owner(3)}));
  EXPECT_TRUE(on.renew(2, other).renewed);
}

// Whatever becomes of the exclusive grant, whoever believes in the shared one is right.
TEST_P(line_rules, the_shared_grant_goes_on_when_the_exclusive_one_ends) {
  const std::int64_t old = shared_by(1);
  const auto end = [&](const std::function<void(std::int64_t)>& how) {
    const std::int64_t other = shared_by(2);
    on.upgrade(11, 1);
    on.release(2, other);
    EXPECT_EQ(on.holders(), just(1, 11)) << "handed over";
    EXPECT_EQ(on.ask(3).result, in_line);
    how(on.look().holders.at(1).fence.value());
    EXPECT_EQ(on.holders(), just(1));
    EXPECT_EQ(on.line(), just(3));
    on.withdraw(3);
    EXPECT_TRUE(on.renew(1, old).renewed);
  };
  end([&](std::int64_t) { on.withdraw(11); });
  end([&](std::int64_t fence) { EXPECT_TRUE(on.release(11, fence)); });
  end([&](std::int64_t) { EXPECT_TRUE(on.break_it(11)); });
  end([&](std::int64_t) {
    on.now += 900ms;
    EXPECT_EQ(on.ask(3).result, in_line);
    on.now += 100ms;  // the offer is over
  });
}

TEST_P(line_rules, when_the_shared_grant_ends_the_exclusive_one_goes_on) {
  shared_by(1);
  on.now += 5s;
  EXPECT_EQ(on.upgrade(11, 1).result, granted);
  on.now += 6s;
  EXPECT_EQ(on.holders(), just(11));
  EXPECT_EQ(on.try_once(2).result, busy);
}

TEST_P(line_rules, a_late_copy_of_a_withdrawn_ask_does_not_end_the_shared_grant) {
  const std::int64_t old = shared_by(1);
  on.upgrade(11, 1);
  on.withdraw(11);
  on.upgrade(11, 1);  // the copy
  on.now += 4s;
  EXPECT_TRUE(on.renew(1, old).renewed);
  on.now += 7s;
  EXPECT_EQ(on.try_once(2).result, busy);
  EXPECT_EQ(on.holders(), just(1));
}

TEST_P(line_rules, a_second_upgrade_beside_the_same_grant_conflicts_with_the_first) {
  shared_by(1);
  EXPECT_EQ(on.upgrade(11, 1).result, granted);
  on.upgrade(21, 1);
  EXPECT_EQ(on.refused, errc::upgrade_conflict);
}

TEST_P(line_rules, a_downgrade_keeps_owner_and_fences_and_lets_readers_in_up_to_the_next_writer) {
  const std::int64_t first = on.ask(1).granted.first.value();
  on.shared(2);
  on.shared(3);
  on.ask(4);
  on.shared(5);
  on.now += 900ms;
  const auto shared = on.share(1, first);
  EXPECT_TRUE(shared.renewed);
  EXPECT_TRUE(shared.wanted);
  EXPECT_EQ(shared.lease, on.lease);
  ASSERT_EQ(on.pushes.size(), 2U);
  EXPECT_EQ(on.pushes[0].owner, owner(2));
  EXPECT_EQ(on.pushes[1].owner, owner(3));
  EXPECT_EQ(on.holders(), (std::vector<owner_id>{owner(1), owner(2), owner(3)}));
  EXPECT_EQ(on.line(), just(4, 5));
  EXPECT_EQ(on.look().holders.at(0).fence.value(), first);
  EXPECT_EQ(mode_of_first(), claim_mode::shared);
  EXPECT_TRUE(on.share(1, first).renewed) << "once more changes nothing";
  EXPECT_TRUE(on.pushes.empty());
  EXPECT_TRUE(on.release(1, first + 17));
}

TEST_P(line_rules, a_downgrade_compares_owner_and_fence_and_refuses_permits) {
  const std::int64_t first = on.ask(1).granted.first.value();
  EXPECT_FALSE(on.share(1, first - 1).renewed);
  EXPECT_FALSE(on.share(2, first).renewed);
  EXPECT_EQ(mode_of_first(), claim_mode::exclusive);
  on.release(1, first);
  const std::int64_t permit = on.permits(3, 1, 2).granted.first.value();
  EXPECT_FALSE(on.share(3, permit).renewed);
  EXPECT_EQ(mode_of_first(), claim_mode::permit);
}

// A hold with a fixed lease is downgraded, but not renewed.
TEST_P(line_rules, a_downgrade_with_a_lease_of_zero_leaves_what_is_left_of_it) {
  const std::int64_t first = on.ask(1).granted.first.value();
  on.now += 4s;
  EXPECT_TRUE(on.share(1, first, duration::zero()).renewed);
  EXPECT_EQ(on.look().holders.at(0).lease_left, 6s);
  EXPECT_EQ(mode_of_first(), claim_mode::shared);
}

TEST_P(line_rules, up_and_down_and_up_again_each_upgrade_with_higher_fences) {
  const std::int64_t old = shared_by(1);
  const std::int64_t higher = on.upgrade(11, 1).granted.first.value();
  EXPECT_TRUE(on.share(11, higher).renewed);
  EXPECT_EQ(on.holders(), just(1, 11));
  EXPECT_EQ(on.upgrade(21, 11, false).result, busy) << "the first grant stands in the way";
  EXPECT_TRUE(on.release(1, old));
  const std::int64_t highest = on.upgrade(21, 11).granted.first.value();
  EXPECT_GT(highest, higher);
  EXPECT_EQ(on.holders(), just(11, 21));
  on.upgrade(11, 1);  // a late copy
  EXPECT_EQ(on.refused, errc::conflict);
}

}  // namespace
}  // namespace crosslock::memory
