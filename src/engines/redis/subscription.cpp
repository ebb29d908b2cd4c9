// Pushes are hints: whatever is lost here is found by the next look of whoever waits.
#include "engines/redis/subscription.hpp"

#include "engine/backoff.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t read_at_once = std::size_t{16} << 10;
constexpr retry_options reconnecting{.base = 10ms, .tries = 0, .cap = 1s};
constexpr duration connect_within = 2s;

/// Waits that follow each other sooner than this are worth a listener of their own.
constexpr duration closely = 5ms;
/// How often the thread looks for news that nobody reads.
constexpr duration standby = 2ms;
/// The same while one waiter has been listening for longer than that.
constexpr duration long_standby = 20ms;

void ring_at(int eventfd) noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(eventfd, &one, sizeof one));
}

void silence_at(int eventfd) noexcept {
  std::uint64_t rings = 0;
  static_cast<void>(!::read(eventfd, &rings, sizeof rings));
}

/// What the thread that reads news this moment waits for itself: it need not be woken.
thread_local const seam::park_word* reading_for = nullptr;

int poll_milliseconds(duration rest) {
  if (rest <= duration::zero()) return 0;
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(rest);
  return static_cast<int>(std::min<std::chrono::milliseconds>(whole, 60s).count());
}

}  // namespace

subscription::subscription(std::string channel, connection& commands, connection::greeting greet,
                           seam::clock& clock, events report)
    : channel_{std::move(channel)},
      commands_{commands},
      greet_{std::move(greet)},
      clock_{clock},
      events_{std::move(report)},
      bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      nudge_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      buffer_(read_at_once) {
  if (bell_ < 0 || nudge_ < 0) {
    abandon();
    throw make_error(errc::unreachable, "no file descriptor is left to wake a thread by", errno);
  }
}

subscription::~subscription() {
  stop();
  if (bell_ >= 0) ::close(bell_);
  if (nudge_ >= 0) ::close(nudge_);
}

void subscription::start(time_point give_up) {
  std::optional<error> refusal;
  try {
    subscribe(give_up);
  } catch (const error& why) {
    if (why.which() != errc::denied) throw;
    refused_ = true;
    refusal = why;
  }
  thread_ = clock_.start("crosslock-hear", [this] { work(); });
  if (refusal) throw error{*refusal};
}

void subscription::subscribe(time_point give_up) {
  parser_.reset();
  auto fresh = stream::connect(commands_.where(), clock_, give_up);
  greet_(*fresh, parser_, give_up);
  std::string out;
  plain_command{"SUBSCRIBE", channel_}.write(out);
  fresh->write_all(out, give_up);
  while (!parser_.next(message_)) {
    const std::size_t count = fresh->read_some(buffer_, give_up);
    if (count == 0) {
      throw make_error(errc::timed_out, commands_.where().shown() + " did not answer SUBSCRIBE");
    }
    parser_.feed({buffer_.data(), count});
  }
  if (message_.failed()) {
    throw error_in(message_.failure(), commands_.where().shown(), channel_);
  }
  stream_ = std::move(fresh);
  failures_ = 0;
  listens_.store(true);
}

void subscription::ring() noexcept { ring_at(bell_); }

bool subscription::is_current() const noexcept { return thread_ && thread_->is_current(); }

void subscription::work() {
  while (!stopping_.load()) {
    try {
      listen_once();
    } catch (const std::exception& why) {
      drop(make_error(errc::unreachable, why.what()));
    }
  }
}

void subscription::drop(const error& why) {
  bool listened = false;
  {
    const std::lock_guard guard{role_mutex_};
    if (reader_ != reader::thread) {
      broken_ = true;  // somebody reads it just now: dropped when it is ours again
      return;
    }
    stream_.reset();
    listened = listens_.exchange(false);
    wished_ = false;
  }
  next_try_ = clock_.now() +
              seam::retry_delay(reconnecting, static_cast<std::uint64_t>(failures_++), ~0ULL);
  // Once: who waits for the server to come back must not be driven by each failed try.
  if (listened) events_.deaf(why);
}

void subscription::await(seam::park_word& word, std::uint32_t expected, time_point until) {
  if (!begin_to_listen()) return clock_.park(word, expected, until);
  bool broken = false;
  try {
    listen_for(word, expected, until);
  } catch (const std::exception&) {
    broken = true;
  }
  stop_listening(broken);
}

bool subscription::begin_to_listen() {
  const time_point now = clock_.now();
  const std::lock_guard guard{role_mutex_};
  const bool often = now - std::exchange(last_wait_, now) < closely;
  if (!often || !listens_.load() || broken_) return false;
  if (reader_ == reader::nobody) {
    reader_ = reader::waiter;
    ++stint_;
    return true;
  }
  // The thread lets go of it for those who come next; this time it brings the news itself.
  if (reader_ == reader::thread && !std::exchange(wished_, true)) ring();
  return false;
}

