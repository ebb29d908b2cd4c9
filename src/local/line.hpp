// The local line: threads of one process queue here first, and only the head claims on the server.
#pragma once

#include "keeper/keeper.hpp"
#include "local/entry_rule.hpp"
#include "local/section.hpp"
#include "local/tenancy.hpp"
#include "local/waiter.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace crosslock::inner {

class core;

/// One per client and name (one per acquire with strict_fifo, and for adopted receipts), for claims
/// of every mode. What becomes of one that comes:
///
///     queued --its turn--> head --granted--> user of a grant --release--> the last user
///        |  (way_in)        |                  ^  ^                         |
///        |                  +--left, failed    |  +--pass to the queue------+
///        +--joins a shared grant---------------+                            +--> given back
///
/// Heads claim on the server: one at a time, but for the exceptions of entry_rule.hpp. Whenever a
/// head or a grant ends, the first of the queue is looked at again. Thread-safe. No verb of the
/// engine and no user code is ever called with the mutex held.
class line final : public tenure_listener, public std::enable_shared_from_this<line> {
 public:
  line(core& home, seam::name_ref name, seam::name_ref given_name, bool common);
  ~line() override;
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  /// Null when busy, out of time or stopped.
  std::shared_ptr<section> acquire(const wish& wish);
  void acquire_async(const wish& wish, acquire_callback done);
  /// Takes a detached hold up; null when it is no longer there. Only on a line of its own.
  std::shared_ptr<section> adopt(const seam::grant& detached, const wish& wish);
  release_result release(section& section) noexcept;
  /// The same without waiting for the server: it is given back in the background, and at the end of
  /// the successor at the latest. False when it was lost before.
  bool retire(section& section, tenancy* successor = nullptr) noexcept;
  receipt detach(section& section);
  /// The exclusive section that may take the place of this shared one, which is still held then;
  /// null when out of time or stopped.
  std::shared_ptr<section> upgrade(const section& shared, const wish& wish);
  void downgrade(section& section);
  /// A section found past its deadline is lost from then on.
  void expire(const section& section) noexcept;

  // What the engine reports, by owner id; false when this line does not know the claim.
  bool answered(const owner_id& owner, const seam::answer& answer);
  bool granted(const seam::grant& grant);
  bool look_again(const owner_id& owner);
  bool wanted(const owner_id& owner);
  bool failed(const owner_id& owner, const error& why);

  // tenure_listener
  void lost(tenure& tenure, loss_reason reason) noexcept override;
  void renewed(tenure& tenure, const seam::renewal& renewal) noexcept override;

  /// Fails every waiter with `closed`, ends the hold, and gives it back.
  void close() noexcept;

  const seam::name_ref& name() const noexcept { return name_; }
  /// Without the client's prefix: as the program knows it.
  const seam::name_ref& given_name() const noexcept { return given_name_; }
  /// Whether acquires of other threads may queue here.
  bool common() const noexcept { return common_; }

 private:
  class afterwards;

  // Steps that need the mutex.
  void place(waiter& me);
  void place_upgrade(waiter& me);
  void advance(afterwards& after);
  entry way_in(const waiter& one, bool others_before, time_point now) const;
  const std::shared_ptr<tenancy>* joinable(const wish& wish, time_point now) const;
  bool shareable(const tenancy& grant, const wish& wish, time_point now) const;
  bool room_for(const seam::wish& want) const;
  void let_companions_in(const waiter& head, const std::shared_ptr<tenancy>& grant, time_point now,
                         afterwards& after);
  void join(waiter& next, time_point now);
  void become_head(waiter& waiter);
  void lead(waiter& waiter);
  void new_claim(waiter& head);
  bool take(waiter& head, const seam::grant& grant, acquire_cause cause, afterwards& after);
  void take_async(waiter& head, const seam::grant& grant, acquire_cause cause, afterwards& after);
  void use(waiter& next, const std::shared_ptr<tenancy>& grant, std::int64_t fence_value,
           time_point now, acquire_cause cause);
  void notify(waiter& ended, afterwards& after);
  void leave(waiter& head, observer::wait_result because, afterwards& after);
  void fail(waiter& head, const error& why, afterwards& after);
  void finish_head(waiter& head, waiter::state how, afterwards& after);
  bool may_pass_now(const tenancy& grant, time_point now) const;
  void pass(const std::shared_ptr<tenancy>& grant, time_point now, afterwards& after);
  std::int64_t draw_fence(tenancy& grant);
  void note_wanted(tenancy& grant);
  bool told_of_wanted(claim_mode mode) const;
  void tell_users(tenancy& grant, loss_reason reason, afterwards& after);
  void hurry_upgrade(const tenancy& grant, afterwards& after);
  waiter* head_of(const owner_id& owner) const;
  std::shared_ptr<tenancy> grant_of(const owner_id& owner) const;
  void forget_grant(const tenancy& gone);
  seam::claim prepare_claim(waiter& head);

  // A round trip, without the mutex.
  release_result give_back(tenancy& giving) noexcept;
  void give_back_retired(const tenancy& successor) noexcept;
  void release_late(const tenure& ended) noexcept;
  bool lengthen(const tenancy& leaving);
  std::shared_ptr<tenancy> begin_detaching(section& section);

  // The blocking way, on the caller's thread.
  std::shared_ptr<section> carry_through(waiter& me);
  void enter(waiter& me);
  seam::claim prepare_ask(waiter& head);
  void abandon_claim(waiter& me) noexcept;
  void wait_in_queue(waiter& me);
  void claim_until_settled(waiter& me);
  std::optional<acquire_cause> wait_in_line(waiter& me, duration look_after);
  bool settle_answer(waiter& me, const seam::answer& answer, acquire_cause cause);
  std::optional<duration> retry_delay(waiter& me, const error& why);
  void adopt_once(waiter& me, const seam::grant& detached);
  /// `written`: the fence on the receipt.
  void settle_adoption(waiter& me, const std::optional<seam::grant>& adopted, fence written);

  // The asynchronous way: every step is an event.
  void ask_without_blocking(std::uint64_t round);
  void claim_again(waiter& head, afterwards& after);
  void plan_ask(waiter& head, duration delay, acquire_cause cause, afterwards& after);
  void settle_async(waiter& head, const seam::answer& answer, afterwards& after);
  void retry_async(waiter& head, const error& why, afterwards& after);
  void cancel(waiter& waiter, observer::wait_result because);

  core& home_;
  const seam::name_ref name_;
  const seam::name_ref given_name_;
  const bool common_;

  std::mutex mutex_;
  waiter_queue queue_;
  waiter_queue heads_;                            // who claims on the server
  std::vector<std::shared_ptr<tenancy>> grants_;  // in use, or being given back
  std::uint64_t rounds_ = 0;
  bool closed_ = false;
};

}  // namespace crosslock::inner
