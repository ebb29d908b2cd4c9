// The rules of a name, over rows: who goes in, in which order, with which fence.
#include "engines/sqlite/clerk.hpp"
#include "engines/sqlite/schema.hpp"
#include "unit/sqlite_rig.hpp"

#include <gtest/gtest.h>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;

class sqlite_clerk : public testing::Test {
 protected:
  /// Acts as a client of that number at a time of the test's own.
  clerk at(duration moment, client_number client = 1) {
    clerk acting{rows_, self_, time_point{} + 1h + moment};
    acting.act_for(client);
    return acting;
  }

  bool alone_ = false;
  scratch dir_;
  rig rig_{dir_.file("locks.db")};
  database base_{dir_.file("locks.db"), durability::normal, seam::real_clock()};
  ledger rows_{base_};
  const process_id self_ = read_surroundings().self;
};

TEST_F(sqlite_clerk, conflicting_claims_are_granted_in_the_order_of_arrival) {
  const auto first = at(0s).ask(claim_for("a", 1), {});
  EXPECT_EQ(first.result, ask_result::granted);
  EXPECT_EQ(at(1ms).ask(claim_for("a", 2, true), {}).result, ask_result::in_line);
  EXPECT_EQ(at(2ms).ask(claim_for("a", 3, true), {}).result, ask_result::in_line);
  EXPECT_EQ(at(3ms).ask(claim_for("a", 4), {}).result, ask_result::busy);
  clerk giving = at(4ms);
  EXPECT_EQ(giving.release(proof_of(claim_for("a", 1), first.mine.first), alone_),
            seam::release_answer::released);
  EXPECT_EQ(giving.take_notices().size(), 1U) << "a release wakes exactly one";
  const auto second = at(5ms).ask(claim_for("a", 2, true), {true, 0});
  EXPECT_EQ(second.result, ask_result::granted);
  EXPECT_GT(second.mine.first, first.mine.last);
  EXPECT_TRUE(second.wanted);
  EXPECT_EQ(at(6ms).ask(claim_for("a", 4), {}).result, ask_result::busy);
}

TEST_F(sqlite_clerk, a_repeated_ask_finds_the_same_fence) {
  const auto first = at(0s).ask(claim_for("a", 1), {});
  const auto again = at(1s).ask(claim_for("a", 1), {true, 0});
  EXPECT_EQ(again.result, ask_result::granted);
  EXPECT_EQ(again.mine.first, first.mine.first);
  EXPECT_EQ(again.mine.ends - first.mine.ends, 1s);
}

TEST_F(sqlite_clerk, a_repeated_ask_in_line_keeps_its_place) {
  at(0s).ask(claim_for("a", 1), {});
  const auto place = at(1ms).ask(claim_for("a", 2, true), {});
  at(2ms).ask(claim_for("a", 3, true), {});
  EXPECT_EQ(at(3ms).ask(claim_for("a", 2, true), {true, 0}).ticket, place.ticket);
  EXPECT_EQ(at(4ms).ask(claim_for("a", 2, true), {true, place.ticket}).ticket, place.ticket);
}

TEST_F(sqlite_clerk, the_first_waiter_is_told_wanted_and_no_other) {
  clerk holding = at(0s, 1);
  holding.ask(claim_for("a", 1), {});
  clerk second = at(1ms, 2);
  second.ask(claim_for("a", 2, true), {});
  const auto told = second.take_notices();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].client, 1);
  clerk third = at(2ms, 3);
  third.ask(claim_for("a", 3, true), {});
  EXPECT_TRUE(third.take_notices().empty());
}

