// Pushes are hints: whatever is lost here is found by the next look of whoever waits.
#include "engines/redis/subscription.hpp"

#include "engine/backoff.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t hear_at_once = std::size_t{16} << 10;
constexpr retry_options resubscribing{.base = 10ms, .tries = 0, .cap = 1s};
constexpr duration connect_within = 2s;
/// When a thread that gave something back shall not have to wake anybody for it.
constexpr long soon_ns = 10'000'000;

/// Waits that follow each other sooner than this are worth a listener of their own.
constexpr duration closely = 30ms;
/// How soon, and then how often, the thread looks for news that nobody reads.
constexpr duration first_standby = 2ms;
constexpr duration last_standby = 50ms;

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

subscription::subscription(std::string channel, connection& commands, introduction introduce,
                           seam::clock& clock, events report)
    : channel_{std::move(channel)},
      commands_{commands},
      introduce_{std::move(introduce)},
      clock_{clock},
      events_{std::move(report)},
      bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      timer_{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)},
      nudge_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      buffer_(hear_at_once) {
  if (bell_ < 0 || timer_ < 0 || nudge_ < 0) {
    abandon();
    throw make_error(errc::unreachable, "no file descriptor is left to wake a thread by", errno);
  }
}

subscription::~subscription() {
  stop();
  if (bell_ >= 0) ::close(bell_);
  if (timer_ >= 0) ::close(timer_);
  if (nudge_ >= 0) ::close(nudge_);
}

void subscription::start(time_point give_up) {
  std::optional<error> refusal;
  try {
    subscribe(give_up);  // if it leads elsewhere the thread tries again
  } catch (const error& why) {
    if (why.which() != errc::denied) throw;
    refused_ = true;
    refusal = why;
  }
  thread_ = clock_.start("crosslock-hear", [this] { work(); });
  if (refusal) throw error{*refusal};
}

bool subscription::subscribe(time_point give_up) {
  parser_.reset();
  auto fresh = stream::connect(commands_.where(), clock_, give_up);
  std::string server = introduced(*fresh, give_up);
  {
    const seam::lock_guard guard{role_mutex_};
    if (!is_right(server)) return false;
  }
  await_subscribed(*fresh, give_up);
  const seam::lock_guard guard{role_mutex_};
  if (!is_right(server)) return false;  // the commands have gone elsewhere meanwhile
  listens_to_ = std::move(server);
  stream_ = std::move(fresh);
  failures_ = 0;
  trusted_.store(true);
  listens_.store(true);
  return true;
}

std::string subscription::introduced(stream& fresh, time_point give_up) {
  std::string server = introduce_(fresh, parser_, give_up);
  const seam::lock_guard guard{role_mutex_};
  if (server.empty() || (commands_go_to_ && commands_go_to_->empty())) {
    throw make_error(errc::denied,
                     commands_.where().shown() +
                         " does not tell its run id, so nobody knows whether what is pushed comes "
                         "from the server that the commands go to (ACL rule +info)");
  }
  return server;
}

bool subscription::is_right(const std::string& server) const { return commands_go_to_ == server; }

void subscription::await_subscribed(stream& fresh, time_point give_up) {
  std::string out;
  plain_command{"SUBSCRIBE", channel_}.write(out);
  fresh.write_all(out, give_up);
  while (!parser_.next(message_)) {
    const std::size_t count = fresh.read_some(buffer_, give_up);
    if (count == 0) {
      throw make_error(errc::timed_out, commands_.where().shown() + " did not answer SUBSCRIBE");
    }
    parser_.feed({buffer_.data(), count});
  }
  if (message_.failed()) {
    throw error_in(message_.failure(), commands_.where().shown(), channel_);
  }
}

void subscription::must_be_of(std::optional<std::string> server) {
  {
    const seam::lock_guard guard{role_mutex_};
    commands_go_to_ = std::move(server);
    if (!listens_.load() || is_right(listens_to_)) return;
    trusted_.store(false);
    broken_ = true;
  }
  ring_at(nudge_);
  ring();
}

