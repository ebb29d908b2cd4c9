// The way of a call: enqueue, then lead or wait. Whoever leads has the seat; whoever writes holds
// `writing_`; the mutex is never held while bytes move or anybody is woken.
#include "engines/redis/connection.hpp"

#include "engine/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t read_at_once = std::size_t{16} << 10;
/// Below this, requests that come while the leader waits for an answer may wait with it: they will
/// travel together. Above, each goes out at once.
constexpr duration near_enough = 200us;
constexpr std::uint32_t round_trips_judged = 64;
/// So many requests are worth a write of their own, so that the server has something to do while
/// answers are read.
constexpr std::size_t gathered_enough = 8;
/// A call may have less time than a server needs that is merely slow.
constexpr duration silence_counts_after = 50ms;
constexpr duration silence_counts_surely = 1s;
/// Pauses between tries to connect.
constexpr retry_options reconnecting{.base = 5ms, .tries = 0, .cap = 500ms};

error without_outcome(const error& why) {
  // An error appends what its code means: once is enough.
  std::string text{why.what()};
  const std::string meaning = ": " + why.code().message();
  if (text.ends_with(meaning)) text.resize(text.size() - meaning.size());
  return {why.which(),
          text,
          {.engine = "redis", .native_code = why.native_code(), .outcome_unknown = true}};
}

}  // namespace

connection::connection(address where, duration timeout, seam::clock& clock, login log_in,
                       alarm needs_reader, posting releases)
    : where_{std::move(where)},
      timeout_{timeout},
      clock_{clock},
      log_in_{std::move(log_in)},
      needs_reader_{std::move(needs_reader)},
      posting_{std::move(releases)},
      buffer_(read_at_once) {}

connection::~connection() = default;

error connection::as_error(const std::exception& why) {
  if (const auto* const ours = dynamic_cast<const error*>(&why)) return *ours;
  return make_error(errc::unreachable, why.what());
}

connection::answers::answers(answers&& other) noexcept
    : home_{other.home_}, slot_{std::exchange(other.slot_, nullptr)} {}

connection::answers::~answers() {
  if (slot_ == nullptr) return;
  const seam::lock_guard held{home_->mutex_};
  home_->give_back(*slot_);
}

