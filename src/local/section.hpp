// One critical section: what a hold in the user's hand stands for.
#pragma once

#include "keeper/keeper.hpp"

#include <crosslock/receipt.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

namespace crosslock::inner {

class core;
class line;
class tenancy;

/// Owned by the user through a hold; the line only points to it and lets go before it dies. Keeps
/// the client alive.
class section {
 public:
  enum class state : std::uint8_t { waiting, held, released, detached };

  section(std::shared_ptr<core> core, std::shared_ptr<line> line) noexcept;
  ~section();
  section(const section&) = delete;
  section& operator=(const section&) = delete;

  /// Reads the clock; a section found past its deadline is lost from then on.
  bool valid() const noexcept;
  void check() const;
  /// The same for re-entry, where reading the clock would be most of the cost: while much of the
  /// lease is left, once in a tick. For one thread at a time.
  void check_again() const;
  std::stop_token lost_token() const;
  loss_reason lost_reason() const noexcept { return lost_.load(std::memory_order_acquire); }
  crosslock::fence fence() const noexcept { return fence_; }
  time_point expires_at() const noexcept;
  owner_id owner() const noexcept;
  claim_mode mode() const noexcept { return mode_; }
  const lock_name& name() const noexcept;       ///< as the program gave it
  const lock_name& full_name() const noexcept;  ///< with the client's prefix
  release_result release() noexcept;
  receipt detach();
  /// From shared to exclusive: the section that goes on in place of this one; null when out of time
  /// or stopped. Throws `upgrade_conflict`, `lost`, ...: this one is then as it was.
  std::shared_ptr<section> upgrade(time_point end, std::stop_token stop);
  void downgrade();
  bool inherited_by_fork() const noexcept;
  const core& home() const noexcept { return *core_; }

 private:
  friend class line;
  friend class tenancy;

  void report_end(release_result result) const noexcept;
  void refuse_unless(claim_mode mode, const char* what) const;

  /// Called by the line under its mutex, once.
  void begin(std::shared_ptr<tenancy> tenancy, crosslock::fence fence, time_point now) noexcept;
  /// Called by the line under its mutex. Returns the stop to be requested, if anybody asked for it.
  std::optional<std::stop_source> mark_lost(loss_reason reason);

  const std::shared_ptr<core> core_;
  const std::shared_ptr<line> line_;

  // Constant once granted.
  std::shared_ptr<tenancy> tenancy_;
  crosslock::fence fence_{};
  claim_mode mode_ = claim_mode::exclusive;
  time_point since_{};

  // Guarded by the line's mutex: its place among the users of the grant.
  section* next_user_ = nullptr;
  section** link_to_user_ = nullptr;

  std::atomic<state> state_{state::waiting};
  std::atomic<loss_reason> lost_{loss_reason::none};

  mutable std::int64_t checked_tick_ = -1;  // of the last check_again; -1: none counts

  mutable std::mutex stop_mutex_;
  mutable std::optional<std::stop_source> stop_;  // made when first asked for
};

}  // namespace crosslock::inner
