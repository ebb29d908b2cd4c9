// The scripts against their specification: the memory engine and a real Redis are asked the same,
// and must answer the same, show the same holders and line, and wake the same waiters.
#include "engines/redis/engine.hpp"

#include "engine/registry.hpp"
#include "engines/memory/engine.hpp"
#include "memory_engine_rig.hpp"
#include "servers/redis_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;
using memory::name_of;
using memory::owner;
using memory::recording_turn;

/// One engine, and what has become of each claim by its answers and pushes.
struct side {
  recording_turn turn;
  std::unique_ptr<seam::engine> engine;
  std::map<owner_id, seam::grant> grants;
  std::size_t heard = 0;

  void take_pushes() {
    for (; heard < turn.grants.size(); ++heard) {
      grants[turn.grants[heard].owner] = turn.grants[heard];
    }
  }
};

std::string shown(const std::vector<claim_info>& claims, bool in_order) {
  std::vector<std::string> each;
  for (const claim_info& one : claims) {
    each.push_back(one.owner.to_string().substr(0, 4) + "/" +
                   std::to_string(static_cast<int>(one.mode)));
  }
  if (!in_order) std::ranges::sort(each);
  std::string text;
  for (const std::string& one : each) text += one + ' ';
  return text;
}

std::string shown(const lock_info& info) {
  return "in: " + shown(info.holders, false) + "line: " + shown(info.line, true);
}

class redis_likeness : public testing::Test {
 protected:
  redis_likeness() {
    memory_.engine =
        std::make_unique<memory::engine>(memory::shared_network("likeness", seam::real_clock()),
                                         memory_.turn, seam::real_clock(), "memory");
    address where;
    where.unix_path = server_.address().path;
    redis_.engine = std::make_unique<engine>(where, preferences{}, "redis", 20s, redis_.turn,
                                             seam::real_clock(), nullptr);
  }
  static time_point soon() { return seam::real_clock().now() + 10s; }

  /// What a call says: an answer in words, or the code of an error.
  template <class Call>
  static std::string said(Call&& call) {
    try {
      return call();
    } catch (const error& why) {
      return "error " + std::to_string(static_cast<int>(why.which()));
    }
  }
  static std::string ask(side& on, const seam::claim& claim) {
    return said([&] {
      const seam::answer answer = on.engine->ask(claim, soon());
      if (answer.result == seam::ask_result::granted) on.grants[claim.owner] = answer.granted;
      return std::to_string(static_cast<int>(answer.result));
    });
  }
  static std::string release(side& on, const owner_id& whom, const seam::name_ref& name) {
    const auto known = on.grants.find(whom);
    seam::grant grant = known == on.grants.end() ? seam::grant{} : known->second;
    grant.name = name;
    grant.owner = whom;
    return said(
        [&] { return std::to_string(static_cast<int>(on.engine->release(grant, soon()))); });
  }
  static std::string renew(side& on, const owner_id& whom, const seam::name_ref& name,
                           bool fences) {
    const auto known = on.grants.find(whom);
    seam::renewal one;
    if (known != on.grants.end()) one.held = known->second;
    one.held.name = name;
    one.held.owner = whom;
    one.lease = 1h;
    one.want_fences = fences;
    on.engine->renew({&one, 1}, soon());
    return std::to_string(static_cast<int>(one.outcome)) + (one.more_first.value() ? "f" : "") +
           (one.outcome == seam::renewal::result::renewed && one.wanted ? "w" : "");
  }

