// Requests that nobody waits for, and the ends of a connection.
#include "engines/redis/connection.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::redis {

void connection::send(const command& what, time_point give_up, on_answer done) {
  guard held{mutex_};
  pending& mine = enqueue(1, give_up);
  mine.done = std::move(done);
  what.write(out_);
  if (led_) {
    if (far_) flush_beside_leader(held, give_up);
    return;
  }
  // Without a stream the reader opens one: connecting would block us.
  if (stream_) {
    led_ = true;
    hand_over(held, give_up);  // writes, then rings for the reader
    return;
  }
  held.unlock();
  needs_reader_();
}

void connection::open(time_point give_up) {
  guard held{mutex_};
  while (!stream_) {
    if (closed_) throw make_error(errc::closed, "the client was closed");
    if (led_) return;  // somebody else is at it
    led_ = true;
    try {
      connect(held, give_up);
    } catch (const error& why) {
      fail_all(held, why);
      hand_over(held, give_up);
      throw;
    }
    hand_over(held, give_up);
  }
}

void connection::renounce(const error& why) {
  guard held{mutex_};
  if (!stream_) return;
  if (led_) {
    stream_->cut();  // the leader finds out
    return;
  }
  fail_all(held, why);
}

connection::watch connection::needs_reading() {
  const std::lock_guard held{mutex_};
  watch found;
  if (closed_) return found;
  if (stream_ && !hung_up_) found.descriptor = stream_->descriptor();
  if (led_) return found;
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    if (in_flight_[i].done) found.until = std::min(found.until, in_flight_[i].give_up);
  }
  found.to_be_read = found.until != time_point::max();
  const bool at_once = !stream_ || hung_up_ || stream_->read_ahead();
  if (found.to_be_read && at_once) found.until = clock_.now();
  return found;
}

void connection::note_hang_up(int descriptor) {
  guard held{mutex_};
  // The number may belong to another connection by now.
  if (!stream_ || stream_->descriptor() != descriptor || !stream_->hung_up()) return;
  hung_up_ = true;
  if (led_) return;  // whoever reads finds out
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    if (!in_flight_[i].abandoned) return;  // an errand: it will be read for
  }
  fail_all(held, make_error(errc::unreachable, where_.shown() + " has hung up"));
}

void connection::read_what_is_there() {
  guard held{mutex_};
  if (led_ || closed_ || in_flight_.empty()) return;
  led_ = true;
  time_point last = time_point::min();
  try {
    for (std::size_t i = 0; i < in_flight_.size(); ++i)
      last = std::max(last, in_flight_[i].give_up);
    if (!stream_) connect(held, last);
    flush(held, last);
    read_once(held, clock_.now());
    const time_point now = clock_.now();
    for (std::size_t i = 0; i < in_flight_.size(); ++i) {
      pending& one = in_flight_[i];
      if (!one.done || one.give_up > now) continue;
      const auto done = std::move(one.done);
      one.done = nullptr;
      one.abandoned = true;
      const time_point asked = one.asked;
      const error late =
          make_error(errc::timed_out, where_.shown() + " did not answer in time", 0, true);
      held.unlock();
      done(nullptr, &late);
      held.lock();
      if (silent_since(asked, now)) throw silence();
    }
  } catch (const error& why) {
    if (!held.owns_lock()) held.lock();
    fail_all(held, why);
  }
  hand_over(held, last);
}

void connection::close() noexcept {
  guard held{mutex_};
  closed_ = true;
  if (led_) {
    if (stream_) stream_->cut();
    return;  // the leader fails everybody, himself too
  }
  try {
    fail_all(held, make_error(errc::closed, "the client was closed"));
  } catch (const std::exception&) {
    stream_.reset();  // out of memory: who waits here gives up in time
  }
}

void connection::abandon() noexcept {
  // The mutex may be locked by a thread of the parent.
  if (stream_) stream_->close_descriptor_only();
}

}  // namespace crosslock::redis