TEST_F(sqlite_clerk, a_reader_that_was_alone_stands_among_the_others_when_one_comes) {
  const time_point now = time_point{} + 1h;
  const seam::wish shared{.mode = claim_mode::shared};
  const auto first = rows_.take_free("a", {.owner = owner_number(1),
                                           .want = shared,
                                           .lease = 30s,
                                           .ends = now + 30s,
                                           .since = now,
                                           .client = 1});
  ASSERT_TRUE(first);
  EXPECT_EQ(rows_.find("a")->alone->want, shared);
  EXPECT_EQ(at(1ms).ask(claim_for("a", 2), {}).result, ask_result::busy);
  EXPECT_FALSE(rows_.find("a")->alone) << "it stands among those who share";
  seam::claim reader = claim_for("a", 3);
  reader.mode = claim_mode::shared;
  const auto second = at(2ms).ask(reader, {});
  EXPECT_EQ(second.result, ask_result::granted);
  EXPECT_GT(second.mine.first, *first);
  const auto inside = rows_.sharers("a");
  ASSERT_EQ(inside.size(), 2U);
  EXPECT_EQ(inside[0].owner, owner_number(1));
  EXPECT_EQ(inside[0].first, *first);
  EXPECT_EQ(inside[0].ends, now + 30s);
  EXPECT_EQ(at(3ms).release(proof_of(claim_for("a", 1), *first), alone_),
            seam::release_answer::released);
  EXPECT_EQ(at(4ms).release(proof_of(reader, second.mine.first), alone_),
            seam::release_answer::released);
  EXPECT_TRUE(rows_.take_free("a", {.owner = owner_number(4), .lease = 30s, .ends = now + 31s}));
  EXPECT_EQ(rows_.find("a")->alone->want, seam::wish{}) << "nothing is left of the reader";
}

TEST_F(sqlite_clerk, an_expired_holder_is_replaced_by_whoever_comes) {
  const auto first = at(0s).ask(claim_for("a", 1), {});
  EXPECT_EQ(at(30s - 1ns).ask(claim_for("a", 2), {}).result, ask_result::busy);
  const auto next = at(30s).ask(claim_for("a", 2), {});
  EXPECT_EQ(next.result, ask_result::granted);
  EXPECT_GT(next.mine.first, first.mine.last);
  EXPECT_EQ(at(30s).release(proof_of(claim_for("a", 1), first.mine.first), alone_),
            seam::release_answer::not_owner);
}

TEST_F(sqlite_clerk, a_waiter_that_does_not_refresh_loses_its_place) {
  const auto first = at(0s).ask(claim_for("a", 1), {});
  at(1ms).ask(claim_for("a", 2, true), {});
  at(2ms).ask(claim_for("a", 3, true), {});
  at(2s).ask(claim_for("a", 3, true), {true, 0});
  clerk giving = at(4s);
  giving.release(proof_of(claim_for("a", 1), first.mine.first), alone_);
  EXPECT_EQ(at(4s).ask(claim_for("a", 3, true), {true, 0}).result, ask_result::granted);
}

TEST_F(sqlite_clerk, an_offer_that_nobody_takes_up_goes_to_the_next) {
  const auto first = at(0s).ask(claim_for("a", 1), {});
  at(1ms).ask(claim_for("a", 2, true), {});
  at(2ms).ask(claim_for("a", 3, true), {});
  at(3ms).release(proof_of(claim_for("a", 1), first.mine.first), alone_);
  EXPECT_EQ(at(3s).ask(claim_for("a", 3, true), {true, 0}).result, ask_result::in_line);
  EXPECT_EQ(at(3s + 3ms).ask(claim_for("a", 3, true), {true, 0}).result, ask_result::granted);
}

TEST_F(sqlite_clerk, a_renewal_compares_owner_and_fence_and_never_creates) {
  const auto claim = claim_for("a", 1);
  const auto granted = at(0s).ask(claim, {});
  const auto renew = [&](duration when, std::uint8_t owner, std::int64_t proof) {
    seam::renewal item;
    item.held = proof_of(claim_for("a", owner), proof);
    item.lease = 30s;
    at(when).renew(item);
    return item.outcome;
  };
  using result = seam::renewal::result;
  EXPECT_EQ(renew(10s, 1, granted.mine.first), result::renewed);
  EXPECT_EQ(renew(20s, 1, granted.mine.last), result::renewed);
  EXPECT_EQ(renew(21s, 1, granted.mine.last + 1), result::lost);
  EXPECT_EQ(renew(21s, 2, granted.mine.first), result::lost);
  EXPECT_EQ(renew(50s, 1, granted.mine.first), result::lost) << "its lease has ended at 50 s";
  seam::renewal nothing;
  nothing.held = proof_of(claim_for("b", 1), 1);
  nothing.lease = 30s;
  at(0s).renew(nothing);
  EXPECT_EQ(nothing.outcome, result::lost);
  EXPECT_FALSE(rows_.find("b"));
}

