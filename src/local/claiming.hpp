// Getting in: who queues here, and who claims on the server for itself and those behind it.
#pragma once

#include "local/entry_rule.hpp"
#include "local/line_mutex.hpp"
#include "local/waiter.hpp"

#include <memory>
#include <optional>

namespace crosslock::inner {

class client_context;
class deferred_actions;
class holding;
class line;

/// The waiting half of a local line; the other half is in holding.hpp. What becomes of a waiter:
///
///     queued --its turn--> claimant --granted--> user of a grant
///        |  (way_in)          '--left, failed       ^
///        '--joins a shared grant, is passed one-----'
///
/// How a claimant gets on is decided by claim_state.hpp.
class claiming {
 public:
  claiming(line& line, client_context& home, holding& holds) noexcept
      : line_{line}, home_{home}, holds_{holds} {}

  // Verbs: null when busy, out of time or stopped.
  std::shared_ptr<critical_section> acquire(const acquire_request& request)
      CROSSLOCK_EXCLUDES(line_mutex);
  void acquire_async(const acquire_request& request, acquire_callback done)
      CROSSLOCK_EXCLUDES(line_mutex);
  std::shared_ptr<critical_section> adopt(const seam::grant& detached,
                                          const acquire_request& request)
      CROSSLOCK_EXCLUDES(line_mutex);
  std::shared_ptr<critical_section> upgrade(const critical_section& shared,
                                            const acquire_request& request)
      CROSSLOCK_EXCLUDES(line_mutex);

  void upgrade_async(const critical_section& shared, const acquire_request& request,
                     acquire_callback done) CROSSLOCK_EXCLUDES(line_mutex);