void subscription::refuse_strangers() const {
  if (!trusted_.load()) {
    throw make_error(errc::unreachable, "the commands go to another server");
  }
}

bool subscription::somebody_is_absent() const noexcept {
  return clock_.now().time_since_epoch().count() < absent_until_.load();
}

void subscription::read_for_absent(time_point until) noexcept {
  const bool before = somebody_is_absent();
  const duration::rep end = until.time_since_epoch().count();
  duration::rep known = absent_until_.load();
  while (known < end && !absent_until_.compare_exchange_weak(known, end)) {
  }
  if (!before) ring();
}

void subscription::ring() noexcept { ring_at(bell_); }

void subscription::ring_soon() noexcept {
  if (looks_soon_.load() || looks_soon_.exchange(true)) return;
  const itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = soon_ns}};
  ::timerfd_settime(timer_, 0, &once, nullptr);
}

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
    const seam::lock_guard guard{role_mutex_};
    if (reader_ == reader::waiter) {
      broken_ = true;  // somebody reads it just now: dropped when it is ours again
      return;
    }
    reader_ = reader::thread;
    stream_.reset();
    listened = listens_.exchange(false);
  }
  next_try_ = clock_.now() +
              seam::retry_delay(resubscribing, static_cast<std::uint64_t>(failures_++), ~0ULL);
  // Once: who waits for the server to come back must not be driven by each failed try.
  if (listened) events_.deaf(why);
}

void subscription::await(seam::park_word& word, std::uint32_t expected, time_point until) {
  waiters_.fetch_add(1);
  if (begin_to_listen()) {
    bool broken = false;
    try {
      listen_for(word, expected, until);
    } catch (const std::exception&) {
      broken = true;
    }
    waiters_.fetch_sub(1);
    stop_listening(broken);
  } else {
    clock_.park(word, expected, until);
    waiters_.fetch_sub(1);
  }
}

bool subscription::begin_to_listen() {
  const time_point now = clock_.now();
  const seam::lock_guard guard{role_mutex_};
  const bool often = now - std::exchange(last_wait_, now) < closely;
  if (!listens_.load() || broken_) return false;
  // Several are served by the thread: whoever left first would leave the others deaf.
  const bool worth_it = often && waiters_.load() == 1;
  if (reader_ != reader::nobody && !(reader_ == reader::thread && worth_it)) return false;
  reader_ = reader::waiter;
  return true;
}