TEST_F(sqlite_clerk, a_renewal_can_bring_fences_and_untie_the_hold_from_its_process) {
  const auto claim = claim_for("a", 1);
  const auto granted = at(0s).ask(claim, {});
  seam::renewal item;
  item.held = proof_of(claim, granted.mine.first);
  item.want_fences = true;
  item.detach = true;
  at(10s).renew(item);
  EXPECT_EQ(item.outcome, seam::renewal::result::renewed);
  EXPECT_GT(item.more_first.value(), granted.mine.last);
  const auto row = rows_.find("a");
  ASSERT_TRUE(row && row->alone);
  EXPECT_TRUE(rows_.client(row->alone->client).process == process_id{}) << "bound to no process";
  EXPECT_EQ(row->alone->ends, granted.mine.ends) << "a lease of zero changes nothing";
}

TEST_F(sqlite_clerk, who_detached_a_hold_is_known_as_long_as_it_is_held) {
  const auto unbound = [this] {
    return base_.ask_number("SELECT count(*) FROM clients WHERE pid = 0");
  };
  const client_number me = add_client(base_, self_, "me", time_point{} + 1h);
  const auto claim = claim_for("a", 1);
  const auto granted = at(0s, me).ask(claim, {});
  seam::renewal item;
  item.held = proof_of(claim, granted.mine.first);
  item.detach = true;
  at(1ms, me).renew(item);
  at(2ms, me).renew(item);  // a repeated one finds its own work
  EXPECT_EQ(unbound(), 1);
  remove_client(base_, self_, me);
  sweep(base_, time_point{} + 1h + 3ms);
  EXPECT_EQ(rows_.client(rows_.find("a")->alone->client).who, "me");
  item.detach = false;
  at(4ms).renew(item);
  EXPECT_EQ(rows_.client(rows_.find("a")->alone->client).who, "me") << "not who renews it";
  EXPECT_EQ(at(5ms).release(item.held, alone_), seam::release_answer::released);
  sweep(base_, time_point{} + 1h + 6ms);
  EXPECT_EQ(unbound(), 0);
}

TEST_F(sqlite_clerk, shared_claims_hold_together_and_do_not_overtake_an_exclusive_one) {
  auto reader = claim_for("a", 1, true);
  reader.mode = claim_mode::shared;
  auto second = claim_for("a", 2, true);
  second.mode = claim_mode::shared;
  const auto one = at(0s).ask(reader, {});
  EXPECT_EQ(one.result, ask_result::granted);
  EXPECT_EQ(at(1ms).ask(second, {}).result, ask_result::granted);
  EXPECT_EQ(at(2ms).ask(claim_for("a", 3, true), {}).result, ask_result::in_line);
  auto late = claim_for("a", 4, true);
  late.mode = claim_mode::shared;
  EXPECT_EQ(at(3ms).ask(late, {}).result, ask_result::in_line);
  at(4ms).withdraw(*reader.name, reader.owner, 0);
  EXPECT_EQ(at(5ms).ask(claim_for("a", 3, true), {true, 0}).result, ask_result::in_line);
  at(6ms).withdraw(*second.name, second.owner, 0);
  EXPECT_EQ(at(7ms).ask(claim_for("a", 3, true), {true, 0}).result, ask_result::granted);
  at(8ms).withdraw(*second.name, owner_number(3), 0);
  EXPECT_EQ(at(9ms).ask(late, {true, 0}).result, ask_result::granted);
  at(10ms).withdraw(*late.name, late.owner, 0);
  EXPECT_EQ(rows_.find("a")->crowd, 0);
}

TEST_F(sqlite_clerk, permits_are_counted_and_another_n_is_a_conflict) {
  auto permit = [](std::uint8_t owner, std::int32_t k, std::int32_t n) {
    auto claim = claim_for("a", owner, true);
    claim.mode = claim_mode::permit;
    claim.permits = k;
    claim.of = n;
    return claim;
  };
  EXPECT_EQ(at(0s).ask(permit(1, 2, 3), {}).result, ask_result::granted);
  EXPECT_EQ(at(0s).ask(permit(2, 2, 3), {}).result, ask_result::in_line);
  EXPECT_EQ(at(0s).ask(permit(3, 1, 3), {}).result, ask_result::in_line) << "no overtaking";
  EXPECT_THROW(at(0s).ask(permit(4, 1, 5), {}), error);
  EXPECT_THROW(at(0s).ask(permit(4, 4, 3), {}), error);
  at(0s).withdraw(*permit(1, 2, 3).name, owner_number(1), 0);
  EXPECT_EQ(at(0s).ask(permit(2, 2, 3), {true, 0}).result, ask_result::granted);
  EXPECT_EQ(at(0s).ask(permit(3, 1, 3), {true, 0}).result, ask_result::granted);
}

