// The two judges must agree: what the exhaustive search finds impossible, the sweeps refuse.
#include "checker/wgl.hpp"
#include "unit/checker_story.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace crosslock::checker {
namespace {

using rng = std::mt19937_64;

int pick(rng& random, int low, int high) {
  return std::uniform_int_distribution<int>{low, high}(random);
}

/// A lock server that carries out one call after another. Each call takes effect at one moment and
/// is told with a beginning before it and an end after it. Total 0: a mutex.
class correct_server {
 public:
  correct_server(std::uint64_t seed, int total) : random_{seed}, total_{total} {
    if (total_ > 0) {
      told_.permits(1, total_);
    }
  }

  history run(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ += pick(random_, 1, 6);
      expire();
      client& c = clients_[static_cast<std::size_t>(pick(random_, 0, clients - 1))];
      if (c.free_from > now_) {
        continue;
      }
      c.token == 0 ? ask(c) : give_back(c);
    }
    now_ += 100;
    expire();
    return told_.events;
  }

 private:
  static constexpr int clients = 4;

  struct client {
    int proc;
    std::int64_t free_from = 0;  ///< its last call was answered then
    std::int64_t token = 0;
    std::int64_t deadline = 0;   ///< 0: none
    int permits = 1;
  };

  std::int64_t begin(const client& c) {
    return std::max(c.free_from, now_ - pick(random_, 0, 12));
  }
  std::int64_t end(client& c) { return c.free_from = now_ + pick(random_, 0, 12); }

  int used() const {
    int sum = 0;
    for (const client& c : clients_) {
      sum += c.token == 0 ? 0 : c.permits;
    }
    return sum;
  }

  void shape(const client& c) {
    if (total_ > 0) {
      told_.permits(c.permits, total_);
    }
  }

  void ask(client& c) {
    c.permits = total_ > 0 ? pick(random_, 1, total_) : 1;
    const bool room = used() + c.permits <= std::max(total_, 1);
    const std::int64_t inv = begin(c);
    next_ += pick(random_, 1, 3);
    shape(c);
    told_.asks(c.proc, inv, next_);
    const int luck = pick(random_, 0, 9);
    if (luck == 0) {  // the request was lost; the process goes on under a new name
      told_.answered(c.proc, end(c), phase::info, next_);
      c.proc += clients;
    } else if (room) {
      c.token = next_;
      const std::int64_t ok = end(c);
      c.deadline = luck < 4 ? ok + pick(random_, 1, 25) : 0;
      told_.granted(c.proc, ok, c.token, c.deadline);
    } else {
      told_.answered(c.proc, end(c), phase::fail, next_);
    }
  }

  void give_back(client& c) {
    if (c.deadline != 0) {
      return;  // some leases are left to run out
    }
    if (pick(random_, 0, 4) == 0) {
      steal(c);
      return;
    }
    const std::int64_t inv = begin(c);
    shape(c);
    told_.releases(c.proc, inv, end(c), c.token);
    c.token = 0;
  }

  void steal(const client& victim) {
    for (const phase ph : {phase::inv, phase::fail}) {
      event e = story::blank(90, now_ + (ph == phase::inv ? 0 : 3), ph, action::rel, victim.token);
      e.req = "thief" + std::to_string(now_);
      told_.put(std::move(e));
    }
  }

  void expire() {
    for (client& c : clients_) {
      if (c.token == 0 || c.deadline == 0 || c.deadline > now_) {
        continue;
      }
      shape(c);
      told_.lost(c.proc, c.deadline, c.token);
      if (pick(random_, 0, 2) == 0) {
        const std::int64_t inv = std::max(c.deadline, begin(c));
        told_.releases(c.proc, inv, std::max(inv, end(c)), c.token, phase::fail);
      }
      c.token = 0;
      c.deadline = 0;
    }
  }

  rng random_;
  const int total_;
  story told_;
  std::int64_t now_ = 0;
  std::int64_t next_ = 0;
  std::vector<client> clients_{{1}, {2}, {3}, {4}};
};

/// All that the search can see is switched on.
check_options strictest() {
  check_options how;
  how.tokens_in_grant_order = true;
  how.owner_never_refused = true;
  return how;
}

history correct(std::uint64_t seed, int total) { return correct_server{seed, total}.run(40); }

/// Exchanges the tokens of two claims everywhere.
void swap_tokens(history& events, rng& random) {
  std::vector<std::int64_t> tokens;
  for (const event& e : events) {
    if (e.f == action::acq && e.ph == phase::ok) {
      tokens.push_back(e.token);
    }
  }
  if (tokens.size() < 2) {
    return;
  }
  const int last = static_cast<int>(tokens.size()) - 1;
  const std::int64_t a = tokens[static_cast<std::size_t>(pick(random, 0, last))];
  const std::int64_t b = tokens[static_cast<std::size_t>(pick(random, 0, last))];
  for (event& e : events) {
    e.token = e.token == a ? b : e.token == b ? a : e.token;
  }
}

/// Moves all events of one claim.
void shift_claim(history& events, rng& random) {
  const std::string req =
      events[static_cast<std::size_t>(pick(random, 0, static_cast<int>(events.size()) - 1))].req;
  const std::int64_t by = pick(random, -40, 40) * story::ms;
  for (event& e : events) {
    if (e.req == req) {
      e.t += by;
      e.deadline += e.deadline == 0 ? 0 : by;
    }
  }
}

