// Releases that nobody waits for. Their bytes leave before the call returns; the answer is read by
// whoever reads next, or after a few milliseconds by the client's own thread. One that is not
// answered is kept, and goes out first on the next connection: a client never meets its own old
// hold.
#include "engines/redis/connection.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

/// How long whoever gives back waits for another thread to finish its write.
constexpr duration write_patience = 5ms;
/// After a refusal.
constexpr duration resend_pause = 100ms;
/// With one besides its own, whoever gives back reads what is there, so that a burst of releases
/// does not pile answers up until the timer comes.
constexpr std::size_t unread_most = 2;

}  // namespace

void connection::post(std::span<const seam::parting_ref> batch) noexcept {
  bool ring = false;
  {
    const seam::lock_guard held{mutex_};
    if (batch.empty()) hurry_ = true;
    for (const seam::parting_ref& one : batch) enqueue_posted(one);
    if (closed_) drop_unsettled(time_point::max());
    // Who has the seat connects.
    ring = batch.empty() || (!stream_ && !closed_ && !seat_.taken());
    if (stream_) send_posted_now();
    tell_settled();
  }
  if (ring) {
    needs_reader_();
  } else {
    posting_.reads_soon();
  }
}

void connection::send_posted_now() {
  try {
    if (writing_) {
      await_written();
    } else {
      flush_what_fits();
    }
    if (in_flight_.size() < unread_most || !seat_.take()) return;
  } catch (const std::exception& why) {
    if (!seat_.take()) {
      if (stream_) stream_->cut();  // whoever leads deals with it
      return;
    }
    fail_all(as_error(why));
    return hand_over(clock_.now());
  }
  try {
    read_once(clock_.now());
  } catch (const std::exception& why) {
    fail_all(as_error(why));
  }
  hand_over(clock_.now());
}

// Never blocks: what there is no room for is left to the client's own thread.
void connection::flush_what_fits() {
  if (writing_) return;
  writing_ = true;
  std::exception_ptr failure;
  bool fits = true;
  while (fits && stream_ && (!out_.empty() || stream_->lags())) {
    const std::shared_ptr<stream> to = stream_;
    begin_write();
    std::size_t taken = 0;
    try {
      {
        const seam::unlocked meanwhile{mutex_};
        taken = to->write_some(sending_);
      }
      // What is left of it goes before what has come meanwhile. It counts as sent.
      if (taken < sending_.size() && stream_ == to) out_.insert(0, sending_, taken);
    } catch (...) {
      failure = std::current_exception();
    }
    fits = !failure && taken == sending_.size() && !to->lags();
    sending_.clear();
    end_write();
    if (failure && stream_ != to) failure = nullptr;
  }
  writing_ = false;
  if (failure) std::rethrow_exception(failure);
  if (!fits) needs_reader_();
}

// Somebody else writes just now, and takes what has gathered meanwhile as soon as that is done. It
// takes microseconds: to park would cost more, and whoever else wants to run may do so.
void connection::await_written() {
  if (slow_write_ == writes_begun_) return;  // no room: the others go to the background, too
  const std::uint64_t current = writes_begun_;
  const std::uint64_t mine = current + 1;
  const time_point until = clock_.now() + write_patience;
  {
    const seam::unlocked meanwhile{mutex_};
    while (writes_ended_.load() < mine && clock_.now() < until) std::this_thread::yield();
  }
  if (writes_ended_.load() < current) slow_write_ = current;
  if (writes_ended_.load() < mine && !writing_) flush_what_fits();
}

void connection::settle(pending& slot) {
  const reply& said = slot.answers[0];
  if (!said.failed() && (said.size() != 1 || said.at(0).is != reply::kind::integer)) {
    keep_posted(slot, true);
    throw make_error(errc::protocol, where_.shown() + " does not answer a release by a number");
  }
  const seam::parting_ref one = std::move(slot.posted);
  if (!said.failed()) {
    const bool released = cursor{said}.number() == 1;
    if (released || !one->note.maybe_done) {
      one->note.answer =
          released ? seam::release_answer::released : seam::release_answer::not_owner;
    }
    give_back(slot);
    settled_.push(one);
    return;
  }
  resent_.fetch_add(1);
  if (script_unknown(said) && !std::exchange(one->note.by_text, true)) {
    give_back(slot);
    return enqueue_posted(one);  // before whoever is woken by the answers behind it asks again
  }
  if (needs_new_connection(said.failure())) {
    moved_ = error_in(said.failure(), where_.shown(), one->leaving().name->view());
  }
  give_back(slot);
  resend_at_ = clock_.now() + resend_pause;
  unsettled_.push(one);
}

void connection::keep_posted(pending& slot, bool maybe_done) {
  resent_.fetch_add(1);
  seam::parting_ref one = std::move(slot.posted);
  one->note.maybe_done = one->note.maybe_done || maybe_done;
  one->note.by_text = false;
  give_back(slot);
  unsettled_.push(std::move(one));
}

// A new connection: they go before everything that has gathered.
void connection::resend_first() {
  drop_unsettled(clock_.now());
  if (unsettled_.empty()) return;
  std::string later;
  later.swap(out_);
  const std::size_t behind = in_flight_.size();
  seam::parting_queue again;
  again.swap(unsettled_);
  while (!again.empty()) enqueue_posted(again.pop());
  // They were put behind those who wait already: turn the queue until they are in front.
  for (std::size_t i = 0; i < behind; ++i) {
    pending& first = in_flight_.front();
    in_flight_.pop();
    in_flight_.push(first);
  }
  out_ += later;
}

// By whoever asks next, so that nobody meets an old hold of its own; else when it is time.
void connection::resend_refused() {
  if (unsettled_.empty()) return;
  seam::parting_queue again;
  again.swap(unsettled_);
  while (!again.empty()) enqueue_posted(again.pop());
}

// Nobody will hear of those whose lease must have ended by then.
void connection::drop_unsettled(time_point now) {
  seam::parting_queue kept;
  while (!unsettled_.empty()) {
    seam::parting_ref one = unsettled_.pop();
    (one->until <= now ? settled_ : kept).push(std::move(one));
  }
  unsettled_.swap(kept);
}

void connection::tell_settled() {
  while (!settled_.empty() || moved_) {
    seam::parting_queue ended;
    ended.swap(settled_);
    const std::optional<error> moved = std::exchange(moved_, std::nullopt);
    const seam::unlocked meanwhile{mutex_};
    while (!ended.empty()) {
      const seam::parting_ref one = ended.pop();
      one->left(one->note.answer);
    }
    if (moved) posting_.moved(*moved);
  }
}

}  // namespace crosslock::redis
