// The session: made, kept alive by heartbeats, made anew. Who drives is in driving.cpp.
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

/// So many heartbeats may be unanswered before no more are sent: a slow server is not helped by
/// more of them.
constexpr std::uint64_t unanswered_most = 16;

void be_silent(const char*) {}

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

std::string in_milliseconds(duration span) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  return std::to_string(ms) + " ms";
}

}  // namespace

connection::connection(connection_settings how, seam::clock& clock, session_listener& listener)
    : how_{std::move(how)},
      clock_{clock},
      listener_{listener},
      access_{std::make_unique<access>(how_.user, how_.password, clock)},
      bell_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)},
      pulse_{timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)},
      take_down_{[this](event news) { arrived_.push_back({.news = std::move(news)}); }},
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
    const std::lock_guard guard{mutex_};
    make_handle();
  }
  try {
    wait_until(give_up, [this] {
      // Nobody is there: whoever opens may try again, and is not kept waiting.
      if (all_refused_) refuse_unconnected();
      return session_node_made_;
    });
  } catch (...) {
    close();
    throw;
  }
  const std::lock_guard guard{mutex_};
  thread_ = clock_.start("crosslock-zookpr", [this] { own_thread(); });
}

void connection::make_handle() {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(how_.session).count();
  handle_ = zookeeper_init2(how_.hosts.c_str(), note_event, static_cast<int>(ms), nullptr,
                            &take_down_, ZOO_NO_LOG_CLIENTENV, be_silent);
  if (handle_ == nullptr) {
    // Most often a name that cannot be resolved just now: tried again later.
    last_failure_ = errno;
    all_refused_ = true;
    handle_again_at_ = clock_.now() + 500ms;
    return;
  }
  // Otherwise it resolves the names of the servers with every single request.
  zoo_set_servers_resolution_delay(handle_, -1);
  state_ = standing::connecting;
  const auto introduce = [this](const std::string& as) {
    zoo_add_auth(handle_, "digest", as.data(), static_cast<int>(as.size()), nullptr, nullptr);
  };
  if (!access_->credentials.empty()) introduce(access_->credentials);
  introduce(access_->own_credentials);
}

void connection::drop_handle() noexcept {
  if (handle_ == nullptr) return;
  zookeeper_close(handle_);
  handle_ = nullptr;
  descriptor_ = -1;
  state_ = standing::none;
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

void connection::session_goes_on() {
  const std::int64_t id = zoo_client_id(handle_)->client_id;
  const bool is_new = id != session_id_;
  if (is_new) {
    if (session_id_ != 0) end_session();
    ++session_;
    session_id_ = id;
    session_node_made_ = false;
  }
  session_node_tries_ = 0;
  ancestor_failure_.reset();
  timeout_ = std::chrono::milliseconds{zoo_recv_timeout(handle_)};
  if (timeout_ < 4 * how_.tick) {
    refusal_ = make_error(errc::invalid_url,
                          how_.shown + " gives sessions of " + in_milliseconds(timeout_) +
                              ", which is less than four ticks of " + in_milliseconds(how_.tick) +
                              ": ask for a longer one (session=), or say what the servers' "
                              "tickTime is (tick=)");
  }
  proof_.connected(is_new ? std::optional{primed_} : std::nullopt);
  first_heartbeat_ = heartbeats_ + 1;
  unheard_since_.reset();
  plan_heartbeat(clock_.now());
  if (!session_node_made_) make_session_node();
  arrived_.push_back({.what = arrival::signal::resumed, .session = session_});
  tell_proof();
  for (flight* one : parked_) wake(*one);
}

void connection::end_session() {
  if (session_id_ == 0) return;
  session_id_ = 0;
  session_node_made_ = false;
  proof_.session_ended();
  arrived_.push_back({.what = arrival::signal::ended, .session = session_});
  tell_proof();
}

std::string connection::session_node() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string path = how_.root + "/crosslock:/sessions/";
  for (int shift = 60; shift >= 0; shift -= 4) path += digits[(session_id_ >> shift) & 15];
  return path;
}

/// The node that heartbeats write to. As long as it cannot be made the session proves nothing.
void connection::make_session_node() {
  const session_number mine = session_;
  const std::string path = session_node();
  asked make{create(path, {}, node_life::ephemeral, rights::own_node),
             [this, mine, path](response& said) {
               const std::lock_guard guard{mutex_};
               if (session_ != mine || closing_ || state_ != standing::connected) return;
               if (said.ok() || said.exists_already()) {
                 session_node_made_ = true;
                 if (said.ok()) note_server_time(said.facts.made_at_ms, clock_.now());
                 for (flight* one : parked_) wake(*one);
               } else if (said.no_node() && ++session_node_tries_ < 8) {
                 make_ancestors(path);
                 make_session_node();
               } else if (said.no_node()) {
                 const response& why = ancestor_failure_ ? *ancestor_failure_ : said;
                 refusal_ = error_in(why, "create " + path, how_.shown);
                 for (flight* one : parked_) wake(*one);
               } else if (!said.cut_off()) {
                 refusal_ = error_in(said, "create " + path, how_.shown);
                 for (flight* one : parked_) wake(*one);
               }
             }};
  submit(make);
}

