// The seam: what an engine must be able to do. Small, and shaped by no single engine.
//
// Threads: every verb may be called by many threads at once. A verb does its round trip on the
// calling thread and returns by `give_up` at the latest. An engine needs no thread per waiter.
// Events, of this claim or any other, may come on the calling thread from within a verb: whoever
// calls one holds no mutex.
// Failure: a verb throws `crosslock::error`; when the request may have been carried out, with
// outcome_unknown. The core then withdraws or tries again with the same owner id: every verb is
// idempotent by owner id, and a repeated ask returns the same fence.
#pragma once

#include "engine/cell.hpp"
#include "engine/claim.hpp"
#include "engine/clock.hpp"
#include "engine/finding.hpp"

#include <crosslock/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::seam {

/// What an engine offers, said before it is asked. A promise that is not made here is answered
/// by `unsupported` when it is asked for.
struct traits {
  std::string_view name;
  bool shared = false;            ///< shared claims
  bool permits = false;           ///< permit claims
  bool first_come = false;        ///< the server keeps a line and grants in its order
  bool pushes = false;            ///< waiters are woken by the server
  bool tells_wanted = false;      ///< holders learn that others wait
  bool tells_when_asked = false;  ///< the same for exclusive ones, from listen_for_wanted on
  bool reserves_fences = false;   ///< a renewal can bring another block of fences
  bool lease_is_session = false;  ///< one lease for everything this client holds
  bool outlives_process = false;  ///< a hold can be detached and taken up by another process
  bool within_process = false;    ///< the locks are in the memory of one process, and go with it
  bool watches_process = false;   ///< a hold ends when its process is seen dead, unless detached
  bool cells = false;             ///< values that are compared and set
  bool watches_cells = false;     ///< who watches a cell is told when it is written
  bool permits_apart = false;     ///< a mutex of the same name does not exclude them: a `conflict`
  bool works_after_fork = true;   ///< a child may connect anew although its parent was connected
  std::size_t cell_bytes = cell_bytes_max;  ///< the longest value of a cell
  duration session{};                       ///< lease_is_session: how long that is, once connected
  duration lease_min{};
  duration lease_max{};
};

/// Throws `invalid_lease` for one that the engine cannot give, before any I/O.
void refuse_lease(const traits& engine, duration lease);
/// The same for a renewal, which may also leave the lease as it is: zero.
void refuse_lease(const traits& engine, const renewal& item);

/// Which claim an event is about. Valid during the call only.
struct claim_key {
  const lock_name& name;
  const owner_id& owner;
};

/// Where an engine reports what happens later: one for the whole client, so that no engine keeps a
/// table of claims and their callbacks. Called from any thread, with no engine mutex held. The
/// core answers quickly and does no I/O in these calls. Events may come late, twice, or for
/// claims nobody knows any more: the core sorts that out.
class turn {
 public:
  virtual ~turn() = default;
  /// The answer to ask_async.
  virtual void answered(claim_key key, const answer& answer) noexcept = 0;
  /// A claim in line has become a grant.
  virtual void granted(const grant& grant) noexcept = 0;
  /// Something changed: ask again.
  virtual void look_again(claim_key key) noexcept = 0;
  /// Others wait behind this grant.
  virtual void wanted(claim_key key) noexcept = 0;
  /// ask_async failed; or a grant has ended: errc::lost, somebody took it away; errc::not_held, the
  /// session that it belongs to is over.
  virtual void failed(claim_key key, const error& why) noexcept = 0;
  /// The connection is lost, and what is held is valid only until its deadline, unless it comes
  /// back in time. For engines whose sessions outlive a connection.
  virtual void suspended(const error& /*why*/) noexcept {}
  /// Connected again.
  virtual void resumed() noexcept {}
  /// A cell that was watched of late has been written, or may have been. A hint.
  virtual void cell_changed(const lock_name& /*name*/) noexcept {}
};

class engine {
 public:
  virtual ~engine() = default;
  virtual const traits& about() const noexcept = 0;

  /// One round trip: granted, in line (only if claim.wait), or busy. Asking again with the same
  /// owner id while in line refreshes the place there; when granted meanwhile it renews.
  virtual answer ask(const claim& claim, time_point give_up) = 0;
  /// The same without blocking: sends and returns; the answer comes through turn, perhaps from
  /// within this call.
  virtual void ask_async(const claim& claim, time_point give_up) = 0;
  /// Leaves the line, or gives back a grant nobody saw.
  virtual void withdraw(const claim& claim, time_point give_up) = 0;
  /// Fills in the outcome of each item. Compares owner and fence, never creates.
  virtual void renew(std::span<renewal> batch, time_point give_up) = 0;
  virtual release_answer release(const grant& grant, time_point give_up) = 0;
  /// An exclusive grant is being passed on within this client: from now on turn::wanted when others
  /// wait behind it, also if they do already. Sends and returns.
  virtual void listen_for_wanted(claim_key /*key*/) noexcept {}
  /// Takes a detached grant over under next.owner, so that the receipt is worth nothing any more.
  /// Empty when it is no longer there.
  virtual std::optional<grant> adopt(const grant& detached, const claim& next,
                                     time_point give_up) = 0;
  /// Frees the name if `owner` holds it and tells that holder; false when it does not.
  virtual bool break_lock(const lock_name& name, owner_id owner, time_point give_up) = 0;
  virtual lock_info look(const lock_name& name, time_point give_up) = 0;
  virtual std::vector<lock_info> list(std::string_view prefix, time_point give_up) = 0;

  /// A cell that nobody has written or opened is empty, with version 0.
  virtual cell read_cell(const lock_name& name, time_point give_up) = 0;
  /// The same, and from the very moment of this reading on, for `span` at least, the next write is
  /// told by turn::cell_changed. Where the engine cannot push it only reads.
  virtual cell watch_cell(const lock_name& name, duration /*span*/, time_point give_up) {
    return read_cell(name, give_up);
  }
  /// Writes if version and fence allow it. Repeated by the same writer it finds its own work and
  /// answers as before, as long as nobody has written since. After that it says `changed`, so
  /// behind a try whose outcome is unknown `changed` is no proof that nothing was written.
  virtual swap_answer swap_cell(const cell_swap& wanted, time_point give_up) = 0;
  /// Shows `token` to the cell, which refuses every lower fence from then on. Empty, and nothing
  /// changed, when a higher one was here.
  virtual std::optional<cell> open_cell(const lock_name& name, fence token, time_point give_up) = 0;

  /// A thread with a claim in line waits for news: as clock::park. An engine may let it listen to
  /// the server itself, so that the news need not be handed from thread to thread; whoever changes
  /// the word calls rouse() instead of clock::unpark().
  virtual void await_news(seam::clock& clock, park_word& word, std::uint32_t expected,
                          time_point until) {
    clock.park(word, expected, until);
  }
  /// Callable from any thread. The word may be gone already: only its address is used.
  virtual void rouse(seam::clock& clock, park_word& word) noexcept { clock.unpark(word); }

  /// What there is to say about the server, or whatever keeps the locks, and what that means for
  /// them. For people: takes several round trips.
  virtual std::vector<finding> examine(time_point /*give_up*/) { return {}; }

  /// Whether this thread is one that the engine reports events on: such a thread must not close it.
  virtual bool on_own_thread() const noexcept { return false; }
  /// Disconnects. No event comes through turn after it has returned. Called once.
  virtual void close() noexcept = 0;
  /// In a forked child, instead of close and destruction: closes file descriptors, touches
  /// nothing that the parent or the server could notice.
  virtual void abandon() noexcept = 0;
};

}  // namespace crosslock::seam
