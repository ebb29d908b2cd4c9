#include "local/entry_rule.hpp"

#include <gtest/gtest.h>

namespace crosslock::inner {
namespace {

using enum claim_mode;

entry_question one_that(claim_mode mode, bool waits = true) {
  return {.mode = mode, .waits = waits};
}

TEST(entry_rule, in_an_empty_line_everybody_asks_the_server) {
  for (const claim_mode mode : {exclusive, shared, permit}) {
    EXPECT_EQ(way_in(one_that(mode)), entry_decision::claim);
    EXPECT_EQ(way_in(one_that(mode, false)), entry_decision::claim);
  }
}

TEST(entry_rule, nobody_overtakes_the_queue_of_this_process) {
  for (const claim_mode mode : {exclusive, shared, permit}) {
    entry_question asked = one_that(mode);
    asked.others_before = true;
    asked.shared_grant = mode == shared;
    EXPECT_EQ(way_in(asked), entry_decision::queue);
  }
}

TEST(entry_rule, whoever_finds_the_other_kind_asks_the_server_what_it_is) {
  for (const claim_mode mode : {exclusive, shared, permit}) {
    for (const bool waits : {false, true}) {
      entry_question asked = one_that(mode, waits);
      asked.another_kind = true;
      asked.others_before = true;
      asked.exclusive_grant = mode == permit;
      asked.claimants = true;
      asked.claimants_stand = true;
      EXPECT_EQ(way_in(asked), entry_decision::claim);
    }
  }
  EXPECT_FALSE(another_kind(exclusive, shared));
  EXPECT_FALSE(another_kind(permit, permit));
  EXPECT_TRUE(another_kind(permit, shared));
  EXPECT_TRUE(another_kind(exclusive, permit));
}

TEST(entry_rule, behind_an_exclusive_grant_of_this_process_everybody_waits_here) {
  for (const claim_mode mode : {exclusive, shared, permit}) {
    entry_question asked = one_that(mode);
    asked.exclusive_grant = true;
    EXPECT_EQ(way_in(asked), entry_decision::queue);
  }
}

TEST(entry_rule, a_reader_joins_a_shared_grant_unless_a_claim_is_on_its_way) {
  entry_question asked = one_that(shared);
  asked.shared_grant = true;
  EXPECT_EQ(way_in(asked), entry_decision::join);
  asked.claimants = true;
  asked.claimants_all_permits = false;
  asked.claimants_exclusive = true;
  EXPECT_EQ(way_in(asked), entry_decision::queue);
}

TEST(entry_rule, behind_a_claim_on_its_way) {
  struct row {
    claim_mode mode;
    bool waits;
    bool all_permits;
    bool exclusive_claimant;
    bool stands;
    entry_decision expected;
  };
  const row rows[] = {
      {exclusive, true, false, true, false, entry_decision::queue},
      {exclusive, false, false, false, false, entry_decision::queue},
      {shared, true, false, false, false,
       entry_decision::queue},  // it may join what the other brings
      {shared, false, false, false, false, entry_decision::claim},
      {shared, false, false, false, true, entry_decision::queue},
      {shared, false, false, true, false, entry_decision::queue},
      {permit, true, true, false, false, entry_decision::claim},
      {permit, false, true, false, false, entry_decision::claim},
      {permit, true, true, false, true, entry_decision::queue},  // first come first served
      {permit, true, false, true, false, entry_decision::queue},
  };
  for (const row& each : rows) {
    entry_question asked = one_that(each.mode, each.waits);
    asked.claimants = true;
    asked.claimants_all_permits = each.all_permits;
    asked.claimants_exclusive = each.exclusive_claimant;
    asked.claimants_stand = each.stands;
    EXPECT_EQ(way_in(asked), each.expected) << &each - rows;
  }
}

TEST(entry_rule, a_claim_for_permits_that_this_process_cannot_all_have_waits_here) {
  entry_question asked = one_that(permit);
  asked.claimants = true;
  asked.room = false;
  EXPECT_EQ(way_in(asked), entry_decision::queue);
  asked.waits = false;
  EXPECT_EQ(way_in(asked), entry_decision::claim)
      << "it will not wait: it must not be refused unasked";
}

}  // namespace
}  // namespace crosslock::inner
