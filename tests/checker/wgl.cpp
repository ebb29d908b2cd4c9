// Depth-first over "which call comes next"; a configuration (set of calls done, state of the model)
// that failed once is not tried again.
#include "checker/wgl.hpp"

#include "checker/timeline.hpp"

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

namespace crosslock::checker {
namespace {

struct operation {
  enum class kind { acquire, release, refused_release, expire, downgrade };

  kind is;
  int owner;
  std::int64_t token;  ///< 0: not known
  std::int32_t permits;
  claim_mode mode;
  instant inv;
  instant ret;
  bool optional;
};

constexpr std::size_t operations_max = 2 * search_calls_max;
constexpr std::size_t configurations_max = 2'000'000;

class collector {
 public:
  std::vector<operation> run(const timeline& line, const std::string& lock) {
    for (const acquire_call& c : line.acquires) {
      if (c.about.lock == lock && c.outcome != phase::fail) {
        const bool sure = c.outcome == phase::ok;
        add(operation::kind::acquire, sure ? line.events[c.end_event] : c.about, c.inv,
            sure ? c.end : never, !sure);
      }
    }
    for (const attempt& a : line.attempts) {
      if (a.about.lock == lock && a.about.f == action::rel) {
        const bool refused = a.outcome == phase::fail;
        const bool sure = refused || a.outcome == phase::ok;
        add(refused ? operation::kind::refused_release : operation::kind::release, a.about, a.inv,
            sure ? a.end : never, !sure);
      }
    }
    for (const grant& g : line.grants) {
      if (g.lock() == lock) {
        add_end(g);
        // Perhaps its holder died in the middle of it.
        if (g.downgraded) add(operation::kind::downgrade, g.about, *g.downgraded, never, true);
      }
    }
    std::stable_sort(all_.begin(), all_.end(),
                     [](const operation& a, const operation& b) { return a.inv < b.inv; });
    return std::move(all_);
  }

 private:
  void add(operation::kind is, const event& e, instant inv, instant ret, bool optional) {
    const std::string who = e.req.empty() ? "process " + std::to_string(e.proc) : e.req;
    const int owner = owners_.try_emplace(who, static_cast<int>(owners_.size())).first->second;
    all_.push_back({is, owner, e.token, e.permits, e.mode, inv, ret, optional});
  }

  void add_end(const grant& g) {
    instant from = never;
    if (g.steps.back().deadline != 0) {
      from = {g.steps.back().deadline, 0};
    }
    if (!g.losses.empty()) {
      from = std::min(from, g.losses.front().first);
    }
    from = std::min(from, g.killed.value_or(never));
    if (from != never) {
      add(operation::kind::expire, g.about, from, never, true);
    }
  }

  std::map<std::string, int> owners_;
  std::vector<operation> all_;
};

struct mutex_model {
  int owner = -1;
  std::int64_t fence = 0;
  std::int64_t largest = 0;

  bool owned_by(const operation& o) const {
    return owner == o.owner && (fence == o.token || fence == 0 || o.token == 0);
  }

  std::optional<mutex_model> step(const operation& o) const {
    mutex_model next = *this;
    switch (o.is) {
      case operation::kind::acquire:
        if (owner == o.owner && fence == o.token) {
          return next;
        }
        if ((owner != -1 && !(owner == o.owner && fence == 0)) ||
            (o.token != 0 && o.token <= largest)) {
          return std::nullopt;
        }
        next.owner = o.owner;
        next.fence = o.token;
        next.largest = std::max(largest, o.token);
        return next;
      case operation::kind::release:
      case operation::kind::expire:
        if (!owned_by(o)) {
          return std::nullopt;
        }
        next.owner = -1;
        next.fence = 0;
        return next;
      case operation::kind::refused_release:
        return owned_by(o) ? std::nullopt : std::optional{next};
      case operation::kind::downgrade:
        return std::nullopt;
    }
    return std::nullopt;
  }

  std::string key() const {
    return std::to_string(owner) + "," + std::to_string(fence) + "," + std::to_string(largest);
  }
};

struct shared_model {
  struct holding {
    std::int64_t fence;
    claim_mode mode;
  };

  std::map<int, holding> held{};
  std::int64_t largest = 0;            ///< of all fences
  std::int64_t largest_of_writer = 0;  ///< of those given to writers

  bool free_for(const operation& o) const {
    return std::all_of(held.begin(), held.end(), [&](const auto& one) {
      return o.mode == claim_mode::shared && one.second.mode == claim_mode::shared;
    });
  }