void subscription::listen_for(seam::park_word& word, std::uint32_t expected, time_point until) {
  for (;;) {
    refuse_strangers();
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
  {
    const seam::lock_guard guard{role_mutex_};
    reader_ = reader::nobody;
    broken_ = broken_ || broken;
  }
  if (broken || waiters_.load() > 0 || somebody_is_absent()) ring();
}

void subscription::rouse(seam::park_word& word) noexcept {
  if (reading_for == &word) return;
  clock_.unpark(word);
  if (listening_.load() == &word) ring_at(nudge_);
}

bool subscription::take_stream_back() {
  const seam::lock_guard guard{role_mutex_};
  const bool recent = clock_.now() - last_wait_ < closely;
  const bool needed = broken_ || waiters_.load() > 0 || somebody_is_absent();
  if (reader_ == reader::nobody && (!recent || needed)) {
    reader_ = reader::thread;
  }
  if (reader_ != reader::thread) {
    standby_ = std::clamp(2 * standby_, first_standby, last_standby);
    return false;
  }
  standby_ = duration::zero();
  if (std::exchange(broken_, false)) throw make_error(errc::unreachable, "hung up");
  return true;
}

void subscription::read_if_nobody_else() {
  reader before = reader::waiter;
  {
    const seam::lock_guard guard{role_mutex_};
    if (reader_ == reader::waiter || !stream_) return;
    before = std::exchange(reader_, reader::thread_now);
  }
  bool broken = false;
  try {
    read_news();
  } catch (const std::exception&) {
    broken = true;
  }
  const seam::lock_guard guard{role_mutex_};
  reader_ = before;
  broken_ = broken_ || broken;
}

void subscription::listen_once() {
  const bool ours = take_stream_back();
  looks_soon_.store(false);  // first: whoever comes behind the look sets the timer
  const connection::watch commands = commands_.needs_reading();
  if (commands.posted) looks_soon_.store(true);
  const time_point now = clock_.now();
  time_point until = commands.until;
  if (!ours) until = std::min(until, now + standby_);
  if (ours && !listens_.load() && !refused_) until = std::min(until, next_try_);
  const int stream_fd = ours ? descriptor_if_ours(until) : -1;
  const int wanted =
      POLLRDHUP | (commands.to_be_read ? POLLIN : 0) | (commands.to_be_written ? POLLOUT : 0);
  std::array<pollfd, 4> watched{
      {{.fd = bell_, .events = POLLIN, .revents = 0},
       {.fd = stream_fd, .events = POLLIN, .revents = 0},
       {.fd = commands.descriptor, .events = static_cast<short>(wanted), .revents = 0},
       {.fd = timer_, .events = POLLIN, .revents = 0}}};
  const int rest = until == time_point::max() ? -1 : poll_milliseconds(until - now);
  if (::poll(watched.data(), watched.size(), rest) < 0 && errno != EINTR) {
    throw make_error(errc::unreachable, "poll failed", errno);
  }
  if (watched[0].revents != 0) silence_at(bell_);
  if (watched[3].revents != 0) silence_at(timer_);
  if (stopping_.load()) return;
  if ((watched[2].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
    commands_.note_hang_up(commands.descriptor);
  }
  const bool due = commands.until <= clock_.now();
  if (watched[2].revents != 0 || ((commands.to_be_read || commands.posted) && due)) {
    commands_.do_what_is_there();
  }
  // With the stream its own it reads when there is something; else whatever lies there.
  if (!ours || watched[1].revents != 0 || (stream_fd >= 0 && until <= now)) read_if_nobody_else();
  if (ours && !listens_.load() && !refused_ && next_try_ <= clock_.now()) try_again();
}

int subscription::descriptor_if_ours(time_point& until) {
  const seam::lock_guard guard{role_mutex_};
  if (reader_ != reader::thread || !stream_) return -1;
  if (stream_->read_ahead()) until = clock_.now();
  return stream_->descriptor();
}

void subscription::read_news() {
  const std::size_t count = stream_->read_some(buffer_, clock_.now());
  if (count > 0) parser_.feed({buffer_.data(), count});
  while (parser_.next(message_)) {
    cursor in{message_};
    if (in.kind() != reply::kind::array || in.array() != 3) continue;
    if (in.text() != "message") continue;
    in.text();  // the channel: there is only one
    refuse_strangers();
    events_.heard(in.text());
    if (stopping_.load()) return;
  }
}

void subscription::try_again() {
  try {
    if (!subscribe(clock_.now() + connect_within)) {
      return drop(make_error(errc::unreachable,
                             commands_.where().shown() + " leads to another server than before"));
    }
  } catch (const error& why) {
    drop(why);
    // Rights come and go (a password that is changed, a server that has not heard of it yet): one
    // that was there before may be there again.
    if (why.which() == errc::denied && !std::exchange(told_refusal_, true)) events_.refused(why);
    return;
  }
  told_refusal_ = false;
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
  if (timer_ >= 0) ::close(std::exchange(timer_, -1));
  if (nudge_ >= 0) ::close(std::exchange(nudge_, -1));
  if (stream_) stream_->close_descriptor_only();
}

}  // namespace crosslock::redis
