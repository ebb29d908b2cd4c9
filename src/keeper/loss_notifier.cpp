// A queue of notices and threads that empty it and then end.
#include "keeper/loss_notifier.hpp"

#include "engine/guarded.hpp"

#include <crosslock/error.hpp>

#include <deque>
#include <iterator>
#include <list>
#include <utility>

namespace crosslock::inner {
namespace {

constexpr duration stuck_after = std::chrono::milliseconds{1};

}  // namespace

struct loss_notifier::state : std::enable_shared_from_this<loss_notifier::state> {
  explicit state(seam::clock& given) : clock{given} {}

  seam::clock& clock;

  seam::mutex mutex;
  std::deque<std::function<void()>> waiting CROSSLOCK_GUARDED_BY(mutex);
  std::size_t working CROSSLOCK_GUARDED_BY(mutex) = 0;
  std::uint64_t taken CROSSLOCK_GUARDED_BY(mutex) = 0;
  std::uint64_t taken_at_last_look CROSSLOCK_GUARDED_BY(mutex) = 0;
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
      std::function<void()> notice = std::move(waiting.front());
      waiting.pop_front();
      ++taken;
      guard.unlock();
      notice();
      notice = nullptr;  // what it owns goes before the mutex is taken again
      guard.lock();
    }
    --working;
    self.finished = true;
  }

  void start_thread() CROSSLOCK_REQUIRES(mutex) {
    member& added = members.emplace_back();
    try {
      added.thread =
          clock.start("crosslock-loss", [self = shared_from_this(), &added] { self->work(added); });
      ++working;
    } catch (const error&) {
      members.pop_back();  // none is to be had: the clock thread tries again in a moment
    }
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
void loss_notifier::tell(std::function<void()> notice) {
  const seam::lock_guard guard{state_->mutex};
  if (state_->closed) return;
  state_->waiting.push_back(std::move(notice));
  if (state_->working == 0) state_->start_thread();
}

time_point loss_notifier::grow_if_stuck() {
  std::list<state::member> ended;
  time_point look_again = time_point::max();
  {
    const seam::lock_guard guard{state_->mutex};
    ended = state_->take_ended();
    if (!state_->waiting.empty()) {
      if (state_->taken == state_->taken_at_last_look) state_->start_thread();
      state_->taken_at_last_look = state_->taken;
      look_again = state_->clock.now() + stuck_after;
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
