// A queue of notices and threads that empty it and then end.
//
// std::stop_source sets its state and runs the callbacks in one call, on one thread. To have many
// states set whatever the callbacks of one do, the calls are nested: each request is made from
// within a callback of the request before, one that was registered last and is therefore called
// first. The user's callbacks run on the way back, when the state of the whole share is set.
#include "keeper/loss_notifier.hpp"

#include "engine/guarded.hpp"

#include <crosslock/error.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <thread>
#include <utility>

namespace crosslock::inner {
namespace {

constexpr duration notice_patience = std::chrono::microseconds{250};
constexpr std::size_t crew_max = 64;
/// How deep requests are nested: a few hundred kilobytes of stack.
constexpr std::size_t share_max = 1024;

}  // namespace

struct loss_notifier::state : std::enable_shared_from_this<loss_notifier::state> {
  explicit state(seam::clock& given) : clock{given} {}

  struct waiting_notice {
    loss_notice what;
    time_point since;
  };
  using notices = std::list<waiting_notice>;

  /// Sets the state of all from `at` on, and only then runs callbacks.
  static void tell_from(notices::iterator at, notices::iterator end) {
    if (at == end) return;
    bool went_on = false;
    const auto go_on = [&, me = std::this_thread::get_id()] {
      // Whoever requests the same stop elsewhere this very moment has a share of its own.
      if (std::this_thread::get_id() != me) return;
      went_on = true;
      tell_from(std::next(at), end);
    };
    if (auto& signal = at->what.signal) {
      // Called first where the last registered is, as in libstdc++ and libc++. Where it is not, or
      // if the user registers another this very moment, it is only called later.
      const std::stop_callback first{signal->get_token(), std::ref(go_on)};
      signal->request_stop();
    }
    if (!went_on) go_on();
    if (at->what.told) at->what.told();
  }

  seam::clock& clock;

  seam::mutex mutex;
  notices waiting CROSSLOCK_GUARDED_BY(mutex);
  std::size_t working CROSSLOCK_GUARDED_BY(mutex) = 0;
  std::size_t recruits CROSSLOCK_GUARDED_BY(mutex) = 0;   // yet to be started
  std::size_t newcomers CROSSLOCK_GUARDED_BY(mutex) = 0;  // yet to take their share, recruits too
  bool closed CROSSLOCK_GUARDED_BY(mutex) = false;

  struct member {
    std::unique_ptr<seam::thread> thread;
    bool finished = false;
  };
  std::list<member> members CROSSLOCK_GUARDED_BY(mutex);
  // One that closed the notifier by its own callback.
  std::list<member> detached CROSSLOCK_GUARDED_BY(mutex);

  void work(member& self) {
    seam::unique_lock guard{mutex};
    while (!waiting.empty()) {
      tell_share(1);
    }
    --working;
    self.finished = true;
  }

  void help(member& self) {
    {
      seam::unique_lock guard{mutex};
      recruit();
      const std::size_t share = (waiting.size() + newcomers - 1) / newcomers;
      --newcomers;
      if (share > 0) tell_share(std::min(share, share_max));
    }
    work(self);
  }

  // The first of those who come to help starts the others: the clock thread has other work.
  void recruit() CROSSLOCK_REQUIRES(mutex) {
    while (recruits > 0) {
      --recruits;
      if (!start_thread(&state::help)) {
        newcomers -= recruits + 1;
        recruits = 0;
      }
      // Those who have been started shall begin.
      mutex.unlock();
      mutex.lock();
    }
  }

  void tell_share(std::size_t count) CROSSLOCK_REQUIRES(mutex) {
    notices taken;
    taken.splice(taken.end(), waiting, waiting.begin(),
                 std::next(waiting.begin(), static_cast<std::ptrdiff_t>(count)));
    mutex.unlock();
    tell_from(taken.begin(), taken.end());
    taken.clear();  // what they own goes before the mutex is taken again
    mutex.lock();
  }

  bool start_thread(void (state::*job)(member&)) CROSSLOCK_REQUIRES(mutex) {
    std::list<member> added;
    try {
      member& self = added.emplace_back();
      self.thread = clock.start("crosslock-loss",
                                [me = shared_from_this(), &self, job] { ((*me).*job)(self); });
    } catch (const std::exception&) {
      return false;  // none is to be had: the clock thread tries again in a moment
    }
    members.splice(members.end(), added);
    ++working;
    return true;
  }

  void grow_if_stuck(time_point now) CROSSLOCK_REQUIRES(mutex) {
    if (newcomers > 0 || now - waiting.front().since < notice_patience) return;
    const std::size_t free = crew_max - std::min(working, crew_max);
    const std::size_t wanted = std::clamp<std::size_t>(free, 1, waiting.size());
    if (!start_thread(&state::help)) return;
    newcomers = wanted;
    recruits = wanted - 1;
  }

  // Members that have ended, to be joined without the mutex.
  std::list<member> take_ended() CROSSLOCK_REQUIRES(mutex) {
    std::list<member> ended;
    for (auto at = members.begin(); at != members.end();) {
      const auto next = std::next(at);
      if (at->finished) ended.splice(ended.end(), members, at);
      at = next;
    }
    return ended;
  }
};

loss_notifier::loss_notifier(seam::clock& clock) : state_{std::make_shared<state>(clock)} {}

loss_notifier::~loss_notifier() { close(); }

// May be called from within an event of the engine, so nothing is waited for here: the clock thread
// joins those that have ended.
bool loss_notifier::tell(loss_notice notice) {
  const time_point now = state_->clock.now();
  state::notices added;
  added.push_back({std::move(notice), now});
  const seam::lock_guard guard{state_->mutex};
  if (state_->closed) return false;
  const bool first = state_->waiting.empty();
  state_->waiting.splice(state_->waiting.end(), added);
  if (state_->working == 0) state_->start_thread(&state::work);
  state_->grow_if_stuck(now);  // who tells of many losses looks at the crew only afterwards
  return first;
}

time_point loss_notifier::grow_if_stuck() {
  std::list<state::member> ended;
  time_point look_again = time_point::max();
  {
    const seam::lock_guard guard{state_->mutex};
    ended = state_->take_ended();
    if (!state_->waiting.empty()) {
      const time_point now = state_->clock.now();
      state_->grow_if_stuck(now);
      look_again = now + notice_patience;
    }
  }
  for (const state::member& each : ended) each.thread->join();
  return look_again;
}

void loss_notifier::close() noexcept {
  // Members still at work use their entry: take each out only once it has ended.
  for (;;) {
    std::list<state::member> one;
    {
      const seam::lock_guard guard{state_->mutex};
      state_->closed = true;
      if (state_->members.empty()) return;
      one.splice(one.end(), state_->members, state_->members.begin());
    }
    if (one.front().thread->is_current()) {
      one.front().thread->detach();
      const seam::lock_guard guard{state_->mutex};
      state_->detached.splice(state_->detached.end(), one);
    } else {
      one.front().thread->join();
    }
  }
}

}  // namespace crosslock::inner
