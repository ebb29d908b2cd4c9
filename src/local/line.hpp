// The local line: threads of one process queue here first, and only the head claims on the server.
#pragma once

#include "keeper/keeper.hpp"
#include "local/section.hpp"
#include "local/waiter.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace crosslock::inner {

class core;

/// One per client and name (one per acquire with strict_fifo, and for adopted receipts).
///
///     idle --first comer--> claiming --granted--> held --release--> giving back --> idle
///                              |                   |  ^_pass_|
///                              +--left, failed--> idle <--lost-+
///
/// Whenever it becomes idle the next waiter, if any, becomes the head and claims. Thread-safe. No
/// verb of the engine and no user code is ever called with the mutex held.
class line final : public tenure_listener, public std::enable_shared_from_this<line> {
 public:
  line(core& home, seam::name_ref name, seam::name_ref given_name, bool shared);
  ~line() override;
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  /// Null when busy, out of time or stopped.
  std::shared_ptr<section> acquire(const wish& wish);
  void acquire_async(const wish& wish, acquire_callback done);
  /// Takes a detached hold up; null when it is no longer there. Only on a line of its own.
  std::shared_ptr<section> adopt(const receipt& paper, const wish& wish);
  release_result release(section& section) noexcept;
  receipt detach(section& section);
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
  bool shared() const noexcept { return shared_; }

 private:
  enum class phase { idle, claiming, held, giving_back };
  class afterwards;

  // Steps that need the mutex.
  void become_head(waiter& waiter);
  void new_tenure(const wish& wish);
  void advance(afterwards& after);
  bool take(const seam::grant& grant, acquire_cause cause, afterwards& after);
  void leave(observer::wait_result because, afterwards& after);
  void fail(const error& why, afterwards& after);
  void finish_head(waiter::state how, afterwards& after);
  void pass_to(waiter& next, time_point now, afterwards& after);
  bool may_pass_now(time_point now) const;
  std::int64_t draw_fence();
  void note_wanted(tenure& tenure);
  void place(waiter& me);
  bool claims_for(const owner_id& owner) const;
  seam::claim prepare_ask(waiter& head);

  // A round trip, without the mutex.
  release_result give_back(tenure& giving) noexcept;
  void release_late(const tenure& ended) noexcept;
  bool lengthen(const tenure& leaving);

  // The blocking way, on the caller's thread.
  void enter(waiter& me);
  void abandon_claim(waiter& me) noexcept;
  void wait_in_queue(waiter& me);
  void claim_until_settled(waiter& me);
  std::optional<acquire_cause> wait_in_line(waiter& me, duration look_after);
  bool settle_answer(const seam::answer& answer, acquire_cause cause);
  std::optional<duration> retry_delay(waiter& me, const error& why);
  void adopt_once(waiter& me, const seam::grant& detached, const receipt& paper);
  void settle_adoption(const std::optional<seam::grant>& adopted, const receipt& paper);

  // The asynchronous way: every step is an event.
  void ask_without_blocking(std::uint64_t round);
  void plan_ask(duration delay, acquire_cause cause, afterwards& after);
  void settle_async(const seam::answer& answer, afterwards& after);
  void retry_async(const error& why, afterwards& after);
  void cancel(waiter& waiter, observer::wait_result because);

  core& home_;
  const seam::name_ref name_;
  const seam::name_ref given_name_;
  const bool shared_;

  std::mutex mutex_;
  phase phase_ = phase::idle;
  waiter_queue queue_;
  waiter* head_ = nullptr;             // claiming: for whom
  section* section_ = nullptr;         // held: by whom
  std::shared_ptr<tenure> tenure_;     // claiming, held, giving back
  bool asking_ = false;                // asynchronous head: an ask is on its way
  bool was_on_server_ = false;         // claiming: before the present ask
  bool on_server_ = false;             // claiming: the server may know the claim
  std::optional<seam::grant> pushed_;  // claiming: came while the head was busy
  bool look_now_ = false;
  time_point revoked_at_{};  // claiming: a grant that was asked for before this was taken away
  acquire_cause next_cause_ = acquire_cause::asked;
  int failures_ = 0;
  std::uint64_t round_ = 0;  // asynchronous head: numbers its asks, so that old timers are known
  bool closed_ = false;
};

}  // namespace crosslock::inner
