// Other processes ring at one mailbox for all clients of this one, whose numbers are given so
// (connection_members.cpp).
#include "engines/sqlite/hearing.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <set>
#include <utility>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;

/// How often those who are waited for are looked at by the first in line, and by the others, who
/// may have become the first: a death is seen within 0.3 s.
constexpr duration tick_near = 100ms;
constexpr duration tick_far = 150ms;
/// How often the files are looked at.
constexpr duration tick_otherwise = 1s;
constexpr duration nap_when_idle = 10s;
/// For how long after a wait it is ready for the next.
constexpr duration attention = 2s;
/// So long a client may keep the thread before another one hears for the rest. A process that is
/// stopped now and then, or very busy, is not meant.
constexpr duration news_allowance = 250ms;

}  // namespace

hearing::~hearing() {
  std::vector<std::unique_ptr<shift>> rest;
  {
    const seam::lock_guard guard{mutex_};
    rest.swap(shifts_);
  }
  for (const auto& each : rest) each->over.store(true);
  if (!rest.empty()) ring();
  for (const auto& each : rest) each->thread->join();
}

void hearing::join(std::shared_ptr<listener> fresh) {
  const seam::lock_guard guard{mutex_};
  listeners_.push_back(std::move(fresh));
  ++state_;
}

void hearing::leave(listener& whom) noexcept {
  whom.take_leave();
  bool last = false;
  {
    const seam::lock_guard guard{mutex_};
    ++leaving_;
    ++state_;
    std::erase_if(asks_, [&](const auto& each) { return each.first.get() == &whom; });
    std::erase_if(listeners_, [&](const auto& each) { return each.get() == &whom; });
    last = listeners_.empty();
    if (last) {
      for (const auto& each : shifts_) each->over.store(true);
      running_.store(false);
    }
  }
  if (last) ring();
  whom.await_alone();
  whom.claims.clear();
  // Not before the others who leave are done: the thread may be with one of them, and this one may
  // be that thread.
  std::vector<std::unique_ptr<shift>> ending;
  {
    const seam::lock_guard guard{mutex_};
    if (--leaving_ == 0 && listeners_.empty()) ending.swap(shifts_);
  }
  for (const auto& each : ending) each->thread->join();
}

void hearing::attend() {
  if (!running_.load(std::memory_order_acquire)) {
    const seam::lock_guard guard{mutex_};
    if (!running_.load() && !listeners_.empty()) begin_shift(std::exchange(missed_, false));
    return;
  }
  if (idle_.load() && idle_.exchange(false)) ring();
  relieve_if_kept();
}

void hearing::relieve_if_kept() noexcept {
  if (hangs()) relieve();
}

bool hearing::hangs() const noexcept {
  const duration::rep by = back_by_.load(std::memory_order_relaxed);
  return by != 0 && clock_.now().time_since_epoch().count() > by;
}

/// The one that is kept is told first: whoever comes back from its client then leaves what it finds
/// to the next.
void hearing::relieve() noexcept {
  const seam::lock_guard guard{mutex_};
  if (!running_.load() || !hangs()) return;
  shifts_.back()->over.store(true);
  try {
    begin_shift(true);
  } catch (const std::exception&) {
    // No thread is to be had: the next who asks tries again.
    missed_ = true;
    running_.store(false);
  }
}

void hearing::begin_shift(bool missed_something) {
  join_ended();
  auto fresh = std::make_unique<shift>();
  // Before it runs: whatever is posted from now on is news to it.
  fresh->wake = connection_.wake();
  fresh->box = &connection_.mailbox_in(*fresh->wake);
  fresh->heard = fresh->box->posted.load() - (missed_something ? mailbox::kept + 1 : 0);
  shifts_.reserve(shifts_.size() + 1);
  back_by_.store(0);
  fresh->thread = clock_.start("crosslock-hear", [this, mine = fresh.get()] { work(*mine); });
  shifts_.push_back(std::move(fresh));
  running_.store(true, std::memory_order_release);
}

void hearing::join_ended() {
  std::erase_if(shifts_, [](const auto& each) {
    if (!each->ended.load()) return false;
    each->thread->join();
    return true;
  });
}

void hearing::watch_closely() {
  if (!waited_.load(std::memory_order_relaxed)) waited_.store(true);
  if (slow_.load() && slow_.exchange(false)) ring();
}

