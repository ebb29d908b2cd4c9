// Being in: the grants of a name that this process has, who uses them, and how they end.
#pragma once

#include "local/critical_section.hpp"
#include "local/line_mutex.hpp"
#include "local/local_grant.hpp"
#include "local/waiter.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace crosslock::inner {

class claiming;
class client_context;
class deferred_actions;
class line;

/// The holding half of a local line; the other half is in claiming.hpp. What becomes of a grant:
///
///     begun --released by its last user--> passed on to the queue, or given back
///       '----lost: its users are told
class holding {
 public:
  holding(line& line, client_context& home, claiming& claims) noexcept
      : line_{line}, home_{home}, claims_{claims} {}

  // Verbs, as line.hpp describes them.
  release_result release(critical_section& entered) noexcept CROSSLOCK_EXCLUDES(line_mutex);
  std::optional<release_result> leave(critical_section& entered, farewell told) noexcept
      CROSSLOCK_EXCLUDES(line_mutex);
  bool retire(critical_section& entered, local_grant* successor) noexcept
      CROSSLOCK_EXCLUDES(line_mutex);
  receipt detach(critical_section& entered) CROSSLOCK_EXCLUDES(line_mutex);
  /// `told`: what is requested, unless there is one already.
  std::stop_token wanted(critical_section& entered, std::stop_source told)
      CROSSLOCK_EXCLUDES(line_mutex);
  void hand_on_wanted(const critical_section& elder, critical_section& next)
      CROSSLOCK_EXCLUDES(line_mutex);
  void downgrade(critical_section& entered) CROSSLOCK_EXCLUDES(line_mutex);
  void lost(lease_record& record, loss_reason reason) noexcept CROSSLOCK_EXCLUDES(line_mutex);
  void renewed(lease_record& record, const seam::renewal& renewal) noexcept
      CROSSLOCK_EXCLUDES(line_mutex);

  bool none() const noexcept CROSSLOCK_REQUIRES(line_mutex) { return grants_.empty(); }
  /// This process has the name to itself, or is giving it back.
  bool exclusive() const noexcept CROSSLOCK_REQUIRES(line_mutex);
  std::int64_t permits() const noexcept CROSSLOCK_REQUIRES(line_mutex);
  /// A valid exclusive hold that this thread took by lock() or run.
  bool locked_by(std::uint64_t thread, time_point now) const CROSSLOCK_REQUIRES(line_mutex);
  /// A lock, for who wants permits, or the reverse.
  bool another_kind(claim_mode wanted) const noexcept CROSSLOCK_REQUIRES(line_mutex);
  std::shared_ptr<local_grant> find(const owner_id& owner) const CROSSLOCK_REQUIRES(line_mutex);
  /// A shared grant that such a reader may go in on; null when there is none.
  const std::shared_ptr<local_grant>* joinable(const acquire_request& request, time_point now) const
      CROSSLOCK_REQUIRES(line_mutex);
  bool shareable(const local_grant& grant, const acquire_request& request, time_point now) const
      CROSSLOCK_REQUIRES(line_mutex);

  /// The keeper keeps it: the claimant is its first user.
  void begin(waiter& claimant, const std::shared_ptr<local_grant>& grant, time_point now)
      CROSSLOCK_REQUIRES(line_mutex);
  void join(waiter& next, time_point now) CROSSLOCK_REQUIRES(line_mutex);
  /// Goes in on a grant that others of this process had, or have, with a fence of its own.
  void use(waiter& next, const std::shared_ptr<local_grant>& grant, time_point now,
           acquire_cause cause) CROSSLOCK_REQUIRES(line_mutex);
  /// A writer of this process claims; `upgrades`, if any, is what it comes from.
  void note_local_writer(const critical_section* upgrades) CROSSLOCK_REQUIRES(line_mutex);
  /// Somebody queues here, whoever holds it.
  void note_local_queue() noexcept CROSSLOCK_REQUIRES(line_mutex);
  void note_wanted(local_grant& grant) CROSSLOCK_REQUIRES(line_mutex);

  /// Everybody is told; what has to be given back is returned. Then comes give_back_all, which
  /// adds it to what travels together.
  std::vector<std::shared_ptr<local_grant>> close(deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void give_back_all(const std::vector<std::shared_ptr<local_grant>>& closed,
                     std::vector<seam::parting_ref>& batch) noexcept CROSSLOCK_EXCLUDES(line_mutex);

 private:
  bool may_pass_now(const local_grant& grant, time_point now) const CROSSLOCK_REQUIRES(line_mutex);
  void pass(const std::shared_ptr<local_grant>& grant, time_point now, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  std::int64_t draw_fence(local_grant& grant) CROSSLOCK_REQUIRES(line_mutex);
  bool told_of_wanted(claim_mode mode) const;
  bool asks_for_wanted(local_grant& grant) const CROSSLOCK_REQUIRES(line_mutex);
  void tell_wanted(const local_grant& grant, const critical_section* but = nullptr) const noexcept
      CROSSLOCK_REQUIRES(line_mutex);
  void tell_users(local_grant& grant, loss_reason reason, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void end_lost(local_grant& gone, loss_reason reason, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  std::shared_ptr<local_grant> begin_detaching(critical_section& entered)
      CROSSLOCK_EXCLUDES(line_mutex);
  void forget(const local_grant& gone) CROSSLOCK_REQUIRES(line_mutex);
  std::optional<release_result> end(critical_section& entered, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  template <class Give>
  std::optional<release_result> end_and(critical_section& entered, const Give& give)
      CROSSLOCK_EXCLUDES(line_mutex);
  /// Sends, does not wait.
  void post(local_grant& giving) noexcept CROSSLOCK_EXCLUDES(line_mutex);

  // A round trip.
  release_result give_back(local_grant& giving) noexcept CROSSLOCK_EXCLUDES(line_mutex);
  void give_back_retired(const local_grant& successor) noexcept CROSSLOCK_EXCLUDES(line_mutex);
  void release_late(const lease_record& ended) noexcept CROSSLOCK_EXCLUDES(line_mutex);
  bool lengthen(const local_grant& leaving) CROSSLOCK_EXCLUDES(line_mutex);

  line& line_;
  client_context& home_;
  claiming& claims_;
  // In use, or being given back.
  std::vector<std::shared_ptr<local_grant>> grants_ CROSSLOCK_GUARDED_BY(line_mutex);
};

}  // namespace crosslock::inner
