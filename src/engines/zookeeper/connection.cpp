// Connecting, and connecting anew. The session is in connection_session.cpp, and who drives in
// driving.cpp.
#include "engines/zookeeper/connection.hpp"

#include "engines/zookeeper/access.hpp"
#include "engines/zookeeper/arrival.hpp"
#include "engines/zookeeper/path.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace crosslock::zookeeper {
namespace {

using namespace std::chrono_literals;

void be_silent(const char*) {}

/// What the library logs it formats in buffers that all threads of the process share.
void be_silent_for_good() {
  static const bool done = [] {
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));
    return true;
  }();
  static_cast<void>(done);
}

/// Watches of all kinds end here; the library calls it with our mutex held.
void note_event(zhandle_t*, int type, int, const char* path, void* context) {
  if (type == ZOO_SESSION_EVENT || path == nullptr) return;  // the state is looked at anyway
  event news{.what = event::kind::erased, .path = path};
  if (type == ZOO_DELETED_EVENT) {
    news.what = event::kind::erased;
  } else if (type == ZOO_CHANGED_EVENT) {
    news.what = event::kind::written;
  } else if (type == ZOO_CHILD_EVENT) {
    news.what = event::kind::children;
  } else if (type == ZOO_CREATED_EVENT) {
    news.what = event::kind::created;
  } else {
    return;
  }
  (*static_cast<std::function<void(event)>*>(context))(std::move(news));
}

}  // namespace

connection::connection(connection_settings how, seam::clock& clock, session_listener& listener)
    : how_{std::move(how)},
      clock_{clock},
      listener_{listener},
      access_{std::make_unique<access>(how_.user, how_.password, clock)},
      bell_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)},
      pulse_{timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)},
      take_down_{[this](event news) { take_down({.news = std::move(news)}); }},
      proof_{how_.tick} {
  if (bell_ < 0 || pulse_ < 0) {
    if (bell_ >= 0) ::close(bell_);
    if (pulse_ >= 0) ::close(pulse_);
    throw make_error(errc::unreachable, how_.shown + ": no descriptor is left: raise the limit",
                     errno);
  }
}

connection::~connection() { close(); }

void connection::open(time_point give_up) {
  {
    const seam::lock_guard guard{mutex_};
    make_handle();
  }
  try {
    // Where nobody is there whoever opens may try again, and is not kept waiting.
    wait_until(give_up,
               [this]() CROSSLOCK_REQUIRES(mutex_) { return all_refused_ || session_node_made_; });
    const seam::lock_guard guard{mutex_};
    if (!session_node_made_) refuse_unconnected();
  } catch (...) {
    close();
    throw;
  }
  const seam::lock_guard guard{mutex_};
  thread_ = clock_.start("crosslock-zookpr", [this] { own_thread(); });
}

std::size_t connection::bytes_of(rights who) const {
  const seam::lock_guard guard{mutex_};
  return access_->bytes_of(who);
}

void connection::make_handle() {
  be_silent_for_good();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(how_.session).count();
  _zhandle* made = nullptr;
  int failure = 0;
  {
    // It resolves the names of the servers, which may take its time; nobody else has the seat.
    const seam::unlocked meanwhile{mutex_};
    made = zookeeper_init2(how_.hosts.c_str(), note_event, static_cast<int>(ms), nullptr,
                           &take_down_, ZOO_NO_LOG_CLIENTENV, be_silent);
    failure = errno;
  }
  handle_ = made;
  if (handle_ == nullptr) {
    // Most often a name that cannot be resolved just now: tried again later.
    last_failure_ = failure;
    all_refused_ = true;
    handle_again_at_ = clock_.now() + 500ms;
    return;
  }
  // Otherwise it resolves the names of the servers with every single request.
  zoo_set_servers_resolution_delay(handle_, -1);
  state_ = standing::connecting;
  const auto introduce = [this](const std::string& as) CROSSLOCK_REQUIRES(mutex_) {
    zoo_add_auth(handle_, "digest", as.data(), static_cast<int>(as.size()), nullptr, nullptr);
  };
  if (!access_->credentials.empty()) introduce(access_->credentials);
  introduce(access_->own_credentials);
}

/// To close a session the library waits for its server, up to some seconds. The number that it
/// draws for that request is not guarded by `statics`: should two clients draw the same one nothing
/// happens, for a number is only compared with that of the answer on the same connection.
void connection::drop_handle() noexcept {
  if (handle_ == nullptr) return;
  _zhandle* const old = std::exchange(handle_, nullptr);
  descriptor_ = -1;
  state_ = standing::none;
  apart_ = true;
  {
    const seam::unlocked meanwhile{mutex_};
    zookeeper_close(old);
  }
  rejoin();
}

/// What it wants to be woken for. Without a connection it looks for one, and resolves the names of
/// the servers before: that may take its time.
int connection::show_interest(int& interest, timeval& patience) {
  descriptor_ = -1;
  if (state_ == standing::connected) {
    return zookeeper_interest(handle_, &descriptor_, &interest, &patience);
  }
  _zhandle* const ours = handle_;
  int descriptor = -1;
  int code = ZOK;
  apart_ = true;
  {
    const seam::unlocked meanwhile{mutex_};
    code = zookeeper_interest(ours, &descriptor, &interest, &patience);
  }
  rejoin();
  descriptor_ = descriptor;
  return code;
}

