// Upgrades and downgrades over rows: the transcripts of the memory server, as far as rows make a
// difference.
#include "engines/sqlite/clerk.hpp"
#include "engines/sqlite/schema.hpp"
#include "unit/sqlite_rig.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;

class sqlite_upgrade : public testing::Test {
 protected:
  /// Acts as the client of that number at a time of the test's own.
  clerk at(duration moment, client_number client = 1) {
    clerk acting{rows_, self_, time_point{} + 1h + moment};
    acting.act_for(client);
    return acting;
  }
  static seam::claim shared(std::uint8_t owner) {
    auto claim = claim_for("a", owner, true);
    claim.mode = claim_mode::shared;
    return claim;
  }
  static seam::claim upgrade(std::uint8_t owner, std::optional<std::uint8_t> beside,
                             bool wait = true) {
    auto claim = claim_for("a", owner, wait);
    claim.upgrade = true;
    if (beside) claim.beside = owner_number(*beside);
    return claim;
  }
  ask_outcome ask(duration moment, const seam::claim& claim) {
    return at(moment).ask(claim, {true, 0});
  }
  seam::release_answer release(duration moment, const seam::claim& claim, std::int64_t fence) {
    bool alone = false;
    return at(moment).release(proof_of(claim, fence), alone);
  }
  seam::renewal::result renew(duration moment, const seam::claim& claim, std::int64_t fence,
                              bool share = false) {
    seam::renewal item;
    item.held = proof_of(claim, fence);
    item.lease = claim.lease;
    item.share = share;
    clerk acting = at(moment);
    acting.renew(item);
    told_ = acting.take_notices().size();
    return item.outcome;
  }
  /// "1s 11x | 3": who holds how, and who waits.
  std::string scene(duration moment) {
    std::string text;
    const lock_info info = inspect(rows_, "a", self_, time_point{} + 1h + moment);
    for (const claim_info& one : info.holders) {
      text += std::to_string(one.owner.bytes()[0]);
      text += one.mode == claim_mode::exclusive ? "x "
              : one.mode == claim_mode::shared  ? "s "
                                                : "p ";
    }
    text += '|';
    for (const claim_info& one : info.line) text += ' ' + std::to_string(one.owner.bytes()[0]);
    return text;
  }
  errc refusal_of(duration moment, const seam::claim& claim) {
    try {
      ask(moment, claim);
    } catch (const error& why) {
      EXPECT_NE(std::string{why.what()}.find("'a'"), std::string::npos) << why.what();
      return why.which();
    }
    return errc{};
  }

  std::size_t told_ = 0;
  scratch dir_;
  rig rig_{dir_.file("locks.db")};
  database base_{dir_.file("locks.db"), durability::normal, seam::real_clock()};
  ledger rows_{base_};
  const process_id self_ = read_surroundings().self;
};

TEST_F(sqlite_upgrade, alone_it_is_granted_beside_the_shared_grant_which_ends_by_its_own_release) {
  const auto old = ask(0s, shared(1));
  EXPECT_EQ(ask(1ms, upgrade(11, std::nullopt, false)).result, ask_result::busy);
  const auto granted = ask(1ms, upgrade(11, 1));
  EXPECT_EQ(granted.result, ask_result::granted);
  EXPECT_GT(granted.mine.first, old.mine.last);
  EXPECT_EQ(ask(2ms, upgrade(11, 1)).mine.first, granted.mine.first) << "a repeat finds itself";
  EXPECT_EQ(scene(2ms), "1s 11x |");
  EXPECT_EQ(ask(3ms, shared(2)).result, ask_result::in_line);
  EXPECT_EQ(release(4ms, shared(1), old.mine.first), seam::release_answer::released);
  EXPECT_EQ(scene(4ms), "11x | 2");
  EXPECT_EQ(renew(5ms, upgrade(11, 1), granted.mine.first), seam::renewal::result::renewed);
  EXPECT_EQ(release(6ms, upgrade(11, 1), granted.mine.last), seam::release_answer::released);
  EXPECT_EQ(scene(6ms), "2s |");
  at(7ms).withdraw(*shared(2).name, owner_number(2), 0);
  EXPECT_EQ(rows_.find("a")->crowd, 0);
}

TEST_F(sqlite_upgrade, in_line_it_is_served_when_the_last_other_reader_goes) {
  const auto old = ask(0s, shared(1));
  const auto other = ask(0s, shared(2));
  EXPECT_EQ(ask(1ms, upgrade(11, std::nullopt)).result, ask_result::in_line);
  release(2ms, shared(2), other.mine.first);
  EXPECT_EQ(scene(2ms), "1s | 11") << "it has not named the grant it may stand beside";
  EXPECT_EQ(ask(3ms, shared(2)).result, ask_result::in_line) << "no reader overtakes it";
  EXPECT_EQ(ask(4ms, upgrade(11, 1)).result, ask_result::granted);
  EXPECT_EQ(scene(4ms), "1s 11x | 2");
  at(5ms).withdraw(*shared(1).name, owner_number(11), 0);
  EXPECT_EQ(scene(5ms), "1s 2s |") << "the shared grant goes on";
  EXPECT_EQ(renew(6ms, shared(1), old.mine.first), seam::renewal::result::renewed);
}

