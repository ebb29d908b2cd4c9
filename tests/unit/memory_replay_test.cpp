// Many seeds of a small world: requests, replies and pushes that arrive late, twice, never and in
// any order. Whoever believes to hold must be the holder on the server, and nobody else but those
// it shares with; also while grants are made shared, and exclusive again.
#include "memory_rig.hpp"

#include "line_rules/waiting_room.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

namespace crosslock::memory {
namespace {

using enum seam::ask_result;

constexpr duration lease = 3s;
constexpr client_id clients = 3;

/// What the core of a client keeps of one claim: the least that is needed to judge beliefs.
struct believer {
  client_id client = 0;
  seam::name_ref name;
  claim_mode mode = claim_mode::exclusive;
  std::uint32_t upgrade_of = 0;  ///< the claim whose shared grant this one stands beside
  bool upgrading = false;        ///< an upgrade of this one is under way: it is kept
  bool upgraded = false;         ///< it has become needless, and is released some time
  bool waits = true;
  bool over = false;      ///< released, withdrawn or busy: never asked for again
  time_point deadline{};  ///< believed to be held until then
  std::int64_t fence = 0;
  std::set<int> open_asks;  ///< whose replies are still awaited
};

class small_world {
 public:
  explicit small_world(std::uint64_t seed) : rng_{seed} {
    for (client_id client = 1; client <= clients; ++client) server_.connect(client);
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      check();
    }
  }

  int grants = 0;
  int pushed_grants = 0;
  int replayed = 0;
  int upgrades = 0;   ///< that were granted
  int given_up = 0;   ///< upgrades that were withdrawn while the shared hold went on
  int conflicts = 0;  ///< upgrades that were refused
  int downgrades = 0;

 private:
  struct message {
    client_id client = 0;
    std::uint32_t who = 0;
    int number = 0;  ///< of an ask
    time_point sent{};
    std::optional<request> asks;
    std::optional<reply> answers;
    std::optional<push> news;
  };

  std::uint64_t draw(std::uint64_t below) { return rng_() % below; }
  bool one_in(std::uint64_t n) { return draw(n) == 0; }

  void step() {
    switch (draw(12)) {
      case 0:
        return begin();
      case 1:
        return act_on_some_claim();
      case 2:
        now_ += duration{1ms} * static_cast<int>(draw(one_in(10) ? 3000 : 200));
        return;
      case 3:
        if (one_in(10)) toggle(1 + draw(clients));
        return;
      case 4:
        if (!sent_ever_.empty() && one_in(2)) {  // a copy of anything, at any later time
          ++replayed;
          in_transit_.push_back(sent_ever_[draw(sent_ever_.size())]);
          in_transit_.back().number = -1;
        }
        return;
      default:
        return deliver_one();
    }
  }

  void begin() {
    const std::uint32_t who = ++last_owner_;
    believer& mine = claims_[who];
    mine.client = 1 + draw(clients);
    mine.name = names_[draw(names_.size())];
    mine.waits = !one_in(4);
    if (one_in(2)) mine.mode = claim_mode::shared;
    ask(who);
  }

  void begin_upgrade(std::uint32_t from) {
    const std::uint32_t who = ++last_owner_;
    believer& mine = claims_[who];
    mine.client = claims_[from].client;
    mine.name = claims_[from].name;
    mine.waits = !one_in(4);
    mine.upgrade_of = from;
    claims_[from].upgrading = true;
    ask(who);
  }

  void ask(std::uint32_t who) {
    believer& mine = claims_[who];
    seam::claim claim{.name = mine.name,
                      .owner = owner(who),
                      .mode = mine.mode,
                      .permits = 1,
                      .of = 1,
                      .lease = lease,
                      .wait = mine.waits};
    claim.upgrade = mine.upgrade_of != 0;
    // While other threads use the shared grant it is not named.
    if (claim.upgrade && !one_in(4)) claim.beside = owner(mine.upgrade_of);
    if (mine.waits) room(mine).asking(name_of("stock"), owner(who));
    mine.open_asks.insert(++last_ask_);
    send(who, ask_request{claim, nullptr}, last_ask_);
  }

