// One critical section: what a hold in the user's hand stands for.
#pragma once

#include "engine/guarded.hpp"
#include "keeper/keeper.hpp"
#include "local/line_mutex.hpp"

#include <crosslock/hold.hpp>
#include <crosslock/receipt.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace crosslock::inner {

class client_context;
class line;
class local_grant;
struct acquire_request;

/// Owned by the user through a hold; the line only points to it and lets go before it dies. Keeps
/// the client alive.
class critical_section {
 public:
  enum class state : std::uint8_t { waiting, held, released, detached };

  critical_section(std::shared_ptr<client_context> home, std::shared_ptr<line> line) noexcept;
  ~critical_section();
  critical_section(const critical_section&) = delete;
  critical_section& operator=(const critical_section&) = delete;

  /// Reads the clock; a critical section found past its deadline is lost from then on.
  bool valid() const noexcept;
  void check() const;
  /// The same for re-entry, where reading the clock would be most of the cost: while much of the
  /// lease is left, once in a tick. For one thread at a time.
  void check_again() const;
  std::stop_token lost_token() const;
  /// From now on a loss is told to this one, of a whole that this one is a part of; none: to
  /// nobody. Before anybody has asked for the token.
  void tell_loss_to(std::optional<std::stop_source> whole);
  std::stop_token wanted_token();
  /// Instead, of a whole that this one is a part of. Before anybody has its token.
  void tell_wanted_to(const std::stop_source& whole);
  loss_reason lost_reason() const noexcept { return lost_.load(std::memory_order_acquire); }
  /// Neither ended nor told lost; does not read the clock.
  bool stands() const noexcept {
    return state_.load(std::memory_order_acquire) == state::held &&
           lost_reason() == loss_reason::none;
  }
  crosslock::fence fence() const noexcept { return fence_; }
  time_point expires_at() const noexcept;
  owner_id owner() const noexcept;
  claim_mode mode() const noexcept { return mode_; }
  const lock_name& name() const noexcept;       ///< as the program gave it
  const lock_name& full_name() const noexcept;  ///< with the client's prefix
  release_result release() noexcept;
  /// The same without waiting for the server, unless this client's unlock shall wait.
  void leave() noexcept;
  /// The same; `done` is told what `release` would have returned, where continuations run.
  void leave(std::function<void(release_result)> done);
  receipt detach();
  /// From shared to exclusive: the critical section that goes on in place of this one; null when
  /// out of time or stopped. Throws `upgrade_conflict`, `lost`, ...: this one is then as it was.
  std::shared_ptr<critical_section> upgrade(time_point end, std::stop_token stop);
  /// The same without waiting; `shared` is this one, kept until the upgrade has ended.
  void upgrade_async(const std::shared_ptr<critical_section>& shared, time_point end,
                     const std::stop_token& stop, std::function<void(std::function<void()>)> where,
                     acquire_callback done);
  void downgrade();
  /// At least so long from now on, by the server's word; the deadline it has then.
  time_point extend(const std::optional<duration>& lease);
  bool inherited_by_fork() const noexcept;
  const client_context& home() const noexcept { return *home_; }
  /// Taken by lock() or run on that thread (thread_token.hpp): it would wait for itself in vain.
  void note_thread(std::uint64_t thread) noexcept { thread_.store(thread); }
  void forget_thread() noexcept { thread_.store(0); }

 private:
  friend class claiming;
  friend class holding;
  friend class local_grant;

  void report_end(release_result result) const noexcept;
  void refuse_unless(claim_mode mode, const char* what) const;
  acquire_request upgrade_request(time_point end, std::stop_token stop) const;
  void give_way_to(critical_section& next);
  void take_listeners_of(const critical_section& elder);

  /// Called by the line, once.
  void begin(std::shared_ptr<local_grant> grant, crosslock::fence fence, time_point now) noexcept
      CROSSLOCK_REQUIRES(line_mutex);
  /// Called by the line. Returns the stop to be requested, if anybody asked for it.
  std::optional<std::stop_source> mark_lost(loss_reason reason) CROSSLOCK_REQUIRES(line_mutex);

  const std::shared_ptr<client_context> home_;
  const std::shared_ptr<line> line_;

  // Constant once granted.
  std::shared_ptr<local_grant> grant_;
  crosslock::fence fence_{};
  claim_mode mode_ = claim_mode::exclusive;
  time_point since_{};

  // Its place among the users of the grant.
  critical_section* next_user_ CROSSLOCK_GUARDED_BY(line_mutex) = nullptr;
  critical_section** link_to_user_ CROSSLOCK_GUARDED_BY(line_mutex) = nullptr;

  // Requested when somebody waits; made when first asked for.
  std::optional<std::stop_source> wanted_ CROSSLOCK_GUARDED_BY(line_mutex);
  bool wanted_told_ CROSSLOCK_GUARDED_BY(line_mutex) = false;

  std::atomic<state> state_{state::waiting};
  std::atomic<loss_reason> lost_{loss_reason::none};

  std::atomic<std::uint64_t> thread_{0};  // 0: it belongs to whoever has it

  mutable std::int64_t checked_tick_ = -1;  // of the last check_again; -1: none counts

  mutable seam::mutex stop_mutex_;
  // Made when first asked for.
  mutable std::optional<std::stop_source> stop_ CROSSLOCK_GUARDED_BY(stop_mutex_);
};

}  // namespace crosslock::inner
