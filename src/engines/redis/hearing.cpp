// The thread, those it works for, and which of them share one.
#include "engines/redis/hearing.hpp"

#include "engine/fork_guard.hpp"
#include "engines/redis/descriptors.hpp"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t hear_at_once = std::size_t{16} << 10;
/// When a thread that gave something back shall not have to wake anybody for it.
constexpr long soon_ns = 10'000'000;

/// How soon, and then how often, the thread looks for news that nobody reads.
constexpr duration first_standby = 2ms;
constexpr duration last_standby = 50ms;

/// Its place in what is polled; behind these come the connections of the clients.
enum : std::size_t { at_bell, at_timer, at_stream, at_clients };

struct open_hearing {
  address where;
  const seam::clock* clock;
  std::weak_ptr<hearing> there;
};

/// A forked child makes its own: what it inherited may be half written, and is its parent's.
struct open_hearings {
  std::uint32_t generation;
  std::vector<open_hearing> all{};
};

constinit seam::fork_safe_mutex guarding_hearings;
// Never destroyed: clients of static objects may outlive every other static.
constinit open_hearings* hearings CROSSLOCK_GUARDED_BY(guarding_hearings) = nullptr;

}  // namespace

std::shared_ptr<hearing> hearing::of(address where, const std::string& server, seam::clock& clock) {
  where.database = 0;  // channels belong to the server
  const seam::lock_guard guard{guarding_hearings};
  const std::uint32_t generation = seam::fork_generation();
  if (hearings == nullptr || hearings->generation != generation) {
    hearings = new open_hearings{.generation = generation};
  }
  std::shared_ptr<hearing> found;
  std::erase_if(hearings->all, [&](const open_hearing& each) {
    auto there = each.there.lock();
    if (!there || there->is_over()) return true;
    if (each.where != where || each.clock != &clock || there->server() != server) return false;
    if (there->hangs()) return true;
    found = std::move(there);
    return false;
  });
  if (found) return found;
  auto fresh = std::make_shared<hearing>(where, server, clock);
  hearings->all.push_back({std::move(where), &clock, fresh});
  return fresh;
}

hearing::hearing(address where, std::string server, seam::clock& clock)
    : where_{std::move(where)},
      server_{std::move(server)},
      clock_{clock},
      bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      timer_{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)},
      nudge_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      buffer_(hear_at_once) {
  if (bell_ < 0 || timer_ < 0 || nudge_ < 0) {
    abandon();
    throw make_error(errc::unreachable, "no file descriptor is left to wake a thread by", errno);
  }
}

hearing::~hearing() {
  if (bell_ >= 0) ::close(bell_);
  if (timer_ >= 0) ::close(timer_);
  if (nudge_ >= 0) ::close(nudge_);
}

bool hearing::join(const std::shared_ptr<listener>& fresh) {
  {
    const seam::lock_guard guard{mutex_};
    if (over_.load()) return false;
    if (!thread_) {
      // It keeps itself until its thread has ended.
      thread_ = clock_.start("crosslock-hear", [self = shared_from_this()] { self->work(); });
    }
    // In place of one that has not left yet, if the client comes back.
    listeners_.insert_or_assign(fresh->channel, fresh);
    changed_ = true;
    next_try_ = {};
  }
  ring();
  return true;
}

void hearing::leave(listener& whom) noexcept {
  whom.take_leave();
  whom.listens.store(false);
  try {
    {
      const seam::lock_guard guard{mutex_};
      const auto found = listeners_.find(whom.channel);
      if (found == listeners_.end() || found->second.get() != &whom) return;
      const bool asked = whom.asked;
      listeners_.erase(found);
      changed_ = true;
      if (listeners_.empty()) over_.store(true);
      if (asked && !over_.load()) left_.push_back(whom.channel);
    }
    // By itself: whoever asks the server next is not told that it still listens.
    if (!over_.load()) write_requests();
  } catch (const std::exception&) {
    const seam::lock_guard guard{mutex_};
    broken_ = true;  // no memory: the next connection is without it
  }
  ring();
}

