// How often the first in our line looks at a lock of another library, which tells nobody when it
// lets go.
#pragma once

#include "engine/clock.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace crosslock::redis {

/// Every 10 ms finds whoever leaves a gap. Whoever finds another lock than at its last look has
/// been passed over: each eighth time it looks twice as often, and from the 32nd on again as soon
/// as it has been answered, as those do who never pause. But a lock that stays is not watched so
/// closely: looks are no less than a sixteenth of its time apart, up to 10 ms.
constexpr duration foreign_look(int passed_over, duration stands_for) noexcept {
  constexpr duration now_and_then = std::chrono::milliseconds{10};
  const int step = passed_over / 8;
  const duration wanted = step >= 4 ? duration::zero() : now_and_then / (1 << step);
  return std::clamp(stands_for / 16, wanted, now_and_then);
}

/// Whose lock the first in line has met at each name. Not thread-safe.
class foreign_turns {
 public:
  /// That one stands in the way. When to look again.
  duration meet(std::string_view name, std::string_view whose, time_point now) {
    forget_old(now);
    const auto found = names_.find(name);
    if (found == names_.end()) {
      names_.emplace(name, turn{.whose = std::string{whose}, .since = now, .seen = now});
      return foreign_look(0, {});
    }
    turn& at = found->second;
    if (at.whose != whose) {
      at.whose = whose;
      at.since = now;
      at.passed_over = std::min(at.passed_over + 1, 32);
    }
    at.seen = now;
    return foreign_look(at.passed_over, now - at.since);
  }

 private:
  struct turn {
    std::string whose;
    time_point since{};
    time_point seen{};
    int passed_over = 0;
  };

  /// Whoever has not been met for so long begins anew: ours have got in meanwhile, or gone.
  void forget_old(time_point now) {
    constexpr duration kept = std::chrono::seconds{1};
    if (now < sweep_at_) return;
    std::erase_if(names_, [&](const auto& each) { return now - each.second.seen > kept; });
    sweep_at_ = now + kept;
  }

  std::map<std::string, turn, std::less<>> names_;
  time_point sweep_at_{};
};

}  // namespace crosslock::redis
