// The way of a call: enqueue, then lead or wait. Whoever leads holds `led_`; whoever writes holds
// `writing_`; the mutex is never held while bytes move or anybody is woken.
#include "engines/redis/connection.hpp"

#include "engine/backoff.hpp"

#include <algorithm>
#include <chrono>
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

connection::connection(address where, duration timeout, seam::clock& clock, greeting greet,
                       alarm needs_reader)
    : where_{std::move(where)},
      timeout_{timeout},
      clock_{clock},
      greet_{std::move(greet)},
      needs_reader_{std::move(needs_reader)},
      buffer_(read_at_once) {}

connection::~connection() = default;

connection::answers::answers(answers&& other) noexcept
    : home_{other.home_}, place_{std::exchange(other.place_, nullptr)} {}

connection::answers::~answers() {
  if (place_ == nullptr) return;
  const std::lock_guard held{home_->mutex_};
  home_->give_back(*place_);
}

pending* connection::take_place() {
  if (free_places_.empty()) {
    places_.push_back(std::make_unique<pending>());
    free_places_.reserve(places_.size());
    return places_.back().get();
  }
  pending* const place = free_places_.back();
  free_places_.pop_back();
  return place;
}

void connection::give_back(pending& place) noexcept {
  place.done = nullptr;
  place.failure.reset();
  free_places_.push_back(&place);
}

// The mutex is held. The request itself is written to out_ by the caller.
pending& connection::enqueue(std::size_t count, time_point give_up) {
  if (closed_) throw make_error(errc::closed, "the client was closed");
  pending& mine = *take_place();
  mine.state.store(pending::waiting, std::memory_order_relaxed);
  mine.expected = count;
  mine.got = 0;
  if (mine.answers.size() < count) mine.answers.resize(count);
  mine.abandoned = false;
  mine.asked = clock_.now();
  mine.give_up = give_up;
  in_flight_.push(mine);
  ++unsent_;
  return mine;
}

connection::answers connection::call(const command& what, time_point give_up) {
  guard held{mutex_};
  pending& mine = enqueue(1, give_up);
  what.write(out_);
  settle(held, mine);
  return {*this, mine};
}

connection::answers connection::call_all(std::size_t count,
                                         const std::function<void(std::string&)>& write,
                                         time_point give_up) {
  guard held{mutex_};
  pending& mine = enqueue(count, give_up);
  write(out_);
  settle(held, mine);
  return {*this, mine};
}