void shift_event(history& events, rng& random) {
  event& e = events[static_cast<std::size_t>(pick(random, 0, static_cast<int>(events.size()) - 1))];
  e.t += pick(random, -25, 25) * story::ms;
}

/// A refusal becomes a success, or the other way round.
void turn_release(history& events, rng& random) {
  std::vector<event*> answers;
  for (event& e : events) {
    if (e.f == action::rel && (e.ph == phase::ok || e.ph == phase::fail)) {
      answers.push_back(&e);
    }
  }
  if (!answers.empty()) {
    const int last = static_cast<int>(answers.size()) - 1;
    event& e = *answers[static_cast<std::size_t>(pick(random, 0, last))];
    e.ph = e.ph == phase::ok ? phase::fail : phase::ok;
  }
}

history mutated(history events, std::uint64_t seed) {
  rng random{seed * 7919 + 1};
  for (int times = pick(random, 1, 2); times > 0; --times) {
    switch (pick(random, 0, 3)) {
      case 0: swap_tokens(events, random); break;
      case 1: shift_claim(events, random); break;
      case 2: shift_event(events, random); break;
      default: turn_release(events, random); break;
    }
  }
  return events;
}

std::string as_text(const history& events) {
  std::string text;
  for (const event& e : merge({events})) {
    text += to_json(e) + "\n";
  }
  return text;
}

search_result search_for(const history& events, int total) {
  return total > 0 ? search_permits(events, "stock") : search_mutex(events, "stock");
}

constexpr std::uint64_t seeds = 2000;

class two_judges : public ::testing::TestWithParam<int> {};

TEST_P(two_judges, both_accept_what_a_correct_server_did) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const history events = correct(seed, GetParam());
    ASSERT_EQ(search_for(events, GetParam()), search_result::possible)
        << "seed " << seed << "\n" << as_text(events);
    const verdict v = check(events, strictest());
    ASSERT_TRUE(v.kept()) << "seed " << seed << "\n" << v.to_string() << as_text(events);
  }
}

TEST_P(two_judges, the_sweeps_refuse_whatever_the_search_finds_impossible) {
  int impossible = 0;
  int both_accept = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const history events = mutated(correct(seed, GetParam()), seed);
    const search_result found = search_for(events, GetParam());
    ASSERT_NE(found, search_result::too_large) << "seed " << seed;
    const std::set<invariant> broken = check(events, strictest()).broken();
    both_accept += broken.empty() ? 1 : 0;
    if (found == search_result::impossible) {
      ++impossible;
      const bool refused = broken.contains(invariant::record) ||
                           broken.contains(invariant::exclusion) ||
                           broken.contains(invariant::fencing) || broken.contains(invariant::owner);
      ASSERT_TRUE(refused) << "seed " << seed << "\n" << as_text(events);
    }
  }
  EXPECT_GT(impossible, 200);
  EXPECT_GT(both_accept, 200);
}

INSTANTIATE_TEST_SUITE_P(mutex_and_permits, two_judges, ::testing::Values(0, 1, 3));

TEST(search, finds_the_order_of_overlapping_calls) {
  const story told = story{}.holds(1, 0, 20, 2).holds(2, 1, 10, 1).releases(2, 11, 12, 1);
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::possible);
}

TEST(search, sees_a_release_by_another) {
  story told;
  told.holds(1, 0, 1, 5);
  for (const phase ph : {phase::inv, phase::ok}) {
    event e = story::blank(2, ph == phase::inv ? 3 : 4, ph, action::rel, 5);
    e.req = "thief";
    told.put(std::move(e));
  }
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::impossible);
}

TEST(search, sees_a_fence_that_falls) {
  const story told = story{}.holds(1, 0, 1, 5).releases(1, 2, 3, 5).holds(2, 4, 5, 4);
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::impossible);
}

TEST(search, lets_an_unknown_acquire_happen_or_not) {
  story told;
  told.asks(1, 0, 5).answered(1, 1, phase::info, 5);
  EXPECT_EQ(search_mutex(story{told}.holds(2, 2, 3, 6).events, "stock"), search_result::possible);
  EXPECT_EQ(search_mutex(story{told}.releases(1, 2, 3, 5).events, "stock"),
            search_result::possible);
}

TEST(search, lets_an_unknown_release_happen_late) {
  const story told = story{}.holds(1, 0, 1, 5).releases(1, 2, 3, 5, phase::info).holds(2, 50, 60, 6);
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::possible);
}

TEST(search, counts_permits) {
  story told;
  told.permits(2, 3).holds(1, 0, 1, 1).permits(1, 3).holds(2, 0, 1, 2);
  EXPECT_EQ(search_permits(told.events, "stock"), search_result::possible);
  told.holds(3, 2, 3, 3);
  EXPECT_EQ(search_permits(told.events, "stock"), search_result::impossible);
}

TEST(search, refuses_to_start_on_large_histories) {
  story told;
  for (int i = 1; i <= 101; ++i) {
    told.holds(1, 10 * i, 10 * i + 1, i).releases(1, 10 * i + 2, 10 * i + 3, i);
  }
  EXPECT_EQ(search_mutex(told.events, "stock"), search_result::too_large);
}

}  // namespace
}  // namespace crosslock::checker