void hearing::end_if_left() noexcept {
  if (!over_.load() || ended_.exchange(true)) return;
  if (thread_->is_current()) {
    thread_->detach();
  } else {
    thread_->join();
  }
}

void hearing::want(listener& whom, bool news) {
  {
    const seam::lock_guard guard{mutex_};
    if (whom.wants_news == news) return;
    whom.wants_news = news;
    if (!news) whom.listens.store(false);
    whom.again = news && whom.asked;
    whom.look_is_due = true;  // what it stands in line for may be gone
    changed_ = true;
  }
  ring();
}

void hearing::ring() noexcept { ring_at(bell_); }

void hearing::ring(listener& whom) noexcept {
  whom.rung.store(true);
  ring();
}

void hearing::ring_soon(listener& whom) noexcept {
  if (whom.looks_soon.load() || whom.looks_soon.exchange(true)) return;
  if (timer_is_set_.load() || timer_is_set_.exchange(true)) return;
  const itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = soon_ns}};
  ::timerfd_settime(timer_, 0, &once, nullptr);
}

bool hearing::somebody_is_absent() const noexcept {
  return clock_.now().time_since_epoch().count() < absent_until_.load();
}

void hearing::read_for_absent(time_point until) noexcept {
  const bool before = somebody_is_absent();
  const duration::rep end = until.time_since_epoch().count();
  duration::rep known = absent_until_.load();
  while (known < end && !absent_until_.compare_exchange_weak(known, end)) {
  }
  if (!before) ring();
}

bool hearing::hangs() const noexcept {
  const duration::rep news = news_by_.load();
  const duration::rep work = work_by_.load();
  if (news == 0 && work == 0) return false;
  const duration::rep now = clock_.now().time_since_epoch().count();
  return (news != 0 && now > news) || (work != 0 && now > work);
}

void hearing::work() {
  while (!over_.load()) {
    try {
      work_once();
    } catch (const std::exception& why) {
      drop_later_if_not_now(why);
    }
  }
  // Somebody may keep this for a while: the server shall see at once that nobody listens.
  if (stream_) stream_->cut();
  thread_is_over_.store(true);
}

void hearing::drop_later_if_not_now(const std::exception& why) noexcept {
  try {
    drop(make_error(errc::unreachable, why.what()));
  } catch (const std::exception&) {  // no memory: in a moment
    {
      const seam::lock_guard guard{mutex_};
      broken_ = true;
    }
    ::poll(nullptr, 0, 10);
  }
}

bool hearing::take_stream_back() {
  const seam::lock_guard guard{mutex_};
  const bool recent = clock_.now() - last_wait_ < closely;
  const bool needed = broken_ || !waiters_.empty() || somebody_is_absent();
  if (reader_ == reader::nobody && (!recent || needed)) reader_ = reader::thread;
  if (reader_ != reader::thread) {
    standby_ = std::clamp(2 * standby_, first_standby, last_standby);
    return false;
  }
  standby_ = duration::zero();
  if (std::exchange(broken_, false)) throw make_error(errc::unreachable, "hung up");
  return true;
}

void hearing::read_if_nobody_else() {
  reader before = reader::waiter;
  {
    const seam::lock_guard guard{mutex_};
    if (reader_ == reader::waiter || !connected_) return;
    before = std::exchange(reader_, reader::thread_now);
  }
  bool broken = false;
  try {
    read_news();
  } catch (const std::exception&) {
    broken = true;
  }
  const seam::lock_guard guard{mutex_};
  reader_ = before;
  broken_ = broken_ || broken;
}

int hearing::descriptor_if_ours(time_point& until) {
  const seam::lock_guard guard{mutex_};
  if (reader_ != reader::thread || !connected_) return -1;
  if (stream_->read_ahead()) until = clock_.now();
  return stream_->descriptor();
}

