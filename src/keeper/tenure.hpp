// One claim of this client on the server, from the ask to the end of its grant.
#pragma once

#include "engine/claim.hpp"
#include "engine/recycling.hpp"

#include <crosslock/observer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace crosslock::inner {

class tenure;

/// Who is told what becomes of a tenure: the local line. Called without any keeper mutex.
class tenure_listener {
 public:
  virtual ~tenure_listener() = default;
  virtual void lost(tenure& tenure, loss_reason reason) noexcept = 0;
  virtual void renewed(tenure& tenure, const seam::renewal& renewal) noexcept = 0;
};

/// Made when a claim first goes to the server; the line adds what it needs. The line owns what is
/// not atomic; the keeper owns the places in its heaps.
class tenure {
 public:
  enum class state : std::uint8_t { asking, kept, lost, ended };

  virtual ~tenure() = default;

  seam::claim claim;
  bool fixed = false;  ///< a fixed lease: never renewed, never passed
  std::weak_ptr<tenure_listener> listener;

  // Set when granted, constant afterwards.
  seam::grant grant;

  // Read and written by many threads.
  std::atomic<state> now_is{state::asking};
  std::atomic<duration::rep> deadline_ns{0};
  std::atomic<duration::rep> held_since_ns{0};  ///< when the present hold began, for max_hold
  std::atomic<bool> want_fences{false};
  std::atomic<bool> share{false};  ///< downgraded, and the server has not confirmed it yet

  // Guarded by the keeper's mutex: where it stands in the two heaps, and what it last tried.
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  std::size_t place_in_alarms = nowhere;
  std::size_t place_in_renewals = nowhere;
  int failed_renewals = 0;
  bool renew_once = false;                   ///< an offer that must become the wanted lease
  time_point fixed_end = time_point::max();  ///< a fixed lease within a session that goes on

  time_point deadline() const noexcept {
    return time_point{duration{deadline_ns.load(std::memory_order_acquire)}};
  }
};

}  // namespace crosslock::inner