  void send(std::uint32_t who, request asked, int number = 0) {
    message fresh;
    fresh.client = claims_[who].client;
    fresh.who = who;
    fresh.number = number;
    fresh.sent = now_;
    fresh.asks = std::move(asked);
    sent_ever_.push_back(fresh);
    in_transit_.push_back(std::move(fresh));
  }

  void act_on_some_claim() {
    if (claims_.empty()) return;
    const auto who = 1 + static_cast<std::uint32_t>(draw(last_owner_));
    believer& mine = claims_[who];
    if (mine.over) return;
    const bool held = mine.deadline > now_;
    const bool lost = !held && mine.deadline != time_point{};
    if (held && mine.upgrading && one_in(8)) {
      return;
    }
    const bool may_upgrade = !mine.upgrading && !mine.upgraded && mine.mode == claim_mode::shared;
    if (held && may_upgrade && one_in(2)) {
      begin_upgrade(who);
    } else if (held && mine.mode == claim_mode::exclusive && one_in(4)) {
      downgrade(who);
    } else if (held && (mine.upgrading || one_in(2))) {
      send(who, renew_request{{{mine.name, owner(who), fence{mine.fence}, fence{mine.fence}, lease,
                                one_in(3)}}});
    } else if (held) {
      end(who);
      send(who, release_request{mine.name, owner(who), fence{mine.fence}});
    } else if (lost || one_in(6)) {
      if (mine.upgrade_of != 0 && claims_[mine.upgrade_of].deadline > now_) ++given_up;
      withdraw(who);
    } else if (!mine.open_asks.empty() && one_in(3)) {  // no answer in time
      mine.open_asks.erase(mine.open_asks.begin());
      if (mine.waits) room(mine).unanswered(owner(who));
    } else if (mine.waits) {
      ask(who);
    }
  }

  /// From the moment of sending on: the server may let others in at any time after it.
  void downgrade(std::uint32_t who) {
    believer& mine = claims_[who];
    mine.mode = claim_mode::shared;
    ++downgrades;
    send(who, renew_request{{{.name = mine.name,
                              .owner = owner(who),
                              .first = fence{mine.fence},
                              .last = fence{mine.fence},
                              .lease = lease,
                              .share = true}}});
  }

  void end(std::uint32_t who) {
    believer& mine = claims_[who];
    mine.over = true;
    mine.deadline = {};
    if (mine.upgrade_of != 0) claims_[mine.upgrade_of].upgrading = false;
    room(mine).forget(owner(who));
  }

  void withdraw(std::uint32_t who) {
    end(who);
    send(who, withdraw_request{claims_[who].name, owner(who), 0});
  }

  void toggle(client_id client) {
    if (unheard_.erase(client) != 0) {
      post(server_.connect(client));
    } else {
      unheard_.insert(client);
      server_.disconnect(client);
    }
  }

  void deliver_one() {
    if (in_transit_.empty()) return;
    const std::size_t index = draw(in_transit_.size());
    message one = in_transit_[index];
    if (!one_in(8)) in_transit_.erase(in_transit_.begin() + static_cast<std::ptrdiff_t>(index));
    if (one_in(10)) return;  // lost
    if (one.asks) {
      auto result = server_.apply(one.client, *one.asks, now_.time_since_epoch());
      post(std::move(result.pushes));
      one.asks.reset();
      one.answers = std::move(result.answer);
      in_transit_.push_back(std::move(one));
    } else if (one.answers) {
      hear(one);
    } else {
      hear(*one.news);
    }
  }

  void post(std::vector<push> pushes) {
    for (push& news : pushes) {
      message fresh;
      fresh.client = news.to;
      fresh.news = std::move(news);
      in_transit_.push_back(std::move(fresh));
    }
  }

  void hear(const message& one) {
    believer& mine = claims_[one.who];
    if (const auto* renewed = std::get_if<renew_reply>(&*one.answers)) {
      if (one.number == -1 || mine.over || mine.deadline <= now_) return;
      ASSERT_TRUE(renewed->outcomes.at(0).renewed) << "lost while held";
      mine.deadline = std::max(mine.deadline, one.sent + lease);
    }
    if (const auto* no = std::get_if<refusal>(&*one.answers)) return hear(one, *no);
    const auto* answer = std::get_if<ask_reply>(&*one.answers);
    if (answer == nullptr || mine.open_asks.erase(one.number) == 0) return;
    if (answer->result == granted) {
      if (mine.waits) room(mine).not_in_line(owner(one.who));
      take(one.who, answer->granted, one.sent);
    } else if (answer->result == busy) {
      if (mine.waits) room(mine).not_in_line(owner(one.who));
      if (!mine.waits) end(one.who);
    } else {
      const auto early = room(mine).in_line(owner(one.who), answer->ticket, one.sent, now_);
      if (mine.over) {
        withdraw(one.who);
      } else if (early) {
        take(one.who, {early->first, early->last, early->lease, early->wanted}, one.sent);
      }
    }
  }