void connection::settle(guard& held, pending& mine) {
  bool in_time = false;
  if (led_) {
    if (far_ || unsent_ >= gathered_enough) flush_beside_leader(held, mine.give_up);
    in_time = wait(held, mine);
  } else {
    led_ = true;
    in_time = lead(held, mine);
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

bool connection::wait(guard& held, pending& mine) {
  held.unlock();
  for (;;) {
    const std::uint32_t state = mine.state.load(std::memory_order_acquire);
    if (state == pending::settled) return true;
    if (state == pending::must_lead || clock_.now() >= mine.give_up) break;
    clock_.park(mine.state, state, mine.give_up);
  }
  held.lock();
  switch (mine.state.load(std::memory_order_relaxed)) {
    case pending::settled:
      return true;
    case pending::must_lead:
      mine.state.store(pending::waiting, std::memory_order_relaxed);
      return lead(held, mine);
    default:
      mine.abandoned = true;
      if (stream_ && silent_since(mine.asked, clock_.now())) stream_->cut();
      return false;
  }
}

// The mutex is held, before and after.
bool connection::lead(guard& held, pending& mine) {
  leader_ = &mine;
  const time_point give_up = mine.give_up;
  bool in_time = true;
  std::optional<error> failure;
  try {
    if (!stream_) connect(held, mine.give_up);
    for (;;) {
      flush(held, mine.give_up);
      if (mine.state.load(std::memory_order_relaxed) == pending::settled) break;
      if (closed_) throw make_error(errc::closed, "the client was closed");
      read_once(held, mine.give_up);
      if (mine.state.load(std::memory_order_relaxed) == pending::settled) break;
      if (clock_.now() < mine.give_up) continue;
      in_time = false;
      mine.abandoned = true;
      if (silent_since(mine.asked, clock_.now())) throw silence();
      break;
    }
  } catch (const error& why) {
    failure = why;
  } catch (const std::exception& why) {
    failure = make_error(errc::unreachable, why.what());
  }
  if (!held.owns_lock()) held.lock();
  if (failure)
    fail_all(held, closed_ ? make_error(errc::closed, "the client was closed") : *failure);
  hand_over(held, give_up);
  return in_time;
}

// The mutex is held, and again when it returns; not while the server is spoken to.
void connection::connect(guard& held, time_point give_up) {
  if (clock_.now() < next_try_ && last_failure_) throw *last_failure_;
  held.unlock();
  std::shared_ptr<stream> fresh;
  const time_point began = clock_.now();
  try {
    parser_.reset();
    fresh = stream::connect(where_, clock_, give_up);
    greet_(*fresh, parser_, give_up);
  } catch (const error& why) {
    held.lock();
    next_try_ =
        clock_.now() +
        seam::retry_delay(reconnecting, static_cast<std::uint64_t>(failures_++), ~std::uint64_t{0});
    last_failure_ = why;
    throw;
  }
  held.lock();
  failures_ = 0;
  last_failure_.reset();
  hung_up_ = false;
  heard_at_ = clock_.now();
  // Connecting takes at least two round trips.
  usual_ = (heard_at_ - began) / 2;
  stream_ = std::move(fresh);
  held.unlock();
  needs_reader_();  // there is another descriptor to watch
  held.lock();
}

// The mutex is held. Writes what has gathered, unless somebody does so already. A server that takes
// nothing for as long as whoever writes has time is as good as silent.
void connection::flush(guard& held, time_point give_up) {
  if (writing_) return;
  writing_ = true;
  // Another connection may have taken the place of a broken one meanwhile: then it is its turn.
  while (!out_.empty() && stream_) {
    const std::shared_ptr<stream> to = stream_;
    sending_.swap(out_);
    unsent_ = 0;
    const time_point now = clock_.now();
    const duration least = std::min(silence_counts_after, timeout_);
    if (asked_at_ == time_point{}) asked_at_ = now;
    held.unlock();
    std::optional<error> failure;
    try {
      to->write_all(sending_, std::clamp(give_up, now + least, now + timeout_));
    } catch (const error& why) {
      failure = why;
    }
    sending_.clear();
    held.lock();
    if (failure && stream_ == to) {
      writing_ = false;
      throw error{*failure};
    }
  }
  writing_ = false;
}

// The mutex is held. Whatever goes wrong is the leader's to deal with.
void connection::flush_beside_leader(guard& held, time_point give_up) {
  try {
    flush(held, give_up);
  } catch (const error&) {
    if (stream_) stream_->cut();
  }
}

// The mutex is held, before and after.
void connection::read_once(guard& held, time_point until) {
  const std::shared_ptr<stream> from = stream_;
  held.unlock();
  const std::size_t count = from->read_some(buffer_, until);
  if (count > 0) parser_.feed({buffer_.data(), count});
  held.lock();
  if (count > 0) dispatch(held);
}

// The mutex is held, before and after. Gives every complete answer to whom it belongs.
void connection::dispatch(guard& held) {
  heard_at_ = clock_.now();
  note_round_trip(heard_at_);
  while (parser_.next(current_)) {
    if (in_flight_.size() <= unsent_) {
      throw make_error(errc::protocol, where_.shown() + " answers what nobody asked");
    }
    pending& first = in_flight_.front();
    std::swap(first.answers[first.got++], current_);
    if (first.got < first.expected) continue;
    in_flight_.pop();
    if (first.abandoned) {
      give_back(first);
    } else if (first.done) {
      errands_.push_back(&first);
    } else {
      first.state.store(pending::settled, std::memory_order_release);
      if (&first != leader_) awake_.push_back(&first.state);
    }
  }
  wake_settled(held);
  run_errands(held);
}

// The mutex is held, before and after. Only a leader finds anybody here: without one nobody waits.
void connection::wake_settled(guard& held) {
  if (awake_.empty()) return;
  held.unlock();
  // A place may be in use again by now: then somebody wakes for nothing, and sleeps on.
  for (seam::park_word* const one : awake_) clock_.unpark(*one);
  held.lock();
  awake_.clear();
}

void connection::run_errands(guard& held) {
  while (!errands_.empty()) {
    pending& one = *errands_.back();
    errands_.pop_back();
    const auto done = std::move(one.done);
    if (closed_) {
      give_back(one);
      continue;
    }
    held.unlock();
    done(one.failure ? nullptr : &one.answers[0], one.failure ? &*one.failure : nullptr);
    held.lock();
    give_back(one);
  }
}

// The mutex is held.
void connection::note_round_trip(time_point now) {
  if (asked_at_ == time_point{}) return;
  const duration taken = now - std::exchange(asked_at_, time_point{});
  // The shortest of some: the others say how busy this machine is, not how far the server is.
  shortest_ = std::min(shortest_, taken);
  if (++round_trips_ % round_trips_judged != 0) return;
  usual_ = std::exchange(shortest_, duration::max());
  far_ = usual_ > near_enough;
}

// The mutex is held. Not a byte has come since that request: the connection may be dead without
// anybody having said so. Whoever tries again had better not do so on the same one.
bool connection::silent_since(time_point asked, time_point now) const noexcept {
  return heard_at_ < asked &&
         now - asked >= std::clamp(4 * usual_, silence_counts_after, silence_counts_surely);
}

error connection::silence() const {
  return make_error(errc::timed_out, where_.shown() + " did not answer in time");
}

// The mutex is held. Nobody leads any more unless somebody else is found who must.
void connection::hand_over(guard& held, time_point give_up) {
  leader_ = nullptr;
  try {
    flush(held, give_up);
  } catch (const error& why) {
    fail_all(held, why);
  }
  bool errands = false;
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    pending& one = in_flight_[i];
    if (one.abandoned) continue;
    if (one.done) {
      errands = true;
      continue;
    }
    one.state.store(pending::must_lead, std::memory_order_release);
    held.unlock();
    clock_.unpark(one.state);
    held.lock();
    return;
  }
  led_ = false;
  if (hung_up_ && !errands && stream_) {
    fail_all(held, make_error(errc::unreachable, where_.shown() + " has hung up"));
    return;
  }
  if (!errands) return;
  held.unlock();
  needs_reader_();
  held.lock();
}

// The mutex is held, before and after.
void connection::fail_all(guard& held, const error& why) {
  const std::shared_ptr<stream> broken = std::exchange(stream_, nullptr);
  if (broken) broken->cut();
  asked_at_ = time_point{};
  for (std::size_t sent = in_flight_.size() - unsent_; !in_flight_.empty(); in_flight_.pop()) {
    pending& one = in_flight_.front();
    const bool maybe_done = sent > 0;
    if (maybe_done) --sent;
    if (one.abandoned) {
      give_back(one);
      continue;
    }
    one.failure.emplace(maybe_done ? without_outcome(why) : why);
    if (one.done) {
      errands_.push_back(&one);
    } else {
      one.state.store(pending::settled, std::memory_order_release);
      if (&one != leader_) awake_.push_back(&one.state);
    }
  }
  out_.clear();
  unsent_ = 0;
  wake_settled(held);
  run_errands(held);
}

}  // namespace crosslock::redis