TEST_F(sqlite_clerk, the_fence_ends_at_its_greatest_number) {
  base_.run("INSERT INTO locks (name, top, crowd) VALUES ('a', 9223372036854775807 - 4000, 0)");
  const auto last = at(0s).ask(claim_for("a", 1), {});
  EXPECT_EQ(last.result, ask_result::granted);
  EXPECT_EQ(last.mine.last, fence::max_value);
  at(0s).withdraw(*claim_for("a", 1).name, owner_number(1), 0);
  try {
    at(0s).ask(claim_for("a", 2), {});
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::fence_exhausted);
  }
  holder fresh{.owner = owner_number(3), .lease = 30s, .ends = time_point{} + 2h};
  EXPECT_FALSE(rows_.take_free("a", fresh)) << "the short way refuses it too";
}

TEST_F(sqlite_clerk, a_row_that_was_removed_leaves_its_fence_behind) {
  base_.run("INSERT INTO locks (name, top, crowd, since) VALUES ('a', 5000000000000000000, 0, 0)");
  sweep(base_, time_point{} + 1h);
  EXPECT_FALSE(rows_.find("a"));
  EXPECT_GT(at(0s).ask(claim_for("a", 1), {}).mine.first, 5000000000000000000);
  holder fresh{.owner = owner_number(3), .lease = 30s, .ends = time_point{} + 2h};
  EXPECT_GT(rows_.take_free("b", fresh).value(), 5000000000000000000);
}

TEST_F(sqlite_clerk, what_the_dead_left_on_a_name_that_nobody_wants_is_swept) {
  at(0s).ask(claim_for("held", 1), {});
  at(0s).ask(claim_for("waited for", 1), {});
  at(0s).ask(claim_for("waited for", 2, true), {});
  auto shared = claim_for("shared", 3);
  shared.mode = claim_mode::shared;
  at(0s).ask(shared, {});
  sweep(base_, time_point{} + 1h + 4s);
  EXPECT_TRUE(rows_.find("held")->alone) << "its lease is not over";
  EXPECT_EQ(rows_.find("waited for")->crowd, 0) << "the place in line is";
  EXPECT_EQ(rows_.find("shared")->crowd, 1);
  sweep(base_, time_point{} + 1h + 30s);
  EXPECT_FALSE(rows_.find("held")->alone);
  const auto nobody_shares = rows_.find("shared");
  EXPECT_TRUE(!nobody_shares || nobody_shares->crowd == 0);
  sweep(base_, time_point{} + 1h + 2min);
  for (const char* name : {"held", "waited for", "shared"}) EXPECT_FALSE(rows_.find(name)) << name;
}

TEST_F(sqlite_clerk, a_receipt_is_adopted_once) {
  const auto claim = claim_for("a", 1);
  const auto granted = at(0s).ask(claim, {});
  const seam::grant paper = proof_of(claim, granted.mine.first + 5);
  bool wanted = true;
  const auto next = claim_for("a", 2);
  const auto taken = at(1s).adopt(paper, next, wanted);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->first, granted.mine.first);
  EXPECT_FALSE(wanted);
  EXPECT_TRUE(at(1s).adopt(paper, next, wanted)) << "a repeated adopt finds its own work";
  EXPECT_FALSE(at(2s).adopt(paper, claim_for("a", 3), wanted));
}

TEST_F(sqlite_clerk, breaking_needs_the_owner_and_tells_it) {
  at(0s, 1).ask(claim_for("a", 1), {});
  EXPECT_FALSE(at(0s).break_lock(*claim_for("a", 1).name, owner_number(2)));
  clerk breaking = at(0s, 2);
  EXPECT_TRUE(breaking.break_lock(*claim_for("a", 1).name, owner_number(1)));
  ASSERT_EQ(breaking.take_notices().size(), 1U);
  EXPECT_EQ(at(0s).ask(claim_for("a", 3), {}).result, ask_result::granted);
}

}  // namespace
}  // namespace crosslock::sqlite