  void hear(const message& one, const refusal& no) {
    believer& mine = claims_[one.who];
    if (mine.open_asks.erase(one.number) == 0) return;
    if (mine.waits) room(mine).not_in_line(owner(one.who));
    // A copy of an ask that was answered long ago may find a grant that is shared by now.
    const bool shared_since = no.code == errc::conflict && mine.mode == claim_mode::shared;
    ASSERT_TRUE(no.code == errc::upgrade_conflict || shared_since) << no.text;
    if (shared_since) return;
    ASSERT_NE(mine.upgrade_of, 0U);
    ++conflicts;
    withdraw(one.who);
  }

  void hear(const push& news) {
    if (news.what != push::kind::granted) return;
    const auto verdict = rooms_[news.to].judge(grant_in(news), now_);
    const auto who = number_of(news.owner);
    if (verdict.is == seam::waiting_room::worth::unknown) {
      send(who, withdraw_request{news.name, news.owner, news.ticket});
    } else if (verdict.is == seam::waiting_room::worth::counts) {
      ++pushed_grants;
      take(who, news.offer, verdict.sent);
    }
  }

  void take(std::uint32_t who, const given& given, time_point sent) {
    believer& mine = claims_[who];
    const bool lost_before = mine.deadline != time_point{} && mine.deadline <= now_;
    if (mine.over || lost_before || sent + given.lease <= now_) return withdraw(who);
    if (mine.deadline == time_point{}) {
      ++grants;
      mine.fence = given.first.value();
      note_fence(mine);
      if (mine.upgrade_of != 0) {
        ++upgrades;
        claims_[mine.upgrade_of].upgrading = false;
        claims_[mine.upgrade_of].upgraded = true;
      }
    }
    EXPECT_EQ(mine.fence, given.first.value()) << "a repeated grant has the same fence";
    mine.deadline = std::max(mine.deadline, sent + given.lease);
  }

  /// Fences rise from each hold to the next that conflicts with it.
  void note_fence(const believer& mine) {
    const bool fresh = fences_.emplace(mine.name->str(), mine.fence).second;
    EXPECT_TRUE(fresh) << "a fence was given twice";
    highest& seen = highest_[mine.name->str()];
    EXPECT_GT(mine.fence, seen.exclusive) << "an older fence came back";
    if (mine.mode != claim_mode::exclusive) {
      seen.any = std::max(seen.any, mine.fence);
      return;
    }
    EXPECT_GT(mine.fence, seen.any) << "an older fence came back";
    seen.exclusive = seen.any = mine.fence;
  }

  void check() {
    std::map<std::string, std::vector<std::uint32_t>> believing;
    for (const auto& [who, mine] : claims_) {
      if (mine.deadline > now_) believing[mine.name->str()].push_back(who);
    }
    for (const auto& [name, all] : believing) {
      auto copy = server_;
      const auto look = copy.apply(1, look_request{name_of(name)}, now_.time_since_epoch());
      const auto& holders = std::get<look_reply>(look.answer).info.holders;
      for (const std::uint32_t who : all) {
        const believer& mine = claims_[who];
        for (const std::uint32_t other : all) {
          // An upgrade stands beside one shared grant of its own client, and nobody else.
          ASSERT_TRUE(other == who || mine.mode == claim_mode::shared || mine.upgrade_of == other)
              << who << " holds " << name << " alone, and " << other << " holds it too";
        }
        const auto found = std::find_if(holders.begin(), holders.end(),
                                        [&](const auto& one) { return one.owner == owner(who); });
        ASSERT_NE(found, holders.end()) << who << " believes in vain";
        ASSERT_EQ(found->fence.value(), mine.fence);
        ASSERT_TRUE(mine.mode == claim_mode::shared || found->mode == claim_mode::exclusive);
      }
    }
  }