TEST_F(sqlite_upgrade,
       a_handover_to_it_is_an_offer_which_may_end_without_harm_to_the_shared_grant) {
  ask(0s, shared(1));
  const auto other = ask(0s, shared(2));
  ask(1ms, upgrade(11, 1));
  clerk giving = at(2ms, 2);
  bool alone = false;
  giving.release(proof_of(shared(2), other.mine.first), alone);
  EXPECT_EQ(giving.take_notices().size(), 1U);
  EXPECT_EQ(scene(2ms), "1s 11x |");
  EXPECT_EQ(ask(4s, claim_for("a", 3, true)).result, ask_result::in_line);
  EXPECT_EQ(scene(4s), "1s | 3");
}

TEST_F(sqlite_upgrade, the_second_of_two_is_refused_and_nothing_has_changed) {
  ask(0s, shared(1));
  ask(0s, shared(2));
  ask(1ms, upgrade(11, 1));
  EXPECT_EQ(refusal_of(2ms, upgrade(12, 2)), errc::upgrade_conflict);
  EXPECT_EQ(refusal_of(2ms, upgrade(12, 2, false)), errc::upgrade_conflict);
  EXPECT_EQ(scene(2ms), "1s 2s | 11");
  EXPECT_EQ(refusal_of(5s, upgrade(12, 2, false)), errc{}) << "the other's place has ended";
}

TEST_F(sqlite_upgrade, without_the_shared_grant_it_is_a_plain_claim_and_a_holder_conflicts) {
  const auto old = ask(0s, shared(1));
  release(1ms, shared(1), old.mine.first);
  const auto granted = ask(2ms, upgrade(11, 1));
  EXPECT_EQ(granted.result, ask_result::granted);
  EXPECT_TRUE(rows_.find("a")->alone) << "nobody holds it together with it";
  EXPECT_EQ(refusal_of(3ms, upgrade(12, 1)), errc::upgrade_conflict);
}

TEST_F(sqlite_upgrade, a_downgrade_keeps_owner_and_fences_and_lets_readers_in) {
  const auto writer = claim_for("a", 1);
  const auto first = ask(0s, writer);
  ask(1ms, shared(2));
  ask(1ms, shared(3));
  ask(1ms, claim_for("a", 4, true));
  EXPECT_EQ(renew(2ms, writer, first.mine.first - 1, true), seam::renewal::result::lost);
  EXPECT_EQ(renew(2ms, writer, first.mine.first, true), seam::renewal::result::renewed);
  EXPECT_EQ(told_, 2U);
  EXPECT_EQ(scene(2ms), "1s 2s 3s | 4");
  EXPECT_EQ(renew(3ms, writer, first.mine.last, true), seam::renewal::result::renewed);
  EXPECT_EQ(told_, 0U) << "once more changes nothing";
  EXPECT_EQ(scene(3ms), "1s 2s 3s | 4");
  EXPECT_EQ(release(4ms, writer, first.mine.first), seam::release_answer::released);
}

TEST_F(sqlite_upgrade, a_downgrade_with_a_lease_of_zero_leaves_what_is_left_of_it) {
  const auto held = ask(0s, claim_for("a", 1));
  auto fixed = claim_for("a", 1);
  fixed.lease = duration::zero();
  EXPECT_EQ(renew(10s, fixed, held.mine.first, true), seam::renewal::result::renewed);
  EXPECT_EQ(scene(30s - 1ns), "1s |");
  EXPECT_EQ(scene(30s), "|");
}

TEST_F(sqlite_upgrade, down_again_beside_the_shared_grant_and_up_once_more) {
  const auto old = ask(0s, shared(1));
  const auto higher = ask(1ms, upgrade(11, 1));
  EXPECT_EQ(renew(2ms, upgrade(11, 1), higher.mine.first, true), seam::renewal::result::renewed);
  EXPECT_EQ(scene(2ms), "1s 11s |");
  release(3ms, shared(1), old.mine.first);
  const auto highest = ask(4ms, upgrade(21, 11));
  EXPECT_EQ(highest.result, ask_result::granted);
  EXPECT_GT(highest.mine.first, higher.mine.last);
  EXPECT_EQ(scene(4ms), "11s 21x |");
}

TEST_F(sqlite_upgrade, a_permit_holder_cannot_be_downgraded) {
  auto permit = claim_for("a", 1);
  permit.mode = claim_mode::permit;
  permit.of = 2;
  const auto granted = ask(0s, permit);
  EXPECT_EQ(renew(1ms, permit, granted.mine.first, true), seam::renewal::result::lost);
  EXPECT_EQ(scene(1ms), "1p |");
}

TEST_F(sqlite_upgrade, what_has_ended_of_it_is_swept) {
  ask(0s, shared(1));
  ask(1ms, upgrade(11, 1));
  sweep(base_, time_point{} + 1h + 31s);
  EXPECT_EQ(base_.ask_number("SELECT count(*) FROM claims"), 0);
  EXPECT_EQ(base_.ask_number("SELECT coalesce(sum(crowd), 0) FROM locks"), 0);
}

}  // namespace
}  // namespace crosslock::sqlite
