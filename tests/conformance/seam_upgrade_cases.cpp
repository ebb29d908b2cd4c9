// A shared grant becomes exclusive, and an exclusive one shared. Asked of the seam itself: what the
// locks above make of it has cases of its own.
#include "client/core.hpp"
#include "conformance/fixture.hpp"

#include <optional>
#include <string>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;

class upgrades : public conformance_case {
 protected:
  /// On an engine that cannot share there is nothing to upgrade.
  void play_with_readers(const std::function<void()>& body) {
    play([&] {
      if (stage().traits().shared) body();
    });
  }

  seam::claim claim_of(claim_mode mode, bool wait = false) {
    owner_id::bytes_type id{};
    stage().clock().fill_random(id);
    seam::claim made{.name = std::make_shared<const lock_name>("stock"), .owner = owner_id{id}};
    made.mode = mode;
    made.lease = 30s;
    made.wait = wait;
    return made;
  }
  seam::claim upgrade_of(const seam::claim& reader, bool wait = false) {
    seam::claim made = claim_of(claim_mode::exclusive, wait);
    made.upgrade = true;
    made.beside = reader.owner;
    return made;
  }

  static time_point soon(const client& locks) { return locks.core()->clock().now() + 5s; }
  static seam::answer ask(const client& locks, const seam::claim& claim) {
    return locks.core()->engine().ask(claim, soon(locks));
  }
  static void withdraw(const client& locks, const seam::claim& claim) {
    locks.core()->engine().withdraw(claim, soon(locks));
  }
  static bool release(const client& locks, const seam::grant& grant) {
    return locks.core()->engine().release(grant, soon(locks)) == seam::release_answer::released;
  }
  static bool renew(const client& locks, const seam::grant& grant, bool share = false) {
    seam::renewal item;
    item.held = grant;
    item.lease = 30s;
    item.share = share;
    locks.core()->engine().renew({&item, 1}, soon(locks));
    return item.outcome == seam::renewal::result::renewed;
  }
  /// "sx": the modes of the holders, shared ones first.
  static std::string holders(const client& locks) {
    std::string shared;
    std::string others;
    for (const claim_info& one : locks.look("stock").holders) {
      if (one.mode == claim_mode::shared) shared += 's';
      if (one.mode == claim_mode::exclusive) others += 'x';
    }
    return shared + others;
  }
};
CONFORMANCE_ON_EVERY_STAGE(upgrades);

TEST_P(upgrades, it_is_granted_beside_the_shared_grant_which_ends_by_its_own_release) {
  play_with_readers([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const auto reader = claim_of(claim_mode::shared);
    const auto old = ask(locks, reader);
    ASSERT_EQ(old.result, ask_result::granted);
    const auto writer = upgrade_of(reader);
    const auto upgraded = ask(locks, writer);
    ASSERT_EQ(upgraded.result, ask_result::granted);
    EXPECT_GT(upgraded.granted.first, old.granted.last);
    EXPECT_EQ(ask(locks, writer).granted.first, upgraded.granted.first) << "asked again";
    EXPECT_EQ(holders(others), "sx");
    EXPECT_EQ(ask(others, claim_of(claim_mode::shared)).result, ask_result::busy);
    EXPECT_TRUE(renew(locks, old.granted));
    EXPECT_TRUE(release(locks, old.granted));
    EXPECT_EQ(holders(others), "x");
    EXPECT_TRUE(renew(locks, upgraded.granted));
    EXPECT_EQ(ask(others, claim_of(claim_mode::shared)).result, ask_result::busy);
    EXPECT_TRUE(release(locks, upgraded.granted));
    EXPECT_EQ(holders(others), "");
  });
}

TEST_P(upgrades, one_that_is_withdrawn_leaves_the_shared_grant_as_it_was) {
  play_with_readers([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const auto reader = claim_of(claim_mode::shared);
    const auto old = ask(locks, reader);
    const auto writer = upgrade_of(reader);
    ASSERT_EQ(ask(locks, writer).result, ask_result::granted);
    withdraw(locks, writer);
    withdraw(locks, writer);
    EXPECT_EQ(holders(others), "s");
    const auto other = ask(others, claim_of(claim_mode::shared));
    EXPECT_EQ(other.result, ask_result::granted);
    EXPECT_EQ(ask(locks, upgrade_of(reader)).result, ask_result::busy) << "others share";
    EXPECT_TRUE(renew(locks, old.granted));
    EXPECT_TRUE(release(others, other.granted));
    EXPECT_TRUE(release(locks, old.granted));
  });
}

TEST_P(upgrades, behind_another_exclusive_claim_it_is_refused_at_once) {
  play_with_readers([this] {
    if (!stage().traits().first_come) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    const auto reader = claim_of(claim_mode::shared);
    const auto old = ask(locks, reader);
    const auto first = claim_of(claim_mode::exclusive, true);
    ASSERT_EQ(ask(others, first).result, ask_result::in_line);
    for (const bool waits : {true, false}) {
      EXPECT_EQ(code_of([&] { (void)ask(locks, upgrade_of(reader, waits)); }),
                errc::upgrade_conflict);
    }
    EXPECT_EQ(holders(others), "s");
    EXPECT_TRUE(renew(locks, old.granted));
    withdraw(others, first);
    const auto upgraded = ask(locks, upgrade_of(reader));
    EXPECT_EQ(upgraded.result, ask_result::granted) << "the other has gone";
    EXPECT_TRUE(release(locks, upgraded.granted));
    EXPECT_TRUE(release(locks, old.granted));
  });
}

TEST_P(upgrades, a_downgrade_keeps_the_fence_and_lets_readers_in_and_no_writer) {
  play_with_readers([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    const auto held = ask(locks, claim_of(claim_mode::exclusive));
    ASSERT_EQ(held.result, ask_result::granted);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(renew(locks, held.granted, true)) << "may be repeated";
    const lock_info seen = others.look("stock");
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].fence, held.granted.first);
    EXPECT_EQ(seen.holders[0].mode, claim_mode::shared);
    EXPECT_EQ(ask(others, claim_of(claim_mode::exclusive)).result, ask_result::busy);
    const auto other = ask(others, claim_of(claim_mode::shared));
    EXPECT_EQ(other.result, ask_result::granted);
    EXPECT_TRUE(renew(locks, held.granted));
    EXPECT_TRUE(release(others, other.granted));
    EXPECT_TRUE(release(locks, held.granted));
    EXPECT_FALSE(renew(locks, held.granted, true)) << "it never creates";
    EXPECT_EQ(holders(others), "");
  });
}

}  // namespace
}  // namespace crosslock::conformance
