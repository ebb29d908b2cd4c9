// No mutex of a hearing is held while this one is taken; it is never held while somebody is told.
#include "engines/redis/subscription.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::redis {
namespace {

constexpr duration start_slice = std::chrono::milliseconds{300};

}  // namespace

subscription::subscription(std::string channel, connection& commands, duration timeout,
                           seam::clock& clock, hearing_events report)
    : channel_{std::move(channel)},
      commands_{commands},
      timeout_{timeout},
      clock_{clock},
      events_{std::move(report)} {}

subscription::~subscription() { stop(); }

subscription::seat_at subscription::join(const std::string& server, bool wants_news, bool moves) {
  for (;;) {
    auto there = hearing::of(commands_.where(), server, clock_);
    auto me = std::make_shared<listener>(channel_, commands_, events_, timeout_, clock_);
    me->wants_news = wants_news;
    me->tells_refusal = moves;
    me->look_is_due = moves;  // it comes from elsewhere
    if (there->join(me)) return {std::move(there), std::move(me)};
  }
}

void subscription::start(time_point give_up) {
  seat_at mine;
  {
    const seam::lock_guard guard{mutex_};
    now_ = join(server_.value_or(std::string{}), true, false);
    mine = now_;
  }
  try {
    // Where another client keeps the thread this one goes to another.
    while (!mine.where->await_start(*mine.me, std::min(give_up, clock_.now() + start_slice))) {
      if (clock_.now() >= give_up) {
        throw make_error(errc::timed_out, commands_.where().shown() + " did not answer SUBSCRIBE");
      }
      const seam::lock_guard guard{mutex_};
      avoid_hanging();
      if (now_.me) mine = now_;
    }
  } catch (const error& why) {
    if (why.which() != errc::denied) throw;
    const seam::lock_guard guard{mutex_};
    refused_ = true;
    if (now_.me) now_.where->want(*now_.me, false);
    throw;
  }
}

void subscription::must_be_of(std::optional<std::string> server) {
  const seam::lock_guard guard{mutex_};
  server_ = std::move(server);
  if (!now_.where) return;
  if (server_ && *server_ != now_.where->server()) return go_to(*server_);
  now_.where->want(*now_.me, server_.has_value() && !refused_);
}

void subscription::go_to(const std::string& server) {
  former_.reserve(former_.size() + 1);
  seat_at next = join(server, !refused_, true);
  const seat_at before = std::exchange(now_, std::move(next));
  before.where->leave(*before.me);
  for (const waiting_at& each : waiters_) {
    each.who->sent_on.store(true);
    each.where->rouse(*each.who);
  }
  former_.push_back(before);
  forget_former();
}

void subscription::forget_former() noexcept {
  std::erase_if(former_, [](const seat_at& each) {
    // Asked once: the last other client may leave this very moment, and is not waited for here.
    const bool over = each.where->is_over();
    if (!each.me->is_alone() || (over && !each.where->has_ended())) return false;
    if (over) each.where->end_if_left();
    return true;
  });
}

void subscription::avoid_hanging() noexcept {
  // It may be this client itself that keeps it.
  if (!now_.where || !now_.where->hangs() || !now_.me->is_alone()) return;
  try {
    go_to(now_.where->server());
  } catch (const std::exception&) {
    // No thread, no memory: the next one tries again.
  }
}

void subscription::read_for_absent(time_point until) noexcept {
  const seam::lock_guard guard{mutex_};
  if (now_.where) now_.where->read_for_absent(until);
}

void subscription::ring() noexcept {
  const seam::lock_guard guard{mutex_};
  avoid_hanging();
  if (now_.where) now_.where->ring(*now_.me);
}

void subscription::ring_soon() noexcept {
  const seam::lock_guard guard{mutex_};
  if (now_.where) now_.where->ring_soon(*now_.me);
}

bool subscription::listens() noexcept {
  const seam::lock_guard guard{mutex_};
  avoid_hanging();
  return now_.me && now_.me->listens.load();
}

void subscription::await(seam::park_word& word, std::uint32_t expected, time_point until) {
  hearing::waiter me{.word = word, .expected = expected};
  std::shared_ptr<hearing> there;
  {
    const seam::lock_guard guard{mutex_};
    there = now_.where;
    if (there) waiters_.push_back({&me, there.get()});
  }
  if (!there) return clock_.park(word, expected, until);
  const auto forget = [&] {
    const seam::lock_guard guard{mutex_};
    std::erase_if(waiters_, [&](const waiting_at& each) { return each.who == &me; });
  };
  try {
    there->await(me, until);
  } catch (...) {
    forget();
    throw;
  }
  forget();
}

void subscription::rouse(seam::park_word& word) noexcept {
  const seam::lock_guard guard{mutex_};
  bool found = false;
  for (const waiting_at& each : waiters_) {
    if (&each.who->word != &word) continue;
    each.where->rouse(*each.who);
    found = true;
  }
  if (!found) clock_.unpark(word);
}

bool subscription::is_current() const noexcept {
  const seam::lock_guard guard{mutex_};
  return (now_.me && now_.me->is_visited_here()) ||
         std::ranges::any_of(former_,
                             [](const seat_at& each) { return each.me->is_visited_here(); });
}

void subscription::stop() noexcept {
  std::vector<seat_at> all;
  {
    const seam::lock_guard guard{mutex_};
    all.swap(former_);
    if (now_.where) all.push_back(std::exchange(now_, {}));
  }
  for (const seat_at& each : all) each.where->leave(*each.me);
  for (const seat_at& each : all) {
    each.me->await_alone();
    each.where->end_if_left();
  }
}

void subscription::abandon() noexcept {
  // The mutex may be locked by a thread of the parent.
  for (const seat_at& each : former_) each.where->abandon();
  if (now_.where) now_.where->abandon();
}

}  // namespace crosslock::redis
