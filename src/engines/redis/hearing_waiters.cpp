// Threads that wait for news, one of which reads for all. Whoever has got what it waited for passes
// the stream to the one that has waited longest: on a name that many want it is the next to be
// told, and then awake already.
#include "engines/redis/descriptors.hpp"
#include "engines/redis/hearing.hpp"

#include <array>
#include <utility>

namespace crosslock::redis {
namespace {

/// Whose news this thread reads just now, among others: it need not be woken.
thread_local const hearing::waiter* reading_for = nullptr;

}  // namespace

void hearing::await(waiter& me, time_point until) {
  {
    const seam::lock_guard guard{mutex_};
    waiters_.push_back(&me);
  }
  bool broken = false;
  for (;;) {
    const std::uint32_t seen = me.bell.load();
    if (is_over_for(me, until)) break;
    if (!begin_to_listen(me)) {
      clock_.park(me.bell, seen, until);
      continue;
    }
    try {
      listen_for(me, until);
    } catch (const std::exception&) {
      broken = true;
      break;
    }
  }
  pass_on(me, broken);
}

bool hearing::is_over_for(const waiter& me, time_point until) const noexcept {
  return me.word.load() != me.expected || me.sent_on.load() || clock_.now() >= until;
}

bool hearing::begin_to_listen(waiter& me) {
  const time_point now = clock_.now();
  const seam::lock_guard guard{mutex_};
  if (me.reads) return true;
  const bool often = now - std::exchange(last_wait_, now) < closely;
  if (!connected_ || broken_) return false;
  const bool thread_is_busy = work_by_.load() != 0;
  const bool ours = reader_ == reader::thread && (often || thread_is_busy);
  if (reader_ != reader::nobody && !ours) return false;
  reader_ = reader::waiter;
  me.reads = true;
  return true;
}

// While the thread connects for one client, which may take as long as that waits for a server, it
// does not read for the others.
void hearing::let_a_waiter_read() noexcept {
  seam::park_word* next = nullptr;
  {
    const seam::lock_guard guard{mutex_};
    if (reader_ != reader::thread || !connected_ || broken_ || waiters_.empty()) return;
    reader_ = reader::waiter;
    waiters_.front()->reads = true;
    next = &waiters_.front()->bell;
    next->fetch_add(1);
  }
  clock_.unpark(*next);  // only its address is used
}

void hearing::listen_for(waiter& me, time_point until) {
  for (;;) {
    // Said before the word is looked at: whoever changes it later nudges.
    me.polls.store(true);
    const bool over = is_over_for(me, until);
    std::array<pollfd, 2> watched{{{.fd = stream_->descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = nudge_, .events = POLLIN, .revents = 0}}};
    const bool ahead = stream_->read_ahead();
    if (!over && !ahead) {
      const bool forever = until == time_point::max();
      static_cast<void>(::poll(watched.data(), watched.size(),
                               forever ? -1 : poll_milliseconds(until - clock_.now())));
    }
    me.polls.store(false);
    if (over) return;
    if (watched[1].revents != 0) silence_at(nudge_);
    if (watched[0].revents == 0 && !ahead) continue;
    const waiter* const before = std::exchange(reading_for, &me);
    try {
      read_news();
    } catch (...) {
      reading_for = before;
      throw;
    }
    reading_for = before;
  }
}

void hearing::rouse(waiter& whom) noexcept {
  if (reading_for == &whom) return;
  whom.bell.fetch_add(1);
  clock_.unpark(whom.bell);
  if (whom.polls.load()) ring_at(nudge_);
}

void hearing::pass_on(waiter& me, bool broken) noexcept {
  bool needs_thread = broken;
  seam::park_word* next = nullptr;
  {
    const seam::lock_guard guard{mutex_};
    std::erase(waiters_, &me);
    broken_ = broken_ || broken;
    if (!me.reads) return;
    if (broken_ || waiters_.empty()) {
      reader_ = reader::nobody;
      needs_thread = broken_ || somebody_is_absent();
    } else {
      waiters_.front()->reads = true;
      next = &waiters_.front()->bell;
      next->fetch_add(1);
    }
  }
  if (next != nullptr) clock_.unpark(*next);  // only its address is used
  if (needs_thread) ring();
}

}  // namespace crosslock::redis