void subscription::listen_for(seam::park_word& word, std::uint32_t expected, time_point until) {
  for (;;) {
    // Said before the word is looked at: whoever changes it later rings.
    listening_.store(&word);
    const time_point now = clock_.now();
    const bool over = word.load() != expected || now >= until;
    std::array<pollfd, 2> watched{{{.fd = stream_->descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = nudge_, .events = POLLIN, .revents = 0}}};
    const bool ahead = stream_->read_ahead();
    if (!over && !ahead) {
      static_cast<void>(::poll(watched.data(), watched.size(),
                               until == time_point::max() ? -1 : poll_milliseconds(until - now)));
    }
    listening_.store(nullptr);
    if (over) return;
    if (watched[1].revents != 0) silence_at(nudge_);
    if (watched[0].revents == 0 && !ahead) continue;
    reading_for = &word;
    try {
      read_news();
    } catch (...) {
      reading_for = nullptr;
      throw;
    }
    reading_for = nullptr;
  }
}

void subscription::stop_listening(bool broken) noexcept {
  bool sleeps_long = false;
  {
    const std::lock_guard guard{role_mutex_};
    reader_ = reader::nobody;
    broken_ = broken_ || broken;
    sleeps_long = standby_ == long_standby;
  }
  if (broken || sleeps_long) ring();
}

void subscription::rouse(seam::park_word& word) noexcept {
  if (reading_for == &word) return;
  clock_.unpark(word);
  if (listening_.load() == &word) ring_at(nudge_);
}

bool subscription::take_stream_back() {
  const std::lock_guard guard{role_mutex_};
  // Without a stream there is nothing to let go of.
  if (reader_ == reader::thread && std::exchange(wished_, false) && stream_) {
    reader_ = reader::nobody;
  }
  const bool wanted = clock_.now() - last_wait_ < closely && !broken_;
  if (reader_ == reader::nobody && !wanted) reader_ = reader::thread;
  const bool settled = reader_ == reader::waiter && seen_stint_ == stint_;
  standby_ = settled ? long_standby : standby;
  seen_stint_ = stint_;
  if (reader_ != reader::thread) return false;
  if (std::exchange(broken_, false)) throw make_error(errc::unreachable, "hung up");
  return true;
}

void subscription::read_for_nobody() {
  {
    const std::lock_guard guard{role_mutex_};
    if (reader_ != reader::nobody) return;
    reader_ = reader::waiter;
  }
  bool broken = false;
  try {
    read_news();
  } catch (const std::exception&) {
    broken = true;
  }
  stop_listening(broken);
}

void subscription::listen_once() {
  const bool ours = take_stream_back();
  const connection::watch reading = commands_.needs_reading();
  const time_point now = clock_.now();
  time_point until = reading.until;
  if (!ours) until = std::min(until, now + standby_);
  if (ours && !stream_ && !refused_) until = std::min(until, next_try_);
  if (ours && stream_ && stream_->read_ahead()) until = now;
  const short wanted = static_cast<short>(reading.to_be_read ? POLLIN | POLLRDHUP : POLLRDHUP);
  std::array<pollfd, 3> watched{
      {{.fd = bell_, .events = POLLIN, .revents = 0},
       {.fd = ours && stream_ ? stream_->descriptor() : -1, .events = POLLIN, .revents = 0},
       {.fd = reading.descriptor, .events = wanted, .revents = 0}}};
  const int rest = until == time_point::max() ? -1 : poll_milliseconds(until - now);
  if (::poll(watched.data(), watched.size(), rest) < 0 && errno != EINTR) {
    throw make_error(errc::unreachable, "poll failed", errno);
  }
  if (watched[0].revents != 0) silence_at(bell_);
  if (stopping_.load()) return;
  if ((watched[2].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
    commands_.note_hang_up(reading.descriptor);
  }
  if (reading.to_be_read && (watched[2].revents != 0 || reading.until <= clock_.now())) {
    commands_.read_what_is_there();
  }
  if (!ours) return read_for_nobody();
  if (stream_ && (watched[1].revents != 0 || stream_->read_ahead())) read_news();
  if (!stream_ && !refused_ && next_try_ <= clock_.now()) try_again();
}

void subscription::read_news() {
  const std::size_t count = stream_->read_some(buffer_, clock_.now());
  if (count > 0) parser_.feed({buffer_.data(), count});
  while (parser_.next(message_)) {
    cursor in{message_};
    if (in.kind() != reply::kind::array || in.array() != 3) continue;
    if (in.text() != "message") continue;
    in.text();  // the channel: there is only one
    events_.heard(in.text());
    if (stopping_.load()) return;
  }
}

void subscription::try_again() {
  try {
    subscribe(clock_.now() + connect_within);
  } catch (const error& why) {
    if (why.which() == errc::denied) refused_ = true;
    drop(why);
    return;
  }
  events_.listening();
}

void subscription::stop() noexcept {
  stopping_.store(true);
  ring();
  if (thread_) thread_->join();
  thread_.reset();
  listens_.store(false);
}

void subscription::abandon() noexcept {
  if (bell_ >= 0) ::close(std::exchange(bell_, -1));
  if (nudge_ >= 0) ::close(std::exchange(nudge_, -1));
  if (stream_) stream_->close_descriptor_only();
}

}  // namespace crosslock::redis
