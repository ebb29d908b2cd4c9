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

#include "engine/cell_store.hpp"
#include "engine/claim.hpp"
#include "engine/clock.hpp"
#include "engine/engine_events.hpp"
#include "engine/inspector.hpp"
#include "engine/parting.hpp"
#include "engine/traits.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace crosslock::seam {

/// What concerns claims and grants; cells and inspection stand beside it.
class engine : public cell_store, public inspector {
 public:
  ~engine() override = default;
  virtual const traits& about() const noexcept = 0;

  /// One round trip: granted, in line (only if claim.wait), or busy. Asking again with the same
  /// owner id while in line refreshes the place there; when granted meanwhile it renews.
  virtual answer ask(const claim& claim, time_point give_up) = 0;
  /// The same without blocking: sends and returns; the answer comes through
  /// engine_events, perhaps from within this call.
  virtual void ask_async(const claim& claim, time_point give_up) = 0;
  /// Leaves the line, or gives back a grant nobody saw.
  virtual void withdraw(const claim& claim, time_point give_up) = 0;
  /// Fills in the outcome of each item. Compares owner and fence, never creates.
  virtual void renew(std::span<renewal> batch, time_point give_up) = 0;
  virtual release_answer release(const grant& grant, time_point give_up) = 0;
  /// The same for many, without waiting: sends in this order, before every later request of this
  /// client, and returns; parting::left follows, perhaps from within this call. An empty batch says
  /// that somebody waits for that now. Unless traits::posts_releases, each is a round trip of the
  /// caller's.
  virtual void post_release(std::span<const parting_ref> batch, time_point give_up) noexcept;
  /// An exclusive grant is being passed on within this client: from now on
  /// engine_events::wanted when others wait behind it, also if they do already. Sends and returns.
  virtual void listen_for_wanted(claim_key /*key*/) noexcept {}
  /// Takes a detached grant over under next.owner, so that the receipt is worth nothing any more.
  /// Empty when it is no longer there.
  virtual std::optional<grant> adopt(const grant& detached, const claim& next,
                                     time_point give_up) = 0;
  /// Frees the name if `owner` holds it and tells that holder; false when it does not.
  virtual bool break_lock(const lock_name& name, owner_id owner, time_point give_up) = 0;

  /// A thread with a claim in line waits for news: as clock::park. An engine may let it listen to
  /// the server itself, so that the news need not be handed from thread to thread; whoever changes
  /// the word calls rouse() instead of clock::unpark().
  virtual void await_news(seam::clock& clock, park_word& word, std::uint32_t expected,
                          time_point until) {
    clock.park(word, expected, until);
  }
  /// Callable from any thread. The word may be gone already: only its address is used.
  virtual void rouse(seam::clock& clock, park_word& word) noexcept { clock.unpark(word); }

  /// Whether this thread is one that the engine reports events on: such a thread must not close it.
  virtual bool on_own_thread() const noexcept { return false; }
  /// Disconnects. No event comes through engine_events after it has returned. Called once.
  virtual void close() noexcept = 0;
  /// In a forked child, instead of close and destruction: closes file descriptors, touches
  /// nothing that the parent or the server could notice.
  virtual void abandon() noexcept = 0;
};

}  // namespace crosslock::seam
