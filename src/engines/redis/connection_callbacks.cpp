// Opening, reading for those who do not wait, and the ends of a connection.
#include "engines/redis/connection.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

/// How long the answer of a release may lie unread.
constexpr duration answers_rest = 10ms;

}  // namespace

void connection::open(time_point give_up) {
  const seam::lock_guard held{mutex_};
  while (!stream_) {
    if (closed_) throw make_error(errc::closed, "the client was closed");
    if (!seat_.take()) return;  // somebody else is at it
    try {
      connect(give_up);
    } catch (const std::exception& why) {
      fail_all(as_error(why));
      hand_over(give_up);
      throw;
    }
    hand_over(give_up);
  }
}

void connection::renounce(const error& why, const std::function<void()>& leaving) {
  const seam::lock_guard held{mutex_};
  if (!stream_) return;  // given up already: another may be logged in just now
  leaving();
  if (seat_.taken()) {
    stream_->cut();  // the leader finds out
    return;
  }
  fail_all(why);
}

connection::watch connection::needs_reading() {
  const seam::lock_guard held{mutex_};
  watch found;
  if (closed_) return found;
  if (stream_ && !hung_up_) found.descriptor = stream_->descriptor();
  const time_point now = clock_.now();
  if (seat_.taken()) {
    // Whoever reads may have gone before the last release is answered, or sent again.
    found.posted = !unsettled_.empty();
    for (std::size_t i = 0; i < in_flight_.size(); ++i) {
      if (in_flight_[i].posted) found.posted = true;
    }
    if (found.posted) found.until = now + answers_rest;
    return found;
  }
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    const pending& one = in_flight_[i];
    // For a while somebody who comes by may read the answer of a release.
    const bool young = one.posted && one.asked + answers_rest > now && !hurry_;
    found.posted = found.posted || one.posted;
    found.to_be_read = found.to_be_read || one.done || (one.posted && !young);
    if (one.done || one.posted) {
      found.until = std::min(found.until, young ? one.asked + answers_rest : overdue_at(one));
    }
  }
  const bool at_once = !stream_ || hung_up_ || stream_->read_ahead();
  if (found.to_be_read && at_once) found.until = now;
  found.to_be_written = stream_ && !writing_ && (!out_.empty() || stream_->lags());
  if (!unsettled_.empty()) {
    found.posted = true;
    found.until = std::min(found.until, stream_ ? resend_at_ : next_try_);
  }
  return found;
}

void connection::note_hang_up(int descriptor) {
  const seam::lock_guard held{mutex_};
  // The number may belong to another connection by now.
  if (!stream_ || stream_->descriptor() != descriptor || !stream_->hung_up()) return;
  hung_up_ = true;
  if (seat_.taken()) return;  // whoever reads finds out
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    if (!in_flight_[i].abandoned) return;  // a callback: it will be read for
  }
  fail_all(make_error(errc::unreachable, where_.shown() + " has hung up"));
}

void connection::do_what_is_there() {
  const seam::lock_guard held{mutex_};
  drop_unsettled(clock_.now());
  tell_settled();
  if (closed_ || (in_flight_.empty() && unsettled_.empty()) || !seat_.take()) return;
  time_point last = clock_.now() + timeout_;
  try {
    for (std::size_t i = 0; i < in_flight_.size(); ++i)
      last = std::max(last, in_flight_[i].give_up);
    if (!stream_) connect(last);
    if (clock_.now() >= resend_at_) resend_refused();
    flush_what_fits();
    read_once(clock_.now());
    give_up_overdue(clock_.now());
  } catch (const std::exception& why) {
    fail_all(as_error(why));
  }
  hand_over(last);
}

/// A release is in no hurry, but a server that has said nothing for so long is asked elsewhere.
time_point connection::overdue_at(const pending& one) const noexcept {
  return one.posted ? std::max(one.asked, heard_at_) + timeout_ : one.give_up;
}

// Of those that nobody waits for. A release is not given up, but goes over another connection.
void connection::give_up_overdue(time_point now) {
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    pending& one = in_flight_[i];
    if ((!one.done && !one.posted) || overdue_at(one) > now) continue;
    if (one.posted) throw silence();
    const time_point asked = one.asked;
    const auto done = std::exchange(one.done, nullptr);
    one.abandoned = true;
    const error late =
        make_error(errc::timed_out, where_.shown() + " did not answer in time", 0, true);
    {
      const seam::unlocked meanwhile{mutex_};
      done(nullptr, &late);
    }
    if (silent_since(asked, now)) throw silence();
  }
}

void connection::close() noexcept {
  const seam::lock_guard held{mutex_};
  closed_ = true;
  if (seat_.taken()) {
    if (stream_) stream_->cut();
    return;  // the leader fails everybody, himself too
  }
  try {
    fail_all(make_error(errc::closed, "the client was closed"));
  } catch (const std::exception&) {
    stream_.reset();  // out of memory: who waits here gives up in time
  }
}

void connection::abandon() noexcept {
  // The mutex may be locked by a thread of the parent.
  if (stream_) stream_->close_descriptor_only();
}

}  // namespace crosslock::redis
