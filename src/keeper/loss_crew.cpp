// A queue of notices and threads that empty it and then end.
#include "keeper/loss_crew.hpp"

#include <crosslock/error.hpp>

#include <deque>
#include <iterator>
#include <list>
#include <mutex>
#include <utility>

namespace crosslock::inner {
namespace {

constexpr duration patience = std::chrono::milliseconds{1};

}  // namespace

struct loss_crew::state : std::enable_shared_from_this<loss_crew::state> {
  explicit state(seam::clock& given) : clock{given} {}

  seam::clock& clock;

  std::mutex mutex;
  std::deque<std::function<void()>> waiting;
  std::size_t working = 0;
  std::uint64_t taken = 0;
  std::uint64_t taken_at_last_look = 0;
  bool closed = false;

  struct member {
    std::unique_ptr<seam::thread> thread;
    bool finished = false;
  };
  std::list<member> members;
  std::list<member> detached;  // one that closed the crew by its own callback

  void work(member& self) {
    std::unique_lock guard{mutex};
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

  // The mutex is held.
  void start_thread() {
    member& added = members.emplace_back();
    try {
      added.thread =
          clock.start("crosslock-loss", [self = shared_from_this(), &added] { self->work(added); });
      ++working;
    } catch (const error&) {
      members.pop_back();  // none is to be had: the clock thread tries again in a moment
    }
  }

  // The mutex is held. Members that have ended, to be joined without it.
  std::list<member> take_ended() {
    std::list<member> ended;
    for (auto at = members.begin(); at != members.end();) {
      const auto next = std::next(at);
      if (at->finished) ended.splice(ended.end(), members, at);
      at = next;
    }
    return ended;
  }
};

loss_crew::loss_crew(seam::clock& clock) : state_{std::make_shared<state>(clock)} {}

loss_crew::~loss_crew() { close(); }

// May be called from within an event of the engine, so nothing is waited for here: the clock thread
// joins those that have ended.
void loss_crew::tell(std::function<void()> notice) {
  const std::lock_guard guard{state_->mutex};
  if (state_->closed) return;
  state_->waiting.push_back(std::move(notice));
  if (state_->working == 0) state_->start_thread();
}

time_point loss_crew::grow_if_stuck() {
  std::list<state::member> ended;
  time_point look_again = time_point::max();
  {
    const std::lock_guard guard{state_->mutex};
    ended = state_->take_ended();
    if (!state_->waiting.empty()) {
      if (state_->taken == state_->taken_at_last_look) state_->start_thread();
      state_->taken_at_last_look = state_->taken;
      look_again = state_->clock.now() + patience;
    }
  }
  for (const state::member& each : ended) each.thread->join();
  return look_again;
}

void loss_crew::close() noexcept {
  // Members still at work use their entry: take each out only once it has ended.
  for (;;) {
    std::list<state::member> one;
    {
      const std::lock_guard guard{state_->mutex};
      state_->closed = true;
      if (state_->members.empty()) return;
      one.splice(one.end(), state_->members, state_->members.begin());
    }
    if (one.front().thread->is_current()) {
      one.front().thread->detach();
      const std::lock_guard guard{state_->mutex};
      state_->detached.splice(state_->detached.end(), one);
    } else {
      one.front().thread->join();
    }
  }
}

}  // namespace crosslock::inner