void connection::make_ancestors(const std::string& path) {
  std::vector<std::string> all = ancestors(path);
  all.pop_back();
  for (std::string& each : all) {
    asked make{create(std::move(each), {}, node_life::container, rights::shared),
               [this](response& said) {
                 if (said.ok() || said.exists_already() || said.cut_off()) return;
                 const std::lock_guard guard{mutex_};
                 if (!said.no_node()) ancestor_failure_ = said;
               }};
    submit(make);
  }
}

void connection::tend(time_point now) {
  if (closing_) return;
  if (refusal_) return try_again_after_refusal(now);
  if (state_ == standing::ended) drop_handle();
  if (handle_ == nullptr) {
    if (now >= handle_again_at_) make_handle();
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

void connection::plan_heartbeat(time_point when) noexcept {
  next_heartbeat_ = when;
  const auto ns = std::max<duration::rep>(when.time_since_epoch().count(), 1);
  itimerspec at{};
  at.it_value = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  timerfd_settime(pulse_, TFD_TIMER_ABSTIME, &at, nullptr);
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

void connection::send_heartbeat(time_point now) {
  const std::uint64_t before = std::max(answered_heartbeat_, first_heartbeat_ - 1);
  if (heartbeats_ >= before + unanswered_most) return;
  const std::uint64_t number = ++heartbeats_;
  const session_number mine = session_;
  proof_.sent(number, now);
  asked beat{write(session_node(), {}), [this, number, mine, now](response& said) {
               const std::lock_guard guard{mutex_};
               if (session_ == mine) heartbeat_answered(number, now, said);
             }};
  submit(beat);
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

void connection::heartbeat_answered(std::uint64_t number, time_point sent, const response& said) {
  answered_heartbeat_ = std::max(answered_heartbeat_, number);
  if (said.no_node()) {  // removed by hand
    session_node_made_ = false;
    if (state_ == standing::connected) make_session_node();
    return;
  }
  if (!said.ok()) return;
  note_server_time(said.facts.written_at_ms, sent);
  const auto before = proof_.proven();
  proof_.answered(number, clock_.now());
  if (proof_.proven() != before) tell_proof();
}

void connection::note_server_time(std::int64_t ms, time_point when) {
  server_ms_ = ms;
  server_ms_at_ = when;
}

void connection::tell_proof() {
  proof_news_.fetch_add(1);
  clock_.unpark(proof_news_);
}

connection::life connection::now() const {
  const std::lock_guard guard{mutex_};
  return {.session = session_id_ == 0 ? 0 : session_,
          .id = session_id_,
          .timeout = timeout_,
          .proven = proof_.proven()};
}

connection::life connection::await_proof(time_point since, time_point until) {
  for (;;) {
    const std::uint32_t seen = proof_news_.load();
    const life found = now();
    if (found.session == 0 || (found.proven && *found.proven > since)) return found;
    if (clock_.now() >= until || closing_.load()) return found;
    clock_.park(proof_news_, seen, until);
  }
}

duration connection::beat_interval() const {
  const std::lock_guard guard{mutex_};
  return heartbeat_interval(timeout_, how_.tick);
}

std::optional<std::int64_t> connection::server_ms() const {
  const std::lock_guard guard{mutex_};
  if (!server_ms_) return std::nullopt;
  const auto since = clock_.now() - server_ms_at_;
  return *server_ms_ + std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

void connection::close() noexcept {
  std::unique_ptr<seam::thread> thread;
  {
    const std::lock_guard guard{mutex_};
    closing_ = true;
    thread = std::move(thread_);
    for (flight* one : parked_) wake(*one);
    ring();
  }
  owner_word_.fetch_add(1);
  clock_.unpark(owner_word_);
  tell_proof();
  if (thread) thread->join();
  std::unique_lock guard{mutex_};
  while (driving_) {
    const std::uint32_t seen = seat_word_.load();
    ring();
    guard.unlock();
    clock_.park(seat_word_, seen, clock_.now() + 10ms);
    guard.lock();
  }
  driving_ = true;
  drop_handle();
  deliver(guard);
  driving_ = false;
  if (bell_ >= 0) ::close(std::exchange(bell_, -1));
  if (pulse_ >= 0) ::close(std::exchange(pulse_, -1));
}

void connection::abandon() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (bell_ >= 0) ::close(bell_);
  if (pulse_ >= 0) ::close(pulse_);
  handle_ = nullptr;
}

}  // namespace crosslock::zookeeper
