// What goes over the connection that listens. Pushes are hints: whatever is lost here is found by
// the next look of whoever waits.
#include "engine/backoff.hpp"
#include "engines/redis/descriptors.hpp"
#include "engines/redis/hearing.hpp"
#include "engines/redis/protocol.hpp"
#include "engines/redis/server_check.hpp"
#include "engines/redis/server_login.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

constexpr retry_options resubscribing{.base = 10ms, .tries = 0, .cap = 1s};
constexpr duration connect_within = 2s;
/// Some words for which there is room, unless the server has taken nothing for long.
constexpr duration write_within = 50ms;

duration pause_after(int failures) {
  return seam::retry_delay(resubscribing, static_cast<std::uint64_t>(failures), ~0ULL);
}

}  // namespace

void hearing::read_news() {
  const std::size_t count = stream_->read_some(buffer_, clock_.now());
  if (count > 0) parser_.feed({buffer_.data(), count});
  while (parser_.next(message_)) {
    take(message_);
    if (over_.load()) return;
  }
}

void hearing::take(reply& message) {
  if (message.failed()) return note_answer(true, message);
  cursor in{message};
  if (in.kind() != reply::kind::array || in.array() != 3) return;
  const std::string_view kind = in.text();
  if (kind == "subscribe" || kind == "unsubscribe") return note_answer(false, message);
  if (kind != "message") return;
  const std::string_view channel = in.text();
  bring(channel, in.text());
}

void hearing::bring(std::string_view channel, std::string_view message) {
  std::shared_ptr<listener> whose;
  {
    const seam::lock_guard guard{mutex_};
    const auto found = listeners_.find(channel);
    if (found == listeners_.end()) return;  // it has just left
    whose = found->second;
  }
  const listener::visit visit{*whose};
  if (!visit || !whose->listens.load()) return;
  const under_way news{news_by_, clock_.now() + news_allowance};
  try {
    whose->events.heard(message);
  } catch (const std::exception&) {
    whose->events.listening();  // nobody knows what it was about
  }
}

// They come in the order of the requests.
void hearing::note_answer(bool failed, const reply& message) {
  const seam::lock_guard guard{mutex_};
  if (requests_.empty()) throw make_error(errc::protocol, "an answer to nothing");
  const request answered = std::move(requests_.front());
  requests_.pop_front();
  if (failed && !answered.subscribes) {
    // No right to UNSUBSCRIBE: another connection is the way to be rid of a channel.
    throw make_error(errc::unreachable, "a channel cannot be given up");
  }
  if (!answered.whose) return;
  listener& one = *answered.whose;
  --one.unanswered;
  if (!answered.subscribes || !one.wants_news || one.unanswered > 0) return;
  if (failed) {
    const error why = error_in(message.failure(), where_.shown(), one.channel);
    one.asked = false;
    one.next_try = clock_.now() + pause_after(one.failures++);
    one.failure = why;
    if (why.which() == errc::denied) one.note_refusal(why);
  } else {
    one.failures = 0;
    one.told_refusal = false;
    one.failure.reset();
    one.listens.store(true);
  }
  one.look_is_due = one.look_is_due || !failed;
  one.answered.fetch_add(1);
  clock_.unpark(one.answered);
  ring();
}

bool hearing::await_start(listener& fresh, time_point until) {
  for (;;) {
    const std::uint32_t seen = fresh.answered.load();
    {
      const seam::lock_guard guard{mutex_};
      // If it leads elsewhere the thread tries again.
      const bool elsewhere = fresh.failure && fresh.failure->which() == errc::conflict;
      if (fresh.listens.load() || elsewhere) {
        fresh.tells_refusal = true;
        return true;
      }
      if (fresh.failure) throw error{*fresh.failure};
    }
    if (clock_.now() >= until) return false;
    clock_.park(fresh.answered, seen, until);
  }
}

// Not by whoever reads: it is to look at other news, and may hold mutexes of its own client.
void hearing::tell_waiting_news() {
  for (const std::shared_ptr<listener>& each : all_) {
    bool looks = false;
    std::optional<error> refusal;
    {
      const seam::lock_guard guard{mutex_};
      looks = std::exchange(each->look_is_due, false);
      refusal = std::exchange(each->refusal, std::nullopt);
      if (refusal && std::exchange(each->told_refusal, true)) refusal.reset();
    }
    if (!looks && !refusal) continue;
    const listener::visit visit{*each};
    if (!visit) continue;
    const under_way news{work_by_, clock_.now() + news_allowance};
    if (refusal) each->events.refused(*refusal);
    if (looks) each->events.listening();
  }
}

