// The rules of a line, one transcript each, over every kind of rows.
#include "line_suite.hpp"

namespace crosslock::memory {
namespace {

using enum seam::ask_result;

TEST(offer_lease, it_is_a_tenth_but_at_least_a_second_and_never_more_than_the_lease) {
  EXPECT_EQ(seam::offer_lease(30s), 3s);
  EXPECT_EQ(seam::offer_lease(10s), 1s);
  EXPECT_EQ(seam::offer_lease(5s), 1s);
  EXPECT_EQ(seam::offer_lease(200ms), 200ms);
  EXPECT_EQ(seam::offer_lease(1h), 6min);
}

TEST_P(line_rules, a_free_name_is_granted_with_the_full_lease_and_a_block_of_fences) {
  const auto answer = on.ask(1);
  EXPECT_EQ(answer.result, granted);
  EXPECT_EQ(answer.granted.lease, on.lease);
  EXPECT_EQ(answer.granted.first.value(), on.now.count());
  EXPECT_EQ(answer.granted.last.value(), on.now.count() + 4095);
  EXPECT_FALSE(answer.granted.wanted);
  EXPECT_TRUE(on.pushes.empty());
}

TEST_P(line_rules, a_repeated_ask_returns_the_same_fences_and_renews) {
  const std::int64_t first = held_by_1();
  on.now += 4s;
  const auto again = on.ask(1);
  EXPECT_EQ(again.result, granted);
  EXPECT_EQ(again.granted.first.value(), first);
  EXPECT_EQ(on.look().holders.at(0).lease_left, on.lease);
  EXPECT_EQ(on.holders(), just(1));
}

TEST_P(line_rules, a_taken_name_is_busy_for_those_who_do_not_wait) {
  held_by_1();
  EXPECT_EQ(on.try_once(2).result, busy);
  EXPECT_EQ(on.line(), nobody());
  EXPECT_TRUE(on.pushes.empty());
}

TEST_P(line_rules, the_first_waiter_makes_the_holder_wanted_the_second_does_not) {
  held_by_1();
  EXPECT_EQ(on.ask(2).result, in_line);
  ASSERT_EQ(on.pushes.size(), 1U);
  EXPECT_EQ(on.pushes[0].what, push::kind::wanted);
  EXPECT_EQ(on.pushes[0].to, 1U);
  EXPECT_EQ(on.pushes[0].owner, owner(1));
  EXPECT_EQ(on.ask(3).result, in_line);
  EXPECT_TRUE(on.pushes.empty());
  EXPECT_EQ(on.line(), just(2, 3));
}

TEST_P(line_rules, release_hands_over_to_the_first_with_an_offer) {
  const std::int64_t first = held_by_1();
  const auto second = on.ask(2);
  on.ask(3);
  on.now += 100ms;
  EXPECT_TRUE(on.release(1, first));
  ASSERT_EQ(on.pushes.size(), 1U);
  const push& news = on.pushes[0];
  EXPECT_EQ(news.what, push::kind::granted);
  EXPECT_EQ(news.to, 2U);
  EXPECT_EQ(news.owner, owner(2));
  EXPECT_EQ(news.ticket, second.ticket);
  EXPECT_EQ(news.offer.lease, 1s);
  EXPECT_TRUE(news.offer.wanted);
  EXPECT_GT(news.offer.first.value(), first + 4095);
  EXPECT_EQ(on.holders(), just(2));
  EXPECT_EQ(on.line(), just(3));
  EXPECT_EQ(on.look().holders.at(0).lease_left, 1s);
}

TEST_P(line_rules, any_fence_of_the_block_is_proof_for_a_release_and_no_other) {
  const std::int64_t first = held_by_1();
  EXPECT_FALSE(on.release(1, first - 1));
  EXPECT_FALSE(on.release(1, first + 4096));
  EXPECT_FALSE(on.release(2, first));
  EXPECT_EQ(on.holders(), just(1));
  EXPECT_TRUE(on.release(1, first + 4095));
  EXPECT_EQ(on.holders(), nobody());
  EXPECT_FALSE(on.release(1, first)) << "once is enough";
}

TEST_P(line_rules, a_late_release_does_not_free_the_successor) {
  const std::int64_t first = held_by_1();
  on.now += on.lease;
  EXPECT_EQ(on.ask(2).result, granted);
  EXPECT_FALSE(on.release(1, first));
  EXPECT_EQ(on.holders(), just(2));
}

TEST_P(line_rules, an_offer_becomes_a_full_lease_by_the_first_renewal) {
  const std::int64_t first = held_by_1();
  on.ask(2);
  on.release(1, first);
  const std::int64_t offered = on.pushes.at(0).offer.first.value();
  on.now += 900ms;
  EXPECT_TRUE(on.renew(2, offered).renewed);
  EXPECT_EQ(on.look().holders.at(0).lease_left, on.lease);
}

TEST_P(line_rules, an_ask_that_finds_itself_owner_takes_the_offer_up) {
  const std::int64_t first = held_by_1();
  on.ask(2);
  on.release(1, first);
  const auto offered = on.pushes.at(0).offer.first;
  on.now += 900ms;
  const auto answer = on.ask(2);
  EXPECT_EQ(answer.result, granted);
  EXPECT_EQ(answer.granted.first, offered);
  EXPECT_EQ(answer.granted.lease, on.lease);
  on.now += 5s;
  EXPECT_EQ(on.holders(), just(2));
}

TEST_P(line_rules, an_offer_nobody_takes_up_ends_and_the_next_is_served) {
  const std::int64_t first = held_by_1();
  on.ask(2);
  on.ask(3);
  on.release(1, first);
  on.now += 500ms;
  EXPECT_EQ(on.ask(3).result, in_line);
  on.now += 500ms;
  const auto answer = on.ask(3);
  EXPECT_EQ(answer.result, granted) << "served by its own look";
  EXPECT_EQ(answer.granted.lease, on.lease);
  EXPECT_TRUE(on.pushes.empty()) << "the reply is news enough";
  const auto back = on.ask(2);
  EXPECT_EQ(back.result, in_line) << "who slept through its offer queues anew";
}

TEST_P(line_rules, whoever_touches_the_name_first_replaces_an_ended_holder) {
  held_by_1();
  on.now += on.lease - 500ms;
  on.ask(2);
  on.now += 499ms;
  on.try_once(3);
  EXPECT_EQ(on.holders(), just(1));
  on.now += 1ms;
  EXPECT_EQ(on.try_once(3).result, busy) << "a newcomer does not barge";
  ASSERT_EQ(on.pushes.size(), 1U);
  EXPECT_EQ(on.pushes[0].to, 2U);
  EXPECT_EQ(on.holders(), just(2));
}

TEST_P(line_rules, looking_and_listing_show_who_would_be_served_and_change_nothing) {
  const std::int64_t first = held_by_1();
  on.now += on.lease - 500ms;
  on.ask(2);
  on.now += 500ms;
  for (int times = 0; times < 2; ++times) {
    const auto list = on.send<list_reply>(9, list_request{"st"});
    ASSERT_EQ(list.infos.size(), 1U);
    EXPECT_EQ(list.infos[0].holders.at(0).owner, owner(2));
    EXPECT_GT(list.infos[0].holders.at(0).fence.value(), first);
    EXPECT_TRUE(list.infos[0].line.empty());
    EXPECT_TRUE(on.pushes.empty()) << "nobody was served";
    const auto look = on.send<look_reply>(9, look_request{on.name});
    EXPECT_EQ(look.info.holders.at(0).owner, owner(2));
    EXPECT_EQ(look.info.holders.at(0).lease_left, 1s);
    EXPECT_TRUE(on.pushes.empty());
  }
  on.try_once(3);
  ASSERT_EQ(on.pushes.size(), 1U) << "the next who wants something serves";
  EXPECT_EQ(on.pushes[0].what, push::kind::granted);
}

TEST_P(line_rules, only_living_waiters_make_a_grant_wanted) {
  const std::int64_t first = held_by_1();
  on.ask(2);
  on.ask(3);
  on.now += 900ms;
  on.ask(2);
  on.now += 200ms;  // the place of 3 has ended
  on.release(1, first);
  ASSERT_EQ(on.pushes.size(), 1U);
  EXPECT_FALSE(on.pushes[0].offer.wanted);
  const std::int64_t second = on.pushes[0].offer.first.value();
  EXPECT_FALSE(on.renew(2, second).wanted);
  on.ask(4);
  EXPECT_EQ(on.pushes.size(), 1U) << "the first who lives is news to the holder";
  EXPECT_TRUE(on.renew(2, second).wanted);
  on.now += 1s;
  EXPECT_FALSE(on.renew(2, second).wanted);
}

TEST_P(line_rules, a_place_in_the_line_ends_unless_it_is_refreshed) {
  const std::int64_t first = held_by_1();
  const auto mine = on.ask(2);
  on.ask(3);
  on.now += 900ms;
  EXPECT_EQ(on.ask(2).ticket, mine.ticket) << "a refresh keeps place and ticket";
  on.now += 200ms;
  EXPECT_EQ(on.line(), just(2));
  const auto anew = on.ask(3);
  EXPECT_GT(anew.ticket, mine.ticket) << "another stay, another ticket";
  EXPECT_EQ(on.line(), just(2, 3));
  on.now += 1100ms;
  on.release(1, first);
  EXPECT_TRUE(on.pushes.empty()) << "both are gone";
  EXPECT_EQ(on.holders(), nobody());
}

TEST_P(line_rules, an_ended_place_is_not_revived_even_behind_a_living_one) {
  held_by_1();
  on.ask(2);
  const auto old = on.ask(3);
  on.now += 600ms;
  on.ask(2);
  on.now += 600ms;
  on.ask(4);
  const auto anew = on.ask(3);
  EXPECT_GT(anew.ticket, old.ticket);
  EXPECT_EQ(on.line(), (std::vector<owner_id>{owner(2), owner(4), owner(3)}));
}

TEST_P(line_rules, look_after_is_a_third_of_the_place_or_the_end_of_the_lease) {
  held_by_1();
  EXPECT_EQ(on.ask(2).look_after, duration{1s} / 3);
  on.now += on.lease - 100ms;
  EXPECT_EQ(on.ask(2).look_after, 101ms);
  EXPECT_EQ(on.ask(3).look_after, 102ms) << "one after the other";
  EXPECT_EQ(on.ask(4).look_after, 103ms);
}

TEST_P(line_rules, grants_say_that_others_wait) {
  const std::int64_t first = held_by_1();
  on.ask(2);
  EXPECT_TRUE(on.ask(1).granted.wanted);
  EXPECT_TRUE(on.renew(1, first).wanted);
  on.withdraw(2);
  EXPECT_FALSE(on.renew(1, first).wanted);
}

TEST_P(line_rules, withdraw_leaves_the_line_or_gives_back_a_grant_and_may_be_repeated) {
  held_by_1();
  on.ask(2);
  on.ask(3);
  on.withdraw(2);
  on.withdraw(2);
  EXPECT_EQ(on.line(), just(3));
  on.withdraw(1);
  EXPECT_EQ(on.holders(), just(3));
  on.withdraw(1);
  EXPECT_EQ(on.holders(), just(3));
  on.withdraw(8);
}

TEST_P(line_rules, giving_an_offer_back_counts_only_while_nobody_has_taken_it_up) {
  const std::int64_t first = held_by_1();
  const auto place = on.ask(2);
  on.release(1, first);
  on.withdraw(2, place.ticket - 1);
  EXPECT_EQ(on.holders(), just(2)) << "another ticket";
  on.ask(2);
  on.withdraw(2, place.ticket);
  EXPECT_EQ(on.holders(), just(2)) << "taken up";
  on.ask(3);
  on.withdraw(2);
  const auto theirs = on.pushes.at(0).ticket;
  on.withdraw(3, theirs);
  EXPECT_EQ(on.holders(), nobody());
  on.ask(4);
  on.ask(5);
  on.withdraw(5, theirs);
  EXPECT_EQ(on.line(), just(5)) << "never leaves the line by it";
}

TEST_P(line_rules, renew_compares_owner_and_fence_and_never_creates) {
  const std::int64_t first = held_by_1();
  on.now += 5s;
  EXPECT_FALSE(on.renew(2, first).renewed);
  EXPECT_FALSE(on.renew(1, first - 1).renewed);
  EXPECT_EQ(on.look().holders.at(0).lease_left, 5s);
  EXPECT_TRUE(on.renew(1, first).renewed);
  EXPECT_EQ(on.look().holders.at(0).lease_left, on.lease);
  on.now += on.lease;
  EXPECT_FALSE(on.renew(1, first).renewed) << "ended, though nobody has taken it";
  EXPECT_EQ(on.holders(), nobody());
}

TEST_P(line_rules, a_batch_is_answered_item_by_item) {
  const std::int64_t first = held_by_1();
  const renew_item mine{on.name, owner(1), fence{first}, fence{first}, on.lease, false};
  renew_item theirs = mine;
  theirs.name = name_of("other");
  const auto answer = on.send<renew_reply>(1, renew_request{{theirs, mine, theirs}});
  ASSERT_EQ(answer.outcomes.size(), 3U);
  EXPECT_FALSE(answer.outcomes[0].renewed);
  EXPECT_TRUE(answer.outcomes[1].renewed);
  EXPECT_FALSE(answer.outcomes[2].renewed);
}

TEST_P(line_rules, a_renewal_that_wants_more_stands_in_a_batch_where_it_was) {
  const std::int64_t first = held_by_1();
  const renew_item plain{on.name, owner(1), fence{first}, fence{first}, on.lease};
  renew_item more = plain;
  more.want_fences = true;
  renew_item ended = plain;
  ended.first = ended.last = fence{first - 1};
  const auto answer = on.send<renew_reply>(1, renew_request{{ended, more, plain, ended, plain}});
  ASSERT_EQ(answer.outcomes.size(), 5U);
  const std::vector<bool> renewed{false, true, true, false, true};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(answer.outcomes[i].renewed, renewed[i]) << i;
    EXPECT_EQ(answer.outcomes[i].more_first != fence{}, i == 1) << i;
  }
}

TEST_P(line_rules, a_renewal_reserves_another_block_and_its_fences_are_proof) {
  const std::int64_t first = held_by_1();
  const auto more = on.renew(1, first, true);
  EXPECT_EQ(more.more_first.value(), first + 4096);
  EXPECT_EQ(more.more_last.value(), first + 8191);
  EXPECT_TRUE(on.renew(1, first + 8191).renewed);
  EXPECT_EQ(on.renew(1, first).more_first, fence{});
  EXPECT_TRUE(on.release(1, first + 5000));
  EXPECT_GT(on.ask(2).granted.first.value(), first + 8191);
}

TEST_P(line_rules, a_late_copy_of_a_shorter_renewal_takes_nothing_away) {
  const std::int64_t first = held_by_1();
  on.renew(1, first, false, 20s);
  on.now += 1s;
  on.renew(1, first, false, 2s);
  EXPECT_GE(on.look().holders.at(0).lease_left, 19s);
}

TEST_P(line_rules, adopt_gives_the_grant_a_new_owner_once) {
  const std::int64_t first = held_by_1();
  on.now += 5s;
  EXPECT_FALSE(on.adopt(1, first - 1, 2).adopted) << "forged fence";
  EXPECT_FALSE(on.adopt(7, first, 2).adopted) << "forged owner";
  const auto taken = on.adopt(1, first, 2);
  EXPECT_TRUE(taken.adopted);
  EXPECT_EQ(taken.granted.first.value(), first);
  EXPECT_EQ(on.holders(), just(2));
  EXPECT_EQ(on.look().holders.at(0).lease_left, on.lease);
  EXPECT_TRUE(on.adopt(1, first, 2).adopted) << "repeated";
  EXPECT_FALSE(on.adopt(1, first, 3).adopted) << "the receipt is worth nothing any more";
  EXPECT_FALSE(on.release(1, first)) << "nor is the old owner";
  EXPECT_EQ(on.holders(), just(2));
  on.now += on.lease;
  EXPECT_FALSE(on.adopt(1, first, 2).adopted) << "late";
}

TEST_P(line_rules, adopt_may_shorten_the_lease) {
  const std::int64_t first = held_by_1();
  auto next = on.claim(2);
  next.lease = 1s;
  const auto taken = on.send<adopt_reply>(2, adopt_request{owner(1), fence{first}, next, nullptr});
  EXPECT_TRUE(taken.adopted);
  EXPECT_EQ(on.look().holders.at(0).lease_left, 1s);
}

TEST_P(line_rules, break_frees_tells_the_holder_and_serves_the_next) {
  const std::int64_t first = held_by_1();
  on.ask(2);
  EXPECT_FALSE(on.break_it(2)) << "waits, does not hold";
  EXPECT_TRUE(on.break_it(1));
  ASSERT_EQ(on.pushes.size(), 2U);
  EXPECT_EQ(on.pushes[0].what, push::kind::revoked);
  EXPECT_EQ(on.pushes[0].to, 1U);
  EXPECT_EQ(on.pushes[1].what, push::kind::granted);
  EXPECT_EQ(on.pushes[1].to, 2U);
  EXPECT_GT(on.pushes[1].offer.first.value(), first);
  EXPECT_FALSE(on.break_it(1));
  EXPECT_FALSE(on.renew(1, first).renewed);
}

TEST_P(line_rules, look_shows_holder_and_line_in_order) {
  const std::int64_t first = held_by_1();
  on.now += 2s;
  on.ask(3);
  on.now += 500ms;
  on.ask(2);
  const auto info = on.look();
  EXPECT_EQ(info.name, "stock");
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_EQ(info.holders[0].who, "client 1");
  EXPECT_EQ(info.holders[0].age, 2500ms);
  EXPECT_EQ(info.holders[0].lease_left, 7500ms);
  EXPECT_EQ(info.holders[0].fence.value(), first);
  ASSERT_EQ(info.line.size(), 2U);
  EXPECT_EQ(info.line[0].owner, owner(3));
  EXPECT_EQ(info.line[0].age, 500ms);
  EXPECT_EQ(info.line[1].owner, owner(2));
}

TEST_P(line_rules, list_gives_names_in_use_in_the_order_of_their_bytes) {
  for (const std::string text : {"b", "a/2", "a/1", "a", "\u00e4", "B"}) {
    on.name = name_of(text);
    on.ask(1);
  }
  on.name = name_of("a/1");
  on.withdraw(1);
  const auto names = [&](const std::string& prefix) {
    std::string all;
    const auto list = on.send<list_reply>(1, list_request{prefix});
    for (const auto& one : list.infos) all += one.name + " ";
    return all;
  };
  EXPECT_EQ(names(""), "B a a/2 b \u00e4 ");
  EXPECT_EQ(names("a"), "a a/2 ");
  EXPECT_EQ(names("a/1"), "");
}

}  // namespace
}  // namespace crosslock::memory