  /// The same call on both; then both must look alike, pushes included.
  template <class Call>
  void both(const std::string& what, const seam::name_ref& name, Call&& call) {
    story_ += what + "; ";
    ASSERT_EQ(call(memory_), call(redis_)) << story_;
    // What answers a push travels by itself: a moment later both are alike.
    const time_point end = soon();
    while (sight(memory_, *name) != sight(redis_, *name) && seam::real_clock().now() < end) {
      std::this_thread::yield();
    }
    ASSERT_EQ(sight(memory_, *name), sight(redis_, *name)) << story_;
    memory_.take_pushes();
    redis_.take_pushes();
  }
  static std::string sight(side& on, const lock_name& name) {
    return shown(on.engine->look(name, soon())) + "heard: " + pushes(on);
  }
  static std::string pushes(side& on) {
    std::multiset<std::string> sorted;
    std::string word;
    std::istringstream in{on.turn.heard()};
    for (std::string whom; in >> word >> whom;) sorted.insert(word + ' ' + whom);
    std::string all;
    for (const std::string& one : sorted) all += one + ", ";
    return all;
  }

  /// A wish at random.
  seam::claim newcomer(std::mt19937_64& dice, const seam::name_ref& name, std::uint32_t number) {
    seam::claim fresh{.name = name, .owner = owner(number), .lease = 1h};
    fresh.mode = static_cast<claim_mode>(dice() % 3);
    fresh.of = dice() % 12 == 0 ? 4 : 3;
    fresh.permits = 1 + static_cast<std::int32_t>(dice() % 4);
    if (fresh.mode != claim_mode::permit) fresh.of = fresh.permits = 1;
    fresh.wait = dice() % 5 != 0;
    return fresh;
  }

  /// Something happens to a claim; true when it is over.
  bool happens(std::uint64_t what, const seam::claim& claim) {
    const std::string whom = claim.owner.to_string().substr(0, 4);
    const seam::name_ref& name = claim.name;
    switch (what) {
      case 0:
      case 1:
        both("release " + whom, name, [&](side& on) { return release(on, claim.owner, name); });
        // Whoever waits goes on waiting; whoever held is gone.
        return memory_.grants.contains(claim.owner);
      case 2:
        both("withdraw " + whom, name, [&](side& on) {
          on.engine->withdraw(claim, soon());
          return std::string{};
        });
        return true;
      case 3:
        both("renew " + whom, name, [&](side& on) {
          return renew(on, claim.owner, name, claim.owner.bytes()[0] % 2 == 0);
        });
        return false;
      case 4:
        both("break " + whom, name, [&](side& on) {
          return std::to_string(on.engine->break_lock(*name, claim.owner, soon()));
        });
        return false;
      default:
        both("ask again " + whom, name, [&](side& on) { return ask(on, claim); });
        return false;
    }
  }

  void play(std::uint64_t seed) {
    std::mt19937_64 dice{seed};
    const seam::name_ref name = name_of("likeness/" + std::to_string(seed));
    story_ = "seed " + std::to_string(seed) + ": ";
    std::map<owner_id, seam::claim> claims;
    auto next = static_cast<std::uint32_t>(seed * 1000 + 1);
    for (int step = 0; step < 60 && !HasFatalFailure(); ++step) {
      if (claims.size() < 2 || (claims.size() < 9 && dice() % 3 == 0)) {
        const seam::claim fresh = newcomer(dice, name, next++);
        claims.emplace(fresh.owner, fresh);
        both("ask " + wish_word(fresh) + (fresh.wait ? "w" : ""), name,
             [&](side& on) { return ask(on, fresh); });
        continue;
      }
      auto chosen = claims.begin();
      std::advance(chosen, static_cast<std::ptrdiff_t>(dice() % claims.size()));
      const seam::claim claim = chosen->second;
      if (happens(dice() % 6, claim)) claims.erase(claim.owner);
    }
    for (const auto& [id, claim] : claims) {
      if (HasFatalFailure()) return;
      happens(2, claim);
    }
  }

  servers::redis_server server_;
  side memory_;
  side redis_;
  std::string story_;
};

TEST_F(redis_likeness, every_mode_by_the_one_line_rule) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFatalFailure(); ++seed) play(seed);
  // Nothing stays but fences.
  for (const auto& key : server_.say({"KEYS", "*"}).items) {
    EXPECT_NE(key.text.find(":fence:"), std::string::npos) << key.text;
  }
}

}  // namespace
}  // namespace crosslock::redis