void hearing::post(const std::shared_ptr<listener>& whose, listener::posted_ask ask) {
  attend();
  {
    const seam::lock_guard guard{mutex_};
    asks_[whose].push_back(std::move(ask));
  }
  ring();
}

void hearing::ring() noexcept { wake_file::ring(connection_.mailbox_in(*connection_.wake())); }

void hearing::work(shift& mine) {
  while (!mine.over.load()) {
    try {
      listen_once(mine);
    } catch (const std::exception&) {
      // The database cannot be read just now. The waiters look for themselves as well.
      const std::uint32_t seen = mine.box->rings.load();
      if (!mine.over.load()) wait_on(mine.box->rings, seen, duration{tick_near}.count());
    }
  }
  mine.ended.store(true);
}

void hearing::listen_once(shift& mine) {
  auto current = connection_.wake();
  mailbox* const box = &connection_.mailbox_in(*current);
  const bool moved = box != mine.box;
  mine.wake = std::move(current);
  mine.box = box;
  const std::uint32_t seen = box->rings.load();
  note_listeners(mine);
  answer_asks(mine);
  if (moved) mine.heard = box->posted.load() - mailbox::kept - 1;  // look at everything
  hear_news(mine);
  if (mine.over.load()) return;  // what is missed from now on is for whoever has taken over
  hear_again(mine);
  const time_point now = clock_.now();
  if (now >= mine.last_tick + tick_length(mine, now)) tick(mine);
  const auto there = connection_.wake();
  const bool moves = there != mine.wake || &connection_.mailbox_in(*there) != mine.box;
  if (!mine.over.load() && !moves) sleep(mine, seen);
}

void hearing::note_listeners(shift& mine) {
  const seam::lock_guard guard{mutex_};
  if (std::exchange(mine.as_of, state_) != state_) mine.all = listeners_;
}

// False: a thread of before is still with it, and will say when it is not.
bool hearing::call_on(const shift& mine, listener& one, const std::function<void()>& tell_it) {
  if (one.taken.exchange(true)) {
    one.missed.store(true);
    if (one.taken.exchange(true)) return false;
  }
  struct under_way {
    hearing& by;
    const shift& mine;
    listener& one;
    ~under_way() {
      if (!mine.over.load()) by.back_by_.store(0);
      one.taken.store(false);
      if (one.missed.load()) by.ring();
    }
  };
  const under_way this_one{*this, mine, one};
  const seam::visit visit{one};
  if (!visit) return true;
  if (!mine.over.load()) {
    back_by_.store((clock_.now() + news_allowance).time_since_epoch().count());
  }
  tell_it();
  return true;
}

void hearing::answer_asks(shift& mine) {
  std::set<const listener*> taken;  // by threads of before, which ring when they are done
  while (!mine.over.load()) {
    asks_of_each::node_type next;  // one at a time: another thread may have to do the rest
    {
      const seam::lock_guard guard{mutex_};
      const auto free = std::ranges::find_if(
          asks_, [&](const auto& each) { return !taken.contains(each.first.get()); });
      if (free != asks_.end()) next = asks_.extract(free);
    }
    if (!next) return;
    listener& one = *next.key();
    bool answered = false;
    try {
      answered = call_on(mine, one, [&] { one.answer(next.mapped()); });
    } catch (...) {
      post_again(next.key(), std::move(next.mapped()));
      throw;
    }
    if (answered) continue;
    taken.insert(&one);
    post_again(next.key(), std::move(next.mapped()));
  }
}

/// Before what was posted meanwhile; not for one that has left.
void hearing::post_again(const std::shared_ptr<listener>& whose,
                         std::vector<listener::posted_ask> asks) {
  const seam::lock_guard guard{mutex_};
  if (std::ranges::find(listeners_, whose) == listeners_.end()) return;
  auto& posted = asks_[whose];
  posted.insert(posted.begin(), std::make_move_iterator(asks.begin()),
                std::make_move_iterator(asks.end()));
}