  static std::uint32_t number_of(const owner_id& owner) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number |= std::uint32_t{owner.bytes()[i]} << (8 * i);
    return number;
  }
  seam::waiting_room& room(const believer& mine) { return rooms_[mine.client]; }

  std::mt19937_64 rng_;
  time_point now_{1000s};
  server server_;
  const std::vector<seam::name_ref> names_{name_of("a"), name_of("b")};
  std::map<client_id, seam::waiting_room> rooms_;
  std::set<client_id> unheard_;
  std::map<std::uint32_t, believer> claims_;
  std::vector<message> in_transit_;
  std::vector<message> sent_ever_;
  struct highest {
    std::int64_t exclusive = 0;
    std::int64_t any = 0;
  };
  std::map<std::string, highest> highest_;
  std::set<std::pair<std::string, std::int64_t>> fences_;
  std::uint32_t last_owner_ = 0;
  int last_ask_ = 0;
};

TEST(memory_replay, whoever_believes_to_hold_is_the_only_holder) {
  int grants = 0;
  int pushed = 0;
  int replayed = 0;
  int upgrades = 0;
  int given_up = 0;
  int conflicts = 0;
  int downgrades = 0;
  for (std::uint64_t seed = 1; seed <= 1500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    small_world world{seed};
    world.run(600);
    grants += world.grants;
    pushed += world.pushed_grants;
    replayed += world.replayed;
    upgrades += world.upgrades;
    given_up += world.given_up;
    conflicts += world.conflicts;
    downgrades += world.downgrades;
  }
  EXPECT_GT(grants, 1000) << "the seeds must reach what they are to judge";
  EXPECT_GT(pushed, 300);
  EXPECT_GT(replayed, 1000);
  EXPECT_GT(upgrades, 300);
  EXPECT_GT(given_up, 100);
  EXPECT_GT(conflicts, 100);
  EXPECT_GT(downgrades, 300);
}

/// The server alone: what its own state must never show, whatever is asked and repeated.
TEST(memory_replay, one_holder_rising_fences_and_an_orderly_line) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng{seed};
    const auto draw = [&](std::uint32_t below) {
      return static_cast<std::uint32_t>(rng() % below);
    };
    rig on;
    std::vector<std::pair<client_id, request>> past;
    std::int64_t newest = 0;
    for (int i = 0; i < 300; ++i) {
      const std::uint32_t who = 1 + draw(6);
      const auto before = on.line();
      const auto held_before = on.holders();
      request message;
      if (!past.empty() && draw(3) == 0) {
        message = past[draw(static_cast<std::uint32_t>(past.size()))].second;
      } else {
        switch (draw(5)) {
          case 0:
            message = withdraw_request{on.name, owner(who), 0};
            break;
          case 1:
            message = release_request{on.name, owner(who), fence{newest}};
            break;
          case 2:
            message = renew_request{
                {{on.name, owner(who), fence{newest}, fence{newest}, on.lease, draw(2) == 0}}};
            break;
          default:
            message = ask_request{on.claim(who, draw(4) != 0), nullptr};
            break;
        }
      }
      past.emplace_back(who, message);
      const auto outcome = on.server_under_test.apply(who, message, on.now);
      const auto info = on.look();
      ASSERT_LE(info.holders.size(), 1U);
      ASSERT_TRUE(!info.holders.empty() || info.line.empty()) << "free although somebody waits";
      if (!info.holders.empty() && info.holders[0].fence.value() != newest) {
        ASSERT_GT(info.holders[0].fence.value(), newest);
        newest = info.holders[0].fence.value();
        if (!held_before.empty() && info.holders[0].owner == held_before[0]) continue;
        // Everybody who stood before the new holder in line has left by its own withdrawal.
        const auto place = std::find(before.begin(), before.end(), info.holders[0].owner);
        const auto* gone = std::get_if<withdraw_request>(&message);
        for (auto it = before.begin(); it != place; ++it) {
          ASSERT_TRUE(gone != nullptr && *it == gone->owner) << "somebody was overtaken";
        }
      }
      if (draw(4) == 0) on.now += std::chrono::milliseconds{draw(400)};
    }
  }
}

}  // namespace
}  // namespace crosslock::memory