void connection::take_down(arrival what) {
  (apart_ ? arrived_apart_ : arrived_).push_back(std::move(what));
}

void connection::rejoin() {
  apart_ = false;
  if (arrived_.empty()) return arrived_.swap(arrived_apart_);
  for (arrival& one : arrived_apart_) arrived_.push_back(std::move(one));
  arrived_apart_.clear();
}

/// The library moves from state to state only within its own functions; after each call of one we
/// look where it is. `before`: the time when that call began.
void connection::note_state(time_point before) {
  if (handle_ == nullptr) return;
  const int now = zoo_state(handle_);
  if (now == ZOO_ASSOCIATING_STATE) {
    if (state_ != standing::associating) primed_ = before;
    leave_connected();
    state_ = standing::associating;
  } else if (now == ZOO_CONNECTED_STATE) {
    if (state_ == standing::connected) return;
    if (state_ != standing::associating) primed_ = before;
    state_ = standing::connected;
    session_goes_on();
  } else if (now == ZOO_EXPIRED_SESSION_STATE || now == ZOO_AUTH_FAILED_STATE) {
    if (state_ == standing::ended) return;
    leave_connected();
    state_ = standing::ended;
    end_session();
  } else {
    leave_connected();
    state_ = standing::connecting;
  }
}

void connection::leave_connected() {
  if (state_ != standing::connected) return;
  attempt_on_ = -1;
  arrived_.push_back({.what = arrival::signal::suspended});
}

void connection::tend(time_point now) {
  if (closing_) return;
  if (refusal_) return try_again_after_refusal(now);
  if (state_ == standing::ended) drop_handle();
  if (handle_ == nullptr) {
    if (now >= handle_again_at_ && !closing_) make_handle();
    return;
  }
  if (state_ != standing::connected) return give_up_attempt(now);
  const bool silent = unheard_since_ && now - *unheard_since_ > timeout_ / 3;
  if (silent && !something_came()) return hang_up();
  if (now < next_heartbeat_) return;
  const auto proven = proof_.proven();
  const bool behind = !proven || now - *proven > timeout_ / 4;
  plan_heartbeat(
      now + (behind ? quickest_heartbeat(how_.tick) : heartbeat_interval(timeout_, how_.tick)));
  if (session_node_made_) send_heartbeat(now);
  arrived_.push_back({.what = arrival::signal::beat});
}

/// What was refused may be allowed by now; but whoever opens is told at once.
void connection::try_again_after_refusal(time_point now) {
  if (!thread_ || now < handle_again_at_) return;
  handle_again_at_ = now + 1s;
  if (state_ == standing::ended) {
    refusal_.reset();
    drop_handle();
    make_handle();
  } else if (state_ == standing::connected && timeout_ >= 4 * how_.tick) {
    refusal_.reset();
    session_node_tries_ = 0;
    make_session_node();
  } else if (state_ == standing::connected && lasts_->deadline() <= now) {
    // It goes on to ask for what it was given last: only a new session asks for more.
    refusal_.reset();
    end_session();
    drop_handle();
    make_handle();
  }
}

duration connection::attempt_longest() const noexcept {
  return std::max<duration>(how_.session / 8, 500ms);
}

/// The library would wait for a server that accepts and never answers for two thirds of a session.
void connection::give_up_attempt(time_point now) {
  if (attempt_on_ != descriptor_) {
    attempt_on_ = descriptor_;
    attempt_began_ = now;
  }
  if (descriptor_ < 0 || now - attempt_began_ < attempt_longest()) return;
  attempt_on_ = -1;
  shutdown(descriptor_, SHUT_RDWR);
}

/// A process that was frozen finds answers that nobody has read.
bool connection::something_came() const noexcept {
  pollfd there{descriptor_, POLLIN, 0};
  return descriptor_ >= 0 && poll(&there, 1, 0) > 0;
}

/// A connection on which nothing comes back may be dead for longer than we can wait. The session
/// goes on over another one.
void connection::hang_up() noexcept {
  unheard_since_.reset();
  hung_up_ = clock_.now();
  if (descriptor_ >= 0) shutdown(descriptor_, SHUT_RDWR);
}

void connection::close() noexcept {
  std::unique_ptr<seam::thread> thread;
  {
    const seam::lock_guard guard{mutex_};
    closing_ = true;
    thread = std::move(thread_);
    for (flight* one : parked_) wake(*one);
    ring();
  }
  owner_word_.fetch_add(1);
  clock_.unpark(owner_word_);
  tell_proof();
  if (thread) thread->join();
  const seam::lock_guard guard{mutex_};
  while (!seat_.take()) {
    const std::uint32_t seen = seat_word_.load();
    ring();
    const seam::unlocked meanwhile{mutex_};
    clock_.park(seat_word_, seen, clock_.now() + 10ms);
  }
  drop_handle();
  deliver();
  seat_.leave();
  if (bell_ >= 0) ::close(std::exchange(bell_, -1));
  if (pulse_ >= 0) ::close(std::exchange(pulse_, -1));
}

void connection::abandon() noexcept {
  // The mutex may be locked by a thread of the parent.
  if (descriptor_ >= 0) ::close(descriptor_);
  if (bell_ >= 0) ::close(bell_);
  if (pulse_ >= 0) ::close(pulse_);
  handle_ = nullptr;
}

}  // namespace crosslock::zookeeper