pending* connection::take_slot() {
  if (free_slots_.empty()) {
    free_slots_.reserve(slots_.size() + 1);  // first: giving back never fails
    slots_.push_back(std::make_unique<pending>());
    return slots_.back().get();
  }
  pending* const slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void connection::give_back(pending& slot) noexcept {
  slot.done = nullptr;
  slot.posted = nullptr;
  slot.failure.reset();
  free_slots_.push_back(&slot);
}

// A slot without its bytes would give every later answer to the wrong caller: whatever may fail
// comes before the slot is queued.
template <class Write>
pending& connection::enqueue(std::size_t count, time_point give_up, const Write& write) {
  if (closed_) throw make_error(errc::closed, "the client was closed");
  in_flight_.make_room();
  callbacks_.reserve(in_flight_.room());  // whoever completes it must not fail
  pending& mine = *take_slot();
  const std::size_t before = out_.size();
  try {
    if (mine.answers.size() < count) mine.answers.resize(count);
    write(out_);
  } catch (...) {
    out_.resize(before);
    give_back(mine);
    throw;
  }
  mine.caller.begin();
  mine.expected = count;
  mine.got = 0;
  mine.abandoned = false;
  mine.asked = clock_.now();
  mine.give_up = give_up;
  in_flight_.push(mine);
  ++unsent_;
  return mine;
}

void connection::enqueue_posted(const seam::parting_ref& one) {
  try {
    if (!stream_ || closed_) {
      unsettled_.push(one);
      return;
    }
    // The first on each connection brings its text: a process may end before it could hear that
    // the server does not know the script.
    const bool by_text = one->note.by_text || !text_sent_;
    pending& mine = enqueue(1, clock_.now() + timeout_, [&](std::string& out) {
      posting_.write(out, one->leaving(), by_text);
    });
    text_sent_ = true;
    mine.posted = one;
  } catch (const std::exception&) {
    unsettled_.push(one);  // no memory: it needs none there, and goes on later
  }
}

connection::answers connection::call(const command& what, time_point give_up) {
  seam::unique_lock held{mutex_};
  if (stream_) resend_refused();
  pending& mine = enqueue(1, give_up, [&](std::string& out) { what.write(out); });
  await_answer(held, mine);
  return {*this, mine};
}

void connection::send(const command& what, time_point give_up, on_answer done) {
  seam::unique_lock held{mutex_};
  if (stream_) resend_refused();
  pending& mine = enqueue(1, give_up, [&](std::string& out) { what.write(out); });
  mine.done = std::move(done);
  if (seat_.taken()) {
    if (far_) flush_beside_leader(give_up);
    return;
  }
  // Without a stream the reader opens one: connecting would block us.
  if (stream_) {
    seat_.take();
    hand_over(give_up);  // writes, then rings for the reader
    return;
  }
  held.unlock();
  needs_reader_();
}

connection::answers connection::call_all(std::size_t count,
                                         const std::function<void(std::string&)>& write,
                                         time_point give_up) {
  seam::unique_lock held{mutex_};
  pending& mine = enqueue(count, give_up, write);
  await_answer(held, mine);
  return {*this, mine};
}

void connection::await_answer(seam::unique_lock& held, pending& mine) {
  bool in_time = false;
  if (seat_.take()) {
    in_time = lead(mine);
  } else {
    if (far_ || unsent_ >= gathered_enough) flush_beside_leader(mine.give_up);
    in_time = wait(held, mine);
  }
  if (!in_time) {
    throw without_outcome(silence());
  }
  if (!mine.failure) return;
  const error why = *mine.failure;
  if (!held.owns_lock()) held.lock();
  give_back(mine);
  throw error{why};
}

bool connection::wait(seam::unique_lock& held, pending& mine) {
  using state = seam::passenger::state;
  held.unlock();
  if (mine.caller.ride(clock_, mine.give_up) == state::served) return true;
  held.lock();
  switch (mine.caller.now()) {
    case state::served:
      return true;
    case state::drives:
      mine.caller.begin();
      return lead(mine);
    case state::waits:
      break;
  }
  mine.abandoned = true;
  if (stream_ && silent_since(mine.asked, clock_.now())) stream_->cut();
  return false;
}

bool connection::lead(pending& mine) {
  leader_ = &mine;
  const time_point give_up = mine.give_up;
  bool in_time = true;
  std::optional<error> failure;
  try {
    if (!stream_) connect(mine.give_up);
    for (;;) {
      if (closed_) throw make_error(errc::closed, "the client was closed");
      flush(mine.give_up);
      if (mine.caller.is_served()) break;
      read_once(mine.give_up);
      if (mine.caller.is_served()) break;
      if (clock_.now() < mine.give_up) continue;
      in_time = false;
      mine.abandoned = true;
      if (silent_since(mine.asked, clock_.now())) throw silence();
      break;
    }
  } catch (const std::exception& why) {
    failure = as_error(why);
  }
  if (failure) fail_all(closed_ ? make_error(errc::closed, "the client was closed") : *failure);
  hand_over(give_up);
  return in_time;
}

// Not with the mutex while the server is spoken to.
void connection::connect(time_point give_up) {
  if (clock_.now() < next_try_ && last_failure_) throw *last_failure_;
  std::shared_ptr<stream> fresh;
  time_point began{};
  try {
    const seam::unlocked meanwhile{mutex_};
    began = clock_.now();
    parser_.reset();
    fresh = stream::connect(where_, clock_, give_up);
    log_in_(*fresh, parser_, give_up);
  } catch (const error& why) {
    next_try_ =
        clock_.now() +
        seam::retry_delay(reconnecting, static_cast<std::uint64_t>(failures_++), ~std::uint64_t{0});
    last_failure_ = why;
    throw;
  }
  failures_ = 0;
  last_failure_.reset();
  hung_up_ = false;
  heard_at_ = clock_.now();
  // Connecting takes at least two round trips.
  usual_ = (heard_at_ - began) / 2;
  stream_ = std::move(fresh);
  text_sent_ = false;
  resend_first();
  const seam::unlocked meanwhile{mutex_};
  needs_reader_();  // there is another descriptor to watch
}

// Writes what has gathered, unless somebody does so already. A server that takes
// nothing for as long as whoever writes has time is as good as silent.
void connection::flush(time_point give_up) {
  if (writing_) return;
  writing_ = true;
  std::exception_ptr failure;
  try {
    write_gathered(give_up);
  } catch (...) {
    failure = std::current_exception();
  }
  writing_ = false;
  if (failure) std::rethrow_exception(failure);
}

void connection::write_gathered(time_point give_up) {
  // Another connection may have taken the place of a broken one meanwhile: then it is its turn.
  while (stream_ && (!out_.empty() || stream_->lags())) {
    const std::shared_ptr<stream> to = stream_;
    const time_point now = begin_write();
    const duration least = std::min(silence_counts_after, timeout_);
    std::exception_ptr failure;
    try {
      const seam::unlocked meanwhile{mutex_};
      to->write_all(sending_, std::clamp(give_up, now + least, now + timeout_));
    } catch (...) {
      failure = std::current_exception();
    }
    sending_.clear();
    end_write();
    if (failure && stream_ == to) std::rethrow_exception(failure);
  }
}

// What has gathered is the writer's from now on.
time_point connection::begin_write() {
  const time_point now = clock_.now();
  const bool asks = unsent_ > 0 && !in_flight_[in_flight_.size() - 1].posted;
  if (!measured_ && asks) {
    measured_ = &in_flight_[in_flight_.size() - 1];
    asked_at_ = now;
  }
  sending_.swap(out_);
  unsent_ = 0;
  ++writes_begun_;
  return now;
}

void connection::end_write() { writes_ended_.store(writes_begun_); }

// Whatever goes wrong is the leader's to deal with.
void connection::flush_beside_leader(time_point give_up) {
  try {
    flush(give_up);
  } catch (const std::exception&) {
    if (stream_) stream_->cut();
  }
}

void connection::read_once(time_point until) {
  const std::shared_ptr<stream> from = stream_;
  std::size_t count = 0;
  {
    const seam::unlocked meanwhile{mutex_};
    count = from->read_some(buffer_, until);
    if (count > 0) parser_.feed({buffer_.data(), count});
  }
  if (count > 0) dispatch();
}

// Gives every complete answer to whom it belongs.
void connection::dispatch() {
  heard_at_ = clock_.now();
  while (parser_.next(current_)) {
    if (in_flight_.size() <= unsent_) {
      throw make_error(errc::protocol, where_.shown() + " answers what nobody asked");
    }
    pending& first = in_flight_.front();
    std::swap(first.answers[first.got++], current_);
    if (first.got < first.expected) continue;
    in_flight_.pop();
    note_round_trip(first);
    if (first.posted) {
      settle(first);
    } else {
      end_slot(first);
    }
  }
  wake_completed();
  run_callbacks();
}

// Answered, or failed.
void connection::end_slot(pending& slot) {
  if (slot.abandoned) {
    give_back(slot);
  } else if (slot.done) {
    callbacks_.push_back(&slot);
  } else {
    slot.caller.serve();
    if (&slot != leader_) wake_soon(slot.caller.word());
  }
}

void connection::wake_soon(seam::park_word& word) {
  try {
    awake_.push_back(&word);
  } catch (const std::bad_alloc&) {
    clock_.unpark(word);
  }
}

// Only a leader finds anybody here: without one nobody waits.
void connection::wake_completed() {
  if (awake_.empty()) return;
  {
    const seam::unlocked meanwhile{mutex_};
    // A slot may be in use again by now: then somebody wakes for nothing, and sleeps on.
    for (seam::park_word* const one : awake_) clock_.unpark(*one);
  }
  awake_.clear();
}

void connection::run_callbacks() {
  while (!callbacks_.empty()) {
    pending& one = *callbacks_.back();
    callbacks_.pop_back();
    const auto done = std::move(one.done);
    if (closed_) {
      give_back(one);
      continue;
    }
    {
      const seam::unlocked meanwhile{mutex_};
      done(one.failure ? nullptr : &one.answers[0], one.failure ? &*one.failure : nullptr);
    }
    give_back(one);
  }
  tell_settled();
}

void connection::note_round_trip(const pending& answered) {
  if (measured_ != &answered) return;
  measured_ = nullptr;
  const duration taken = heard_at_ - asked_at_;
  // The shortest of some: the others say how busy this machine is, not how far the server is.
  shortest_ = std::min(shortest_, taken);
  if (++round_trips_ % round_trips_judged != 0) return;
  usual_ = std::exchange(shortest_, duration::max());
  far_ = usual_ > near_enough;
}

// Not a byte has come since that request: the connection may be dead without
// anybody having said so. Whoever tries again had better not do so on the same one.
bool connection::silent_since(time_point asked, time_point now) const noexcept {
  return heard_at_ < asked &&
         now - asked >= std::clamp(4 * usual_, silence_counts_after, silence_counts_surely);
}

error connection::silence() const {
  return make_error(errc::timed_out, where_.shown() + " did not answer in time");
}

// Nobody leads any more unless somebody else is found who must.
void connection::hand_over(time_point give_up) {
  leader_ = nullptr;
  try {
    if (give_up > clock_.now()) {
      flush(give_up);
    } else {
      flush_what_fits();
    }
  } catch (const std::exception& why) {
    fail_all(as_error(why));
  }
  bool callbacks = false;
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    pending& one = in_flight_[i];
    callbacks = callbacks || (one.done && !one.abandoned);
    if (!one.is_waited_for()) continue;
    seam::park_word& next = seam::seat::pass_to(one.caller);
    const seam::unlocked meanwhile{mutex_};
    clock_.unpark(next);
    return;
  }
  seat_.leave();
  if (closed_) return fail_all(make_error(errc::closed, "the client was closed"));
  if (hung_up_ && !callbacks && stream_) {
    fail_all(make_error(errc::unreachable, where_.shown() + " has hung up"));
    return;
  }
  if (!callbacks) return;
  const seam::unlocked meanwhile{mutex_};
  needs_reader_();
}

void connection::fail_all(const error& why) {
  const std::shared_ptr<stream> broken = std::exchange(stream_, nullptr);
  if (broken) broken->cut();
  measured_ = nullptr;
  for (std::size_t sent = in_flight_.size() - unsent_; !in_flight_.empty(); in_flight_.pop()) {
    pending& one = in_flight_.front();
    const bool maybe_done = sent > 0;
    if (maybe_done) --sent;
    if (one.posted) {
      keep_posted(one, maybe_done);
      continue;
    }
    if (!one.abandoned) one.failure.emplace(maybe_done ? without_outcome(why) : why);
    end_slot(one);
  }
  out_.clear();
  unsent_ = 0;
  if (closed_) drop_unsettled(time_point::max());
  if (!unsettled_.empty()) needs_reader_();
  wake_completed();
  run_callbacks();
}

}  // namespace crosslock::redis