  // What the engine reports about a claimant.
  void answered(waiter& claimant, const seam::answer& answer, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void granted(waiter& claimant, const seam::grant& grant, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void look_again(waiter& claimant, deferred_actions& after) CROSSLOCK_REQUIRES(line_mutex);
  void failed(waiter& claimant, const error& why, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void revoked(waiter& claimant, deferred_actions& after) CROSSLOCK_REQUIRES(line_mutex);

  waiter* claimant_of(const owner_id& owner) const CROSSLOCK_REQUIRES(line_mutex);
  /// Throws `would_deadlock` when the thread that waits without end waits for its own hold.
  void refuse_own_thread(const acquire_request& request) CROSSLOCK_EXCLUDES(line_mutex);
  /// Null when nobody queues.
  waiter* first_in_queue() const noexcept CROSSLOCK_REQUIRES(line_mutex) {
    return queue_.empty() ? nullptr : &queue_.front();
  }
  /// Queues here, or claims what this one stands in the way of.
  bool anybody_waits(const critical_section& held) const CROSSLOCK_REQUIRES(line_mutex);
  waiter& leave_queue() noexcept CROSSLOCK_REQUIRES(line_mutex) { return queue_.pop_front(); }
  /// A grant has ended or changed: the first of the queue is looked at again.
  void advance(deferred_actions& after) CROSSLOCK_REQUIRES(line_mutex);
  /// A waiter has got what it wants, or will not: its thread is woken, its callback called.
  static void notify(waiter& ended, deferred_actions& after) CROSSLOCK_REQUIRES(line_mutex);
  /// The shared hold has no other users any more: its upgrade may go in beside it.
  void hurry_upgrade(const local_grant& shared, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  /// The shared hold was lost: its upgrade learns of it.
  void wake_upgrade(const local_grant& shared, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  /// The same of one that was released.
  void wake_upgrade(const critical_section& shared, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  /// Fails every waiter with `closed`.
  void close(deferred_actions& after) CROSSLOCK_REQUIRES(line_mutex);

  /// Asynchronous: sends a claim, if its claimant is still there.
  void send(const seam::claim& claim) CROSSLOCK_EXCLUDES(line_mutex);
  /// Asynchronous: the time, or a stop, may have changed what there is to do.
  void look_after(waiter& waiter) CROSSLOCK_EXCLUDES(line_mutex);

 private:
  // Finding a way in.
  void find_way_in(waiter& me) CROSSLOCK_REQUIRES(line_mutex);
  void find_way_in_for_upgrade(waiter& me) CROSSLOCK_REQUIRES(line_mutex);
  void refuse_waiting_for_itself(const acquire_request& request) const
      CROSSLOCK_REQUIRES(line_mutex);
  entry_decision way_in(const waiter& one, bool others_before, time_point now) const
      CROSSLOCK_REQUIRES(line_mutex);
  bool room_for(const seam::demand& demand) const CROSSLOCK_REQUIRES(line_mutex);
  bool lacks_permits(const waiter& one) const CROSSLOCK_REQUIRES(line_mutex);
  void leave_queue_if_over(waiter& me) CROSSLOCK_REQUIRES(line_mutex);
  void become_claimant(waiter& waiter) CROSSLOCK_REQUIRES(line_mutex);
  void new_claim(waiter& claimant) CROSSLOCK_REQUIRES(line_mutex);
  void lead(waiter& waiter) CROSSLOCK_REQUIRES(line_mutex);

  // Carrying out what the machine says.
  claim_surroundings surroundings_of(const waiter& claimant) const CROSSLOCK_REQUIRES(line_mutex);
  claim_step step(waiter& claimant, deferred_actions& after) CROSSLOCK_REQUIRES(line_mutex);
  error failure_of(const waiter& claimant, errc code) const;
  error no_answer() const;
  void prepare_ask(waiter& claimant, time_point now) CROSSLOCK_REQUIRES(line_mutex);
  void note_failed_ask(waiter& claimant, const error& why, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void note_answered_ask(waiter& claimant, const seam::answer& answer, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void note_heard(const waiter& claimant, deferred_actions& after) CROSSLOCK_REQUIRES(line_mutex);
  time_point unanswered_since(const waiter& one, time_point now) const
      CROSSLOCK_REQUIRES(line_mutex);
  std::optional<error> outage_of(const waiter& queued) const CROSSLOCK_REQUIRES(line_mutex);
  void take(waiter& claimant, time_point now, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  bool keep(waiter& claimant, const seam::grant& grant, time_point now)
      CROSSLOCK_REQUIRES(line_mutex);
  void let_companions_in(const waiter& claimant, time_point now, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void leave(waiter& claimant, observer::wait_result because, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void fail(waiter& claimant, const error& why, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void fail_queued(waiter& queued, std::exception_ptr why, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  void fail_those_behind(const outage& trouble, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);
  endurance endurance_of(const waiter& one) const;
  void finish(waiter& claimant, waiter::state how, deferred_actions& after)
      CROSSLOCK_REQUIRES(line_mutex);

  // The blocking way, on the caller's thread.
  std::shared_ptr<critical_section> carry_through(waiter& me) CROSSLOCK_EXCLUDES(line_mutex);
  void wait_in_queue(waiter& me) CROSSLOCK_EXCLUDES(line_mutex);
  void claim_here(waiter& me) CROSSLOCK_EXCLUDES(line_mutex);
  std::optional<claim_step> step_here(waiter& me) CROSSLOCK_EXCLUDES(line_mutex);
  void ask_here(waiter& me) CROSSLOCK_EXCLUDES(line_mutex);
  seam::answer ask_engine(const waiter& me) CROSSLOCK_EXCLUDES(line_mutex);
  void abandon_claim(waiter& me) noexcept CROSSLOCK_EXCLUDES(line_mutex);

  // The asynchronous way: every step is an event.
  void begin_async(const std::shared_ptr<waiter>& me) CROSSLOCK_EXCLUDES(line_mutex);
  void find_way_in_async(waiter& me) CROSSLOCK_REQUIRES(line_mutex);
  void nudge(waiter& claimant, deferred_actions& after) CROSSLOCK_REQUIRES(line_mutex);
  void go_on(waiter& claimant, deferred_actions& after) CROSSLOCK_REQUIRES(line_mutex);
  task_queue::ticket plan_look(time_point moment, const std::weak_ptr<waiter>& whose)
      CROSSLOCK_REQUIRES(line_mutex);

  line& line_;
  client_context& home_;
  holding& holds_;
  waiter_queue queue_ CROSSLOCK_GUARDED_BY(line_mutex);
  waiter_queue claimants_ CROSSLOCK_GUARDED_BY(line_mutex);

  // What those who wait here know of the server. Whoever claims next goes on with it.
  time_point heard_ CROSSLOCK_GUARDED_BY(line_mutex) = time_point::min();
  /// Since when it has been asked, by whomever, without an answer.
  time_point unheard_since_ CROSSLOCK_GUARDED_BY(line_mutex) = time_point::max();
  /// Of one who gives up because of it, while the next takes its place.
  outage given_up_ CROSSLOCK_GUARDED_BY(line_mutex);
};

}  // namespace crosslock::inner
