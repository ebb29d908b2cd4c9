// Random histories of a correct lock server, and ways to spoil them.
#pragma once

#include "unit/checker_story.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace crosslock::checker {

using rng = std::mt19937_64;

inline int pick(rng& random, int low, int high) {
  return std::uniform_int_distribution<int>{low, high}(random);
}

/// A lock server that carries out one call after another. Each call takes effect at one moment and
/// is told with a beginning before it and an end after it. Total 0: a mutex; below: readers and
/// writers.
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
    std::int64_t deadline = 0;  ///< 0: none
    int permits = 1;
    bool reads = false;
    bool downgraded = false;  ///< reads, but stands in the history as a writer
  };

  std::int64_t begin(const client& c) { return std::max(c.free_from, now_ - pick(random_, 0, 12)); }
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
    } else if (c.reads && !c.downgraded) {
      told_.shared();
    } else {
      told_.exclusive();
    }
  }

  bool room_for(const client& c) const {
    return used() + c.permits <= std::max(total_, 1) ||
           (c.reads && std::all_of(clients_.begin(), clients_.end(), [](const client& other) {
              return other.token == 0 || other.reads;
            }));
  }

  void ask(client& c) {
    c.permits = total_ > 0 ? pick(random_, 1, total_) : 1;
    c.reads = total_ < 0 && pick(random_, 0, 2) > 0;
    c.downgraded = false;
    const bool room = room_for(c);
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
    if (total_ < 0 && !c.reads && pick(random_, 0, 2) == 0) {
      told_.downgrades(c.proc, inv, end(c), c.token);
      c.reads = c.downgraded = true;
      return;
    }
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

/// Exchanges the tokens of two claims everywhere.
inline void swap_tokens(history& events, rng& random) {
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
inline void shift_claim(history& events, rng& random) {
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

inline void shift_event(history& events, rng& random) {
  event& e = events[static_cast<std::size_t>(pick(random, 0, static_cast<int>(events.size()) - 1))];
  e.t += pick(random, -25, 25) * story::ms;
}

/// A refusal becomes a success, or the other way round.
inline void turn_release(history& events, rng& random) {
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

inline history mutated(history events, std::uint64_t seed) {
  rng random{seed * 7919 + 1};
  for (int times = pick(random, 1, 2); times > 0; --times) {
    switch (pick(random, 0, 3)) {
      case 0:
        swap_tokens(events, random);
        break;
      case 1:
        shift_claim(events, random);
        break;
      case 2:
        shift_event(events, random);
        break;
      default:
        turn_release(events, random);
        break;
    }
  }
  return events;
}

}  // namespace crosslock::checker
