// The scripts against their specification: the memory engine and a real Redis are asked the same,
// and must answer the same, show the same holders and line, and wake the same waiters. Time passes
// on both by leaps, so that leases and places end and nobody has asked since.
#include "engines/redis/engine.hpp"

#include "engine/registry.hpp"
#include "engines/memory/engine.hpp"
#include "memory_engine_rig.hpp"
#include "servers/redis_server.hpp"
#include "stepped_time.hpp"

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
using memory::recorded_events;

/// One engine, and what has become of each claim by its answers and pushes.
struct side {
  recorded_events events;
  std::unique_ptr<seam::engine> engine;
  std::map<owner_id, seam::grant> grants;
  std::size_t heard = 0;

  void take_pushes() {
    for (; heard < events.grants.size(); ++heard) {
      grants[events.grants[heard].owner] = events.grants[heard];
    }
  }
};

std::string shown(const std::vector<claim_info>& claims, bool in_order) {
  std::vector<std::string> each;
  for (const claim_info& one : claims) {
    each.push_back(one.owner.to_string().substr(0, 4) + "/" +
                   std::to_string(static_cast<int>(one.mode)) + "/" + std::to_string(one.permits) +
                   "/" + std::to_string(one.of));
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
    memory_.engine = std::make_unique<memory::engine>(
        std::make_shared<memory::direct_network>(time_), memory_.events, time_, "memory");
    address where;
    where.unix_path = server_.address().path;
    redis_.engine = std::make_unique<engine>(where, preferences{}, "redis", 20s, redis_.events,
                                             time_, engine::log{});
  }
  time_point soon() const { return time_.now() + 10s; }

  /// What a call says: an answer in words, or the code of an error.
  template <class Call>
  static std::string said(Call&& call) {
    try {
      return call();
    } catch (const error& why) {
      return "error " + std::to_string(static_cast<int>(why.which()));
    }
  }
  std::string ask(side& on, const seam::claim& claim) {
    return said([&] {
      const seam::answer answer = on.engine->ask(claim, soon());
      const bool granted = answer.result == seam::ask_result::granted;
      if (granted) on.grants[claim.owner] = answer.granted;
      return std::to_string(static_cast<int>(answer.result)) +
             (granted && answer.granted.wanted ? "w" : "");
    });
  }
  std::string release(side& on, const owner_id& whom, const seam::name_ref& name) {
    const auto known = on.grants.find(whom);
    seam::grant grant = known == on.grants.end() ? seam::grant{} : known->second;
    grant.name = name;
    grant.owner = whom;
    return said(
        [&] { return std::to_string(static_cast<int>(on.engine->release(grant, soon()))); });
  }
  std::string renew(side& on, const owner_id& whom, const seam::name_ref& name, bool fences,
                    bool share = false) {
    const auto known = on.grants.find(whom);
    seam::renewal one;
    if (known != on.grants.end()) one.held = known->second;
    one.held.name = name;
    one.held.owner = whom;
    one.lease = 1h;
    one.want_fences = fences;
    one.share = share;
    on.engine->renew({&one, 1}, soon());
    return std::to_string(static_cast<int>(one.outcome)) + (one.more_first.value() ? "f" : "") +
           (one.outcome == seam::renewal::result::renewed && one.wanted ? "w" : "");
  }

  /// The same call on both; then both must look alike, pushes included.
  template <class Call>
  void both(const std::string& what, const seam::name_ref& name, Call&& call) {
    story_ += what + "; ";
    const std::string answer = call(memory_);
    ASSERT_EQ(answer, call(redis_)) << story_;
    upgrades_ += what.starts_with("upgrade") && answer.starts_with("0") ? 1 : 0;
    conflicts_ += answer == "error " + std::to_string(static_cast<int>(errc::upgrade_conflict));
    downgrades_ += what.starts_with("share") && answer.starts_with("0") ? 1 : 0;
    expect_alike(*name);
  }
  void expect_alike(const lock_name& name) {
    // What answers a push travels by itself: a moment later both are alike.
    const time_point end = soon();
    while (view_of(memory_, name) != view_of(redis_, name) && time_.now() < end) {
      std::this_thread::yield();
    }
    ASSERT_EQ(view_of(memory_, name), view_of(redis_, name)) << story_;
    ASSERT_EQ(wanted_pushes(memory_), wanted_pushes(redis_)) << story_;
    memory_.take_pushes();
    redis_.take_pushes();
  }
  /// Leases and places end on both. A look must show who goes in then, and change nothing: the
  /// requests that follow find everything as it was.
  void time_passes(std::chrono::seconds span, const lock_name& name) {
    story_ += std::to_string(span.count()) + " s; ";
    time_.pass(span);
    const auto changes = [&] { return server_.info("persistence", "rdb_changes_since_last_save"); };
    const std::int64_t before = changes();
    const std::string seen = view_of(redis_, name);
    ASSERT_EQ(view_of(memory_, name), seen) << story_;
    ASSERT_EQ(before, changes()) << story_;
    ++leaps_;
  }
  std::string view_of(side& on, const lock_name& name) {
    return shown(on.engine->look(name, soon())) + "heard: " + pushes(on);
  }
  /// Whoever has been told that others wait, and holds on, need not be told again: redis does not.
  static std::string pushes(side& on) {
    std::multiset<std::string> sorted;
    std::string word;
    std::istringstream in{on.events.heard()};
    for (std::string whom; in >> word >> whom;) {
      const std::string one = word + ' ' + whom;
      if (word != "wanted" || !sorted.contains(one)) sorted.insert(one);
    }
    std::string all;
    for (const std::string& one : sorted) all += one + ", ";
    return all;
  }
  /// Those who were told, with their grant, that others wait.
  static std::multiset<std::string> wanted_pushes(const side& on) {
    std::multiset<std::string> sorted;
    for (const seam::grant& one : on.events.grants) {
      if (one.wanted) sorted.insert(one.owner.to_string());
    }
    return sorted;
  }

  /// A claim at random.
  seam::claim newcomer(std::mt19937_64& dice, const seam::name_ref& name, std::uint32_t number) {
    seam::claim fresh{.name = name, .owner = owner(number), .lease = 1h};
    fresh.mode = static_cast<claim_mode>(dice() % 3);
    fresh.of = dice() % 12 == 0 ? 4 + static_cast<std::int32_t>(dice() % 2) : 3;
    fresh.permits = 1 + static_cast<std::int32_t>(dice() % 4);
    if (fresh.mode != claim_mode::permit) fresh.of = fresh.permits = 1;
    fresh.wait = dice() % 5 != 0;
    if (dice() % 3 == 0) fresh.lease = 15s;  // a place lasts for 1.5 s then
    return fresh;
  }

  /// An upgrade of somebody, who may hold the name shared, or not, or no longer.
  static seam::claim upgrade_of(std::mt19937_64& dice, const seam::claim& from,
                                std::uint32_t number) {
    seam::claim fresh = from;
    fresh.owner = owner(number);
    fresh.mode = claim_mode::exclusive;
    fresh.of = fresh.permits = 1;
    fresh.wait = dice() % 5 != 0;
    fresh.upgrade = true;
    fresh.beside.reset();
    if (dice() % 4 != 0) fresh.beside = from.owner;
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
      case 5:
        both("share " + whom, name,
             [&](side& on) { return renew(on, claim.owner, name, false, true); });
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
    const bool readers = seed % 2 == 0;  // few who share make upgrades likely to succeed
    const std::size_t most = readers ? 4 : 9;
    for (int step = 0; step < 60 && !HasFatalFailure(); ++step) {
      if (dice() % 12 == 0) time_passes(dice() % 3 == 0 ? 20s : 2s, *name);
      if (HasFatalFailure()) return;
      if (claims.size() < 2 || (claims.size() < most && dice() % 3 == 0)) {
        seam::claim fresh = newcomer(dice, name, next++);
        if (readers) {
          fresh.mode = dice() % 4 == 0 ? claim_mode::exclusive : claim_mode::shared;
          fresh.of = fresh.permits = 1;
        }
        claims.emplace(fresh.owner, fresh);
        both("ask " + demand_word(fresh) + (fresh.wait ? "w" : ""), name,
             [&](side& on) { return ask(on, fresh); });
        continue;
      }
      auto chosen = claims.begin();
      std::advance(chosen, static_cast<std::ptrdiff_t>(dice() % claims.size()));
      if (dice() % (readers ? 3 : 6) == 0 && claims.size() < most) {
        const seam::claim fresh = upgrade_of(dice, chosen->second, next++);
        claims.emplace(fresh.owner, fresh);
        both("upgrade " + asking_word(fresh), name, [&](side& on) { return ask(on, fresh); });
        continue;
      }
      seam::claim& claim = chosen->second;
      // Others begin to use the shared grant, or are done with it.
      if (claim.beside && dice() % 4 == 0) claim.beside.reset();
      if (claim.upgrade && dice() % 4 == 0) claim.beside = claims.begin()->first;
      if (happens(dice() % 7, claim)) claims.erase(chosen);
    }
    for (const auto& [id, claim] : claims) {
      if (HasFatalFailure()) return;
      happens(2, claim);
    }
  }

  stepped_time time_;
  servers::redis_server server_{{.through = time_.through()}};
  side memory_;
  side redis_;
  std::string story_;
  int upgrades_ = 0;
  int conflicts_ = 0;
  int downgrades_ = 0;
  int leaps_ = 0;
};