time_point hearing::next_connection() {
  const seam::lock_guard guard{mutex_};
  if (connected_) return next_request();
  const bool wanted =
      std::ranges::any_of(listeners_, [](const auto& each) { return each.second->wants_news; });
  return wanted ? next_try_ : time_point::max();
}

// Of those who were refused.
time_point hearing::next_request() const {
  time_point next = time_point::max();
  for (const auto& [channel, one] : listeners_) {
    if (one->wants_news && !one->asked) next = std::min(next, one->next_try);
  }
  return next;
}

void hearing::connect() {
  {
    const seam::lock_guard guard{mutex_};
    if (connected_) return;
  }
  std::unique_ptr<stream> fresh;
  try {
    const time_point give_up = clock_.now() + connect_within;
    parser_.reset();
    if (server_.empty()) throw unknown_server();
    fresh = stream::connect(where_, clock_, give_up);
    introduce(*fresh, parser_, where_, give_up);
    const std::string there =
        read_info(ask_for_info(*fresh, parser_, where_, give_up, "server")).run_id;
    if (there.empty()) throw unknown_server();
    if (there != server_) {
      const error elsewhere =
          make_error(errc::conflict, where_.shown() + " leads to another server than the commands");
      return drop(elsewhere, true);
    }
  } catch (const error& why) {
    return drop(why, true);
  }
  failures_ = 0;
  const seam::lock_guard guard{mutex_};
  stream_ = std::move(fresh);
  connected_ = true;
  broken_ = false;
}

error hearing::unknown_server() const {
  return make_error(errc::denied,
                    where_.shown() +
                        " does not tell its run id, so nobody knows whether what is pushed comes "
                        "from the server that the commands go to (ACL rule +info)");
}

void hearing::write_requests() {
  const seam::lock_guard writes{writing_};
  std::string out;
  std::shared_ptr<stream> to;
  {
    const seam::lock_guard guard{mutex_};
    if (!connected_) return;
    gather_requests(out);
    to = stream_;
  }
  if (out.empty()) return;
  try {
    to->write_all(out, clock_.now() + write_within);
  } catch (const std::exception&) {
    to->cut();  // whoever reads finds out
  }
}

void hearing::gather_requests(std::string& out) {
  const time_point now = clock_.now();
  for (const std::string& channel : left_) {
    plain_command{"UNSUBSCRIBE", channel}.write(out);
    requests_.push_back({});
  }
  left_.clear();
  for (const auto& [channel, one] : listeners_) {
    const bool settled = one->wants_news == one->asked && !one->again;
    if (settled || (one->wants_news && now < one->next_try)) continue;
    one->again = false;
    one->asked = one->wants_news;
    plain_command{one->asked ? "SUBSCRIBE" : "UNSUBSCRIBE", channel}.write(out);
    requests_.push_back({.whose = one, .subscribes = one->asked});
    ++one->unanswered;
  }
}

void hearing::drop(const error& why, bool by_connecting) {
  listeners them;
  {
    const seam::lock_guard guard{mutex_};
    if (reader_ == reader::waiter) {
      broken_ = true;  // somebody reads it just now: dropped when it is ours again
      return;
    }
    reader_ = reader::thread;
    stream_.reset();
    connected_ = false;
    requests_.clear();
    left_.clear();
    next_try_ = clock_.now() + pause_after(failures_++);
    them = listeners_;
  }
  tell_all_deaf(them, why, by_connecting);
}

// One that has just come is not failed by the end of a connection that others had.
void hearing::tell_all_deaf(const listeners& them, const error& why, bool by_connecting) {
  for (const auto& [channel, each] : them) {
    bool listened = false;
    {
      const seam::lock_guard guard{mutex_};
      each->asked = false;
      each->again = false;
      each->unanswered = 0;
      listened = each->listens.exchange(false);
      if (each->wants_news && by_connecting) each->failure = why;
      if (each->wants_news && why.which() == errc::denied) each->note_refusal(why);
      each->answered.fetch_add(1);
    }
    clock_.unpark(each->answered);
    // Once: who waits for the server to come back must not be driven by each failed try.
    const listener::visit visit{*each};
    if (!listened || !visit) continue;
    const under_way news{work_by_, clock_.now() + news_allowance};
    each->events.deaf(why);
  }
}

}  // namespace crosslock::redis
