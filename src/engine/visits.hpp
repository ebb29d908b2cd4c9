// Threads that bring news to a client which may close meanwhile.
#pragma once

#include "engine/clock.hpp"

#include <atomic>
#include <cstdint>

namespace crosslock::seam {

/// Somebody who is visited, and does not end before the visitors have gone. Thread-safe. A visitor
/// keeps it alive by other means: it is touched for a moment after it was seen to be alone.
class visited {
 public:
  explicit visited(clock& clock) noexcept : clock_{clock} {}
  visited(const visited&) = delete;
  visited& operator=(const visited&) = delete;

  /// This thread is with it.
  bool is_visited_here() const noexcept { return visits_here() > 0; }
  /// Nobody is welcome from now on.
  void take_leave() noexcept { left_.store(true); }
  /// Waits until nobody is with it any more but this thread itself.
  void await_alone() {
    const std::uint32_t here = visits_here();
    for (std::uint32_t seen = visits_.load(); seen > here; seen = visits_.load()) {
      clock_.park(visits_, seen, time_point::max());
    }
  }
  bool is_alone() const noexcept { return visits_.load() == 0; }

 protected:
  ~visited() = default;

 private:
  friend class visit;
  std::uint32_t visits_here() const noexcept;

  clock& clock_;
  park_word visits_{0};
  std::atomic<bool> left_{false};
};

/// Lives on the stack of the visitor.
class visit {
 public:
  explicit visit(visited& whom) noexcept : whom_{whom}, before_{current} {
    whom_.visits_.fetch_add(1);
    welcome_ = !whom_.left_.load();
    current = this;
  }
  ~visit() {
    current = before_;
    whom_.visits_.fetch_sub(1);
    if (whom_.left_.load()) whom_.clock_.unpark(whom_.visits_);
  }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  explicit operator bool() const noexcept { return welcome_; }

 private:
  friend class visited;
  visited& whom_;
  const visit* const before_;
  bool welcome_ = false;
  static thread_local constinit const visit* current;
};

inline thread_local constinit const visit* visit::current = nullptr;

inline std::uint32_t visited::visits_here() const noexcept {
  std::uint32_t count = 0;
  for (const visit* each = visit::current; each != nullptr; each = each->before_) {
    if (&each->whom_ == this) ++count;
  }
  return count;
}

}  // namespace crosslock::seam