void hearing::hear_news(shift& mine) {
  const std::uint32_t end = mine.box->posted.load();
  bool missed = end - mine.heard > mailbox::kept;
  std::vector<std::uint32_t> hashes;
  for (std::uint32_t number = mine.heard; !missed && number != end; ++number) {
    const auto hash = wake_file::posted(*mine.box, number);
    missed = !hash;
    if (hash) hashes.push_back(*hash);
  }
  if (!missed && hashes.empty()) return;
  std::vector<concern> concerned;
  const auto note = [&](listener& one, std::vector<interest>&& claims) {
    for (interest& each : claims) concerned.push_back({&one, std::move(each)});
  };
  for (const auto& each : mine.all) {
    if (each->watches.load()) call_on(mine, *each, [&] { each->report_cells(hashes, missed); });
    // What the missed ones told of was committed before they were posted: a look finds all of it.
    if (missed) note(*each, each->claims.all());
  }
  for (const std::uint32_t hash : missed ? std::vector<std::uint32_t>{} : hashes) {
    for (const auto& each : mine.all) {
      if (each->claims.any()) note(*each, each->claims.about(hash));
    }
  }
  tell(mine, look_for_news(connection_, clock_, concerned));
  mine.heard = end;
}

/// For those who could not be told something: they were with a thread of before.
void hearing::hear_again(shift& mine) {
  std::vector<listener*> again;
  std::vector<concern> concerned;
  try {
    for (const auto& each : mine.all) {
      if (!each->missed.load() || each->taken.load()) continue;
      again.push_back(each.get());
      each->missed.store(false);
      for (interest& one : each->claims.all()) concerned.push_back({each.get(), std::move(one)});
      if (each->watches.load()) call_on(mine, *each, [&] { each->report_cells({}, true); });
    }
    if (!concerned.empty()) tell(mine, look_for_news(connection_, clock_, concerned));
  } catch (...) {
    for (listener* const each : again) each->missed.store(true);
    throw;
  }
}

void hearing::tell(shift& mine, const std::vector<event>& events) {
  for (const event& each : events) {
    if (mine.over.load()) return;  // whoever goes on looks at everything
    listener& one = *each.whom.whose;
    call_on(mine, one, [&] { one.report(each); });
  }
}

void hearing::sleep(shift& mine, std::uint32_t seen) {
  const time_point now = clock_.now();
  const duration length = tick_length(mine, now);
  idle_.store(length == nap_when_idle);
  slow_.store(length > tick_far);
  // Whoever came before that was said has not rung, and whoever comes later does.
  note_listeners(mine);
  if (waited_.load() ? slow_.load() : idle_.load() && listens(mine, now)) {
    mine.attentive_until = now + attention;
    idle_.store(false);
    slow_.store(false);
  }
  const duration nap = mine.last_tick + tick_length(mine, now) - now;
  wait_on(mine.box->rings, seen, nap.count());
}

bool hearing::listens(const shift& mine, time_point now) {
  return std::ranges::any_of(mine.all, [now](const auto& each) {
    return each->claims.any() || (each->watches.load() && each->cells.any(now));
  });
}

duration hearing::tick_length(const shift& mine, time_point now) {
  bool waits = false;
  for (const auto& each : mine.all) {
    if (each->claims.near() > 0) return tick_near;
    waits = waits || each->claims.any_waiting();
  }
  if (waits) return tick_far;
  // Who takes turns at a lock waits again before long: no need to go to sleep in between.
  if (now < mine.attentive_until) return tick_near;
  return listens(mine, now) ? tick_otherwise : nap_when_idle;
}

void hearing::tick(shift& mine) {
  mine.last_tick = clock_.now();
  if (waited_.exchange(false)) mine.attentive_until = mine.last_tick + attention;
  if (mine.last_tick >= mine.files_checked + tick_otherwise) {
    mine.files_checked = mine.last_tick;
    // Opens them anew; what was held in the old ones is then found to be gone.
    if (!connection_.files_in_place()) connection_.open_files_anew(mine.last_tick + 1s);
  }
  std::vector<concern> waiting;
  for (const auto& each : mine.all) {
    if (!each->claims.any_waiting()) continue;
    for (interest& one : each->claims.all_waiting()) {
      waiting.push_back({each.get(), std::move(one)});
    }
  }
  std::ranges::stable_sort(waiting, {}, [](const concern& one) { return one.what.name->view(); });
  tell(mine, look_for_deaths(connection_, clock_, waiting));
}

}  // namespace crosslock::sqlite
