// What happened in all seeds together. A run in which something never happened proves nothing
// about it, so a long run in which one of these stays at zero has failed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace crosslock::simulation {

enum class count : std::size_t {
  // How holds came about, in the order of acquire_cause ...
  asked,
  passed,
  pushed,
  refreshed,
  looked,
  joined,
  // ... and how they were lost, in the order of loss_reason, which begins with `none`.
  expired,
  gone,
  broken,
  lease_ended,
  max_hold,
  closed,
  // Other things clients do and meet.
  busy,
  timed_out,
  stopped,
  unknown_outcomes,
  callbacks,
  reentries,
  shared_holds,
  permit_holds,
  upgrades,
  upgrade_conflicts,
  downgrades,
  renewals,
  detached,
  adopted,
  adopted_too_late,
  breaks,
  loss_callbacks,
  noticed_in_time,
  // What the resource and the server refused.
  stale_writes,
  lost_without_fence,
  forged_releases,
  late_renewals,
  // Overlaps that only the fence has kept from doing harm.
  expected_overlaps,
  // Faults.
  dropped,
  delayed,
  duplicated,
  overtaken,
  process_paused,
  paused_inside,
  server_paused,
  cut_both_ways,
  cut_to_server,
  cut_to_client,
  refused,
  clock_forward,
  clock_back,
  crash_kept,
  crash_lost,
  crash_rolled_back,
  killed,
  wake_ups_dropped,
  closed_early,
  // Seeds of a kind.
  calm_seeds,
  strict_seeds,
  fifo_judged,
  size_
};

inline constexpr std::size_t count_size = static_cast<std::size_t>(count::size_);

std::string_view to_string(count what) noexcept;

/// One thread at a time.
class totals {
 public:
  void add(count what, std::uint64_t by = 1) noexcept { at(what) += by; }
  void add(const totals& other) noexcept;
  std::uint64_t operator[](count what) const noexcept {
    return values_[static_cast<std::size_t>(what)];
  }
  /// All of them, a few to a line.
  std::string table() const;
  /// The names of those that stayed at zero; empty when there are none.
  std::string missing() const;

 private:
  std::uint64_t& at(count what) noexcept { return values_[static_cast<std::size_t>(what)]; }

  std::array<std::uint64_t, count_size> values_{};
};

}  // namespace crosslock::simulation