/// Also looks at what has been asked of each meanwhile.
time_point hearing::watch_all() {
  {
    const seam::lock_guard guard{mutex_};
    if (std::exchange(changed_, false)) {
      all_.clear();
      for (const auto& [channel, each] : listeners_) all_.push_back(each);
    }
  }
  watched_.resize(at_clients + all_.size());
  time_point until = time_point::max();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    listener& one = *all_[i];
    if (one.rung.exchange(false)) {
      one.looks_soon.store(false);  // first: whoever comes behind the look sets the timer
      const listener::visit visit{one};
      one.watched = visit ? one.commands.needs_reading() : connection::watch{};
      if (one.watched.posted) one.looks_soon.store(true);
    }
    const connection::watch& wants = one.watched;
    const int events =
        POLLRDHUP | (wants.to_be_read ? POLLIN : 0) | (wants.to_be_written ? POLLOUT : 0);
    watched_[at_clients + i] = {
        .fd = wants.descriptor, .events = static_cast<short>(events), .revents = 0};
    until = std::min(until, wants.until);
  }
  return until;
}

void hearing::work_once() {
  const bool ours = take_stream_back();
  time_point until = watch_all();
  const time_point now = clock_.now();
  if (!ours) until = std::min(until, now + standby_);
  if (ours) until = std::min(until, next_connection());
  const int stream_fd = ours ? descriptor_if_ours(until) : -1;
  watched_[at_bell] = {.fd = bell_, .events = POLLIN, .revents = 0};
  watched_[at_timer] = {.fd = timer_, .events = POLLIN, .revents = 0};
  watched_[at_stream] = {.fd = stream_fd, .events = POLLIN, .revents = 0};
  const int rest = until == time_point::max() ? -1 : poll_milliseconds(until - now);
  if (::poll(watched_.data(), watched_.size(), rest) < 0 && errno != EINTR) {
    throw make_error(errc::unreachable, "poll failed", errno);
  }
  if (watched_[at_bell].revents != 0) silence_at(bell_);
  const bool timer = watched_[at_timer].revents != 0;
  if (timer) {
    silence_at(timer_);
    timer_is_set_.store(false);  // first: whoever comes behind the look sets it again
  }
  if (over_.load()) return;
  look_after_all(timer);
  // With the stream its own it reads when there is something; else whatever lies there.
  if (!ours || watched_[at_stream].revents != 0 || (stream_fd >= 0 && until <= now)) {
    read_if_nobody_else();
  }
  if (ours && next_connection() <= clock_.now()) connect();
  write_requests();
  tell_waiting_news();
}

void hearing::look_after_all(bool timer) {
  for (std::size_t i = 0; i < all_.size() && !over_.load(); ++i) {
    if (timer && all_[i]->looks_soon.load()) all_[i]->rung.store(true);
    look_after(all_[i], watched_[at_clients + i]);
  }
}

void hearing::look_after(const std::shared_ptr<listener>& one, pollfd& watched) {
  const connection::watch& wants = one->watched;
  const time_point now = clock_.now();
  const bool due = wants.until <= now;
  if (watched.revents == 0 && !due) return;
  one->rung.store(true);  // it is looked at again
  const listener::visit visit{*one};
  if (!visit) return;
  const under_way work{work_by_, now + work_allowance};
  if (wants.descriptor < 0 || watched.revents != POLLIN) let_a_waiter_read();
  if ((watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
    one->commands.note_hang_up(wants.descriptor);
  }
  if (watched.revents != 0 || ((wants.to_be_read || wants.posted) && due)) {
    one->commands.do_what_is_there();
  }
}

void hearing::abandon() noexcept {
  if (bell_ >= 0) ::close(std::exchange(bell_, -1));
  if (timer_ >= 0) ::close(std::exchange(timer_, -1));
  if (nudge_ >= 0) ::close(std::exchange(nudge_, -1));
  if (stream_) stream_->close_descriptor_only();
}

}  // namespace crosslock::redis