  std::optional<shared_model> step(const operation& o) const {
    shared_model next = *this;
    const auto mine = next.held.find(o.owner);
    const bool owned = mine != next.held.end() &&
                       (mine->second.fence == o.token || o.token == 0 || mine->second.fence == 0);
    switch (o.is) {
      case operation::kind::acquire:
        if (mine != next.held.end()) {
          return mine->second.fence == o.token ? std::optional{next} : std::nullopt;
        }
        if (!free_for(o) ||
            (o.token != 0 &&
             o.token <= (o.mode == claim_mode::shared ? largest_of_writer : largest))) {
          return std::nullopt;
        }
        next.held[o.owner] = {o.token, o.mode};
        next.largest = std::max(largest, o.token);
        if (o.mode != claim_mode::shared) {
          next.largest_of_writer = std::max(largest_of_writer, o.token);
        }
        return next;
      case operation::kind::release:
      case operation::kind::expire:
        if (!owned) return std::nullopt;
        next.held.erase(mine);
        return next;
      case operation::kind::refused_release:
        return owned ? std::nullopt : std::optional{next};
      case operation::kind::downgrade:
        if (!owned || mine->second.mode == claim_mode::shared) return std::nullopt;
        mine->second.mode = claim_mode::shared;
        return next;
    }
    return std::nullopt;
  }

  std::string key() const {
    std::string text = std::to_string(largest) + "," + std::to_string(largest_of_writer);
    for (const auto& [owner, one] : held) {
      text += ";" + std::to_string(owner) + ":" + std::to_string(one.fence) +
              (one.mode == claim_mode::shared ? "s" : "x");
    }
    return text;
  }
};

struct permit_model {
  std::int32_t total = 0;
  std::int32_t used = 0;
  std::map<int, std::int32_t> held{};

  std::optional<permit_model> step(const operation& o) const {
    permit_model next = *this;
    const auto mine = next.held.find(o.owner);
    switch (o.is) {
      case operation::kind::acquire:
        if (mine != next.held.end()) {
          return next;
        }
        if (used + o.permits > total) {
          return std::nullopt;
        }
        next.used += o.permits;
        next.held[o.owner] = o.permits;
        return next;
      case operation::kind::release:
      case operation::kind::expire:
        if (mine == next.held.end()) {
          return std::nullopt;
        }
        next.used -= mine->second;
        next.held.erase(mine);
        return next;
      case operation::kind::refused_release:
        return mine != next.held.end() ? std::nullopt : std::optional{next};
      case operation::kind::downgrade:
        return std::nullopt;
    }
    return std::nullopt;
  }

  std::string key() const {
    std::string text;
    for (const auto& [owner, permits] : held) {
      text += std::to_string(owner) + ":" + std::to_string(permits) + ",";
    }
    return text;
  }
};

template <typename Model>
class search {
 public:
  explicit search(std::vector<operation> all) : all_{std::move(all)} {}

  search_result run(const Model& start) {
    const bool found = extend(start);
    return found       ? search_result::possible
           : given_up_ ? search_result::too_large
                       : search_result::impossible;
  }

 private:
  /// Tries every call that may come next; true when all that must happen has happened.
  bool extend(const Model& state) {
    if (tried_.size() >= configurations_max) {
      given_up_ = true;
      return false;
    }
    if (!tried_.insert(key_of(state)).second) {
      return false;
    }
    instant first_return = never;
    bool complete = true;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!done_[i] && !all_[i].optional) {
        complete = false;
        first_return = std::min(first_return, all_[i].ret);
      }
    }
    if (complete) {
      return true;
    }
    for (std::size_t i = 0; i < all_.size() && all_[i].inv <= first_return; ++i) {
      if (done_[i]) {
        continue;
      }
      if (const auto next = state.step(all_[i])) {
        done_.set(i);
        if (extend(*next)) {
          return true;
        }
        done_.reset(i);
      }
    }
    return false;
  }

  std::string key_of(const Model& state) const {
    std::string key((all_.size() + 7) / 8, '\0');
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (done_[i]) key[i / 8] = static_cast<char>(key[i / 8] | (1 << (i % 8)));
    }
    return key + state.key();
  }

  std::vector<operation> all_;
  std::bitset<operations_max> done_;
  std::unordered_set<std::string> tried_;
  bool given_up_ = false;
};

bool too_many(const timeline& line) {
  return line.acquires.size() + line.attempts.size() > search_calls_max;
}

}  // namespace

search_result search_mutex(const history& events, const std::string& lock, bool ties_in_order) {
  const timeline line{events, ties_in_order};
  if (too_many(line)) {
    return search_result::too_large;
  }
  return search<mutex_model>{collector{}.run(line, lock)}.run({});
}

search_result search_shared(const history& events, const std::string& lock, bool ties_in_order) {
  const timeline line{events, ties_in_order};
  if (too_many(line)) {
    return search_result::too_large;
  }
  return search<shared_model>{collector{}.run(line, lock)}.run({});
}

search_result search_permits(const history& events, const std::string& lock, bool ties_in_order) {
  const timeline line{events, ties_in_order};
  if (too_many(line)) {
    return search_result::too_large;
  }
  permit_model start;
  for (const acquire_call& c : line.acquires) {
    start.total = c.about.lock == lock ? c.about.of : start.total;
  }
  return search<permit_model>{collector{}.run(line, lock)}.run(start);
}

}  // namespace crosslock::checker