TEST_F(redis_likeness, every_mode_by_the_one_line_rule) {
  for (std::uint64_t seed = 1; seed <= 120 && !HasFatalFailure(); ++seed) play(seed);
  // The dice must reach what they are to judge.
  EXPECT_GT(upgrades_, 60);
  EXPECT_GT(conflicts_, 60);
  EXPECT_GT(downgrades_, 60);
  EXPECT_GT(leaps_, 300);
  // Nothing stays but fences, and the index of their names.
  for (const auto& key : server_.say({"KEYS", "*"}).items) {
    if (key.text == "crosslock:{names}") continue;
    EXPECT_NE(key.text.find(":fence:"), std::string::npos) << key.text;
  }
}

TEST_F(redis_likeness, watched_cells) {
  std::mt19937_64 dice{7};
  std::map<std::string, std::uint64_t> versions[2];
  story_ = "cells: ";
  for (std::uint32_t step = 1; step <= 300 && !HasFatalFailure(); ++step) {
    const seam::name_ref name = name_of("likeness/cell" + std::to_string(dice() % 3));
    const std::uint64_t what = dice() % 4;
    const std::int64_t token = static_cast<std::int64_t>(dice() % 3) + step / 50;
    const bool stale = dice() % 4 == 0;
    const bool erases = dice() % 4 == 0;
    both(std::to_string(what) + " " + name->str(), name, [&](side& on) {
      std::uint64_t& version = versions[&on == &memory_ ? 0 : 1][name->str()];
      if (what == 0) return on.engine->watch_cell(*name, 1h, soon()).value;
      if (what == 1) {
        const auto opened = on.engine->open_cell(*name, fence{token}, soon());
        return opened ? "opened " + opened->value : std::string{"shut out"};
      }
      const auto answer = on.engine->swap_cell({.name = name,
                                                .expected = stale ? 1 : version,
                                                .value = std::to_string(step),
                                                .writer = owner(step),
                                                .token = fence{token},
                                                .erase = erases},
                                               soon());
      if (answer.outcome == seam::swap_answer::result::swapped) version = answer.now.version;
      return std::to_string(static_cast<int>(answer.outcome)) + answer.now.value;
    });
  }
  EXPECT_NE(redis_.events.heard().find("cell_changed"), std::string::npos);
  // What is there stays, and what was erased is remembered for a while.
  for (const auto& key : server_.say({"KEYS", "*:cell:*"}).items) {
    const bool lives = server_.say({"HEXISTS", key.text, "highest"}).text == "1";
    EXPECT_EQ(server_.say({"PTTL", key.text}).text == "-1", lives) << key.text;
  }
  // What is still watched is gone with the client.
  redis_.engine->close();
  EXPECT_TRUE(server_.say({"KEYS", "*:watch:*"}).items.empty());
}

}  // namespace
}  // namespace crosslock::redis
