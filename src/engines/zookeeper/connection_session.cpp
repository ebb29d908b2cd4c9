// The session: made, proven by heartbeats, ended.
#include "engines/zookeeper/access.hpp"
#include "engines/zookeeper/arrival.hpp"
#include "engines/zookeeper/connection.hpp"
#include "engines/zookeeper/path.hpp"

#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace crosslock::zookeeper {
namespace {

/// So many heartbeats may be unanswered before no more are sent: a slow server is not helped by
/// more of them.
constexpr std::uint64_t unanswered_most = 16;

std::string in_milliseconds(duration span) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  return std::to_string(ms) + " ms";
}

}  // namespace

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
  if (is_new) {
    lasts_ = std::make_shared<seam::session>(primed_, timeout_);
  } else if (lasts_->shorten(*proof_.proven(), timeout_)) {
    // Before anything else: another server may keep sessions for less time.
    arrived_.push_front({.what = arrival::signal::shortened});
  }
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
  resumed_ = false;
  arrived_.push_back({.what = arrival::signal::resumed, .session = session_});
  tell_proof();
  for (flight* one : parked_) wake(*one);
}

void connection::end_session() {
  if (session_id_ == 0) return;
  session_id_ = 0;
  session_node_made_ = false;
  proof_.session_ended();
  lasts_->end();
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
  asked make{create(path, {}, node_life::ephemeral, rights::session),
             [this, mine, path](response& said) {
               const seam::lock_guard guard{mutex_};
               if (session_ != mine || closing_ || state_ != standing::connected) return;
               if (said.ok()) note_server_time(said.facts.made_at_ms, clock_.now());
               if (said.ok() || said.exists_already()) {
                 learn_rights(path, said.ok());
               } else if (said.no_node() && ++session_node_tries_ < 8) {
                 make_ancestors(path);
                 make_session_node();
               } else if (said.no_node()) {
                 const response& why = ancestor_failure_ ? *ancestor_failure_ : said;
                 refuse_session(error_in(why, "create " + path, how_.shown));
               } else if (!said.cut_off()) {
                 refuse_session(error_in(said, "create " + path, how_.shown));
               }
             }};
  submit(make);
}

void connection::refuse_session(error why) {
  refusal_ = std::move(why);
  for (flight* one : parked_) wake(*one);
}

/// How the server writes us in rights, once for all sessions. A node that was there already may be
/// somebody else's, who would write our rights for us.
void connection::learn_rights(const std::string& path, bool made_just_now) {
  const auto be_ready = [this]() CROSSLOCK_REQUIRES(mutex_) {
    session_node_made_ = true;
    for (flight* one : parked_) wake(*one);
  };
  if (made_just_now && access_->known()) return be_ready();
  const session_number mine = session_;
  submit_rights_question(path, [this, mine, path, be_ready](response& said) {
    const seam::lock_guard guard{mutex_};
    if (session_ != mine || closing_ || state_ != standing::connected || said.cut_off()) return;
    if (!said.ok()) {
      return refuse_session(error_in(said, "read the rights of " + path, how_.shown));
    }
    if (said.facts.owner != session_id_) {
      return refuse_session(make_error(
          errc::denied, how_.shown + ": somebody else has made " + path + ": remove it"));
    }
    if (access_->known()) return be_ready();
    refuse_session(
        make_error(errc::denied, how_.shown + ": the rights of " + path +
                                     " do not name the users that were introduced: do the "
                                     "servers have a digest authentication of their own?"));
  });
}

void connection::make_ancestors(const std::string& path) {
  std::vector<std::string> all = ancestors(path);
  all.pop_back();
  for (std::string& each : all) {
    asked make{create(std::move(each), {}, node_life::container, rights::shared),
               [this](response& said) {
                 if (said.ok() || said.exists_already() || said.cut_off()) return;
                 const seam::lock_guard guard{mutex_};
                 if (!said.no_node()) ancestor_failure_ = said;
               }};
    submit(make);
  }
}

void connection::plan_heartbeat(time_point when) noexcept {
  next_heartbeat_ = when;
  const auto ns = std::max<duration::rep>(when.time_since_epoch().count(), 1);
  itimerspec at{};
  at.it_value = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  timerfd_settime(pulse_, TFD_TIMER_ABSTIME, &at, nullptr);
}

void connection::send_heartbeat(time_point now) {
  const std::uint64_t before = std::max(answered_heartbeat_, first_heartbeat_ - 1);
  if (heartbeats_ >= before + unanswered_most) return;
  const std::uint64_t number = ++heartbeats_;
  const session_number mine = session_;
  proof_.sent(number, now);
  asked beat{write(session_node(), {}), [this, number, mine, now](response& said) {
               const seam::lock_guard guard{mutex_};
               if (session_ == mine) heartbeat_answered(number, now, said);
             }};
  submit(beat);
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
  if (proof_.answered(number, clock_.now())) proof_.confirmed(sent);
  if (proof_.proven() == before) return;
  if (!lasts_->extend(*proof_.proven(), timeout_, clock_.now())) {
    lasts_ = std::make_shared<seam::session>(*proof_.proven(), timeout_);
  }
  tell_proof();
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
  const seam::lock_guard guard{mutex_};
  return {.session = session_id_ == 0 ? 0 : session_,
          .id = session_id_,
          .timeout = timeout_,
          .proven = proof_.proven(),
          .lasts = lasts_};
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
  const seam::lock_guard guard{mutex_};
  return heartbeat_interval(timeout_, how_.tick);
}

std::optional<std::int64_t> connection::server_ms() const {
  const seam::lock_guard guard{mutex_};
  if (!server_ms_) return std::nullopt;
  const auto since = clock_.now() - server_ms_at_;
  return *server_ms_ + std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

}  // namespace crosslock::zookeeper
