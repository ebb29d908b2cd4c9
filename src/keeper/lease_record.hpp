// One claim of this client on the server, from the ask to the end of its grant.
#pragma once

#include "engine/claim.hpp"
#include "engine/parting.hpp"
#include "engine/recycling.hpp"

#include <crosslock/observer.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace crosslock::inner {

class lease_record;

/// Who is told what becomes of a lease record: the local line. Called without any keeper mutex.
class lease_record_listener {
 public:
  virtual ~lease_record_listener() = default;
  virtual void lost(lease_record& record, loss_reason reason) noexcept = 0;
  virtual void renewed(lease_record& record, const seam::renewal& renewal) noexcept = 0;
};

/// Made when a claim first goes to the server; the line adds what it needs. The line owns what is
/// not atomic; the keeper owns the indices in its heaps.
class lease_record {
 public:
  enum class state : std::uint8_t { asking, kept, lost, ended };

  virtual ~lease_record() = default;

  seam::claim claim;
  bool fixed = false;  ///< a fixed lease: never renewed, never passed
  std::weak_ptr<lease_record_listener> listener;

  // Set when granted, constant afterwards.
  seam::grant grant;

  // Read and written by many threads.
  std::atomic<state> now_is{state::asking};
  std::atomic<loss_reason> lost_because{loss_reason::none};  ///< once lost: set before that
  std::atomic<duration::rep> deadline_ns{0};    ///< its own, beside that of its session
  std::atomic<duration::rep> held_since_ns{0};  ///< when the present hold began, for max_hold
  std::atomic<bool> want_fences{false};
  std::atomic<bool> share{false};  ///< downgraded, and the server has not confirmed it yet
  std::atomic<duration::rep> asked_until_ns{0};  ///< extended: what was asked for; 0: never
  std::atomic<bool> is_offer{false};  ///< a handover's short lease, not yet made the wanted one

  // Guarded by the keeper's mutex: where it stands in heaps and session, and what it last tried.
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  std::size_t index_in_alarms = nowhere;
  std::size_t index_in_renewals = nowhere;
  std::size_t index_in_session = nowhere;
  int failed_renewals = 0;

  time_point own_deadline() const noexcept {
    return time_point{duration{deadline_ns.load(std::memory_order_acquire)}};
  }
  bool was_extended() const noexcept { return asked_until_ns.load() != 0; }
  /// How long the server may keep it, if nothing more is said from now on.
  time_point kept_until(time_point now) const noexcept {
    return std::max(now + claim.lease, time_point{duration{asked_until_ns.load()}});
  }
  time_point deadline() const noexcept {
    return grant.session ? std::min(own_deadline(), grant.session->deadline()) : own_deadline();
  }
};

}  // namespace crosslock::inner
