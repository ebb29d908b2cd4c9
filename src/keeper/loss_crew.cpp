// A queue of notices and threads that empty it and then end.
#include "keeper/loss_crew.hpp"

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

  // The mutex is held. Returns members that have ended, to be joined without the mutex.
  std::list<member> start_thread() {
    std::list<member> ended;
    for (auto at = members.begin(); at != members.end();) {
      const auto next = std::next(at);
      if (at->finished) ended.splice(ended.end(), members, at);
      at = next;
    }
    ++working;
    member& added = members.emplace_back();
    added.thread =
        clock.start("crosslock-loss", [self = shared_from_this(), &added] { self->work(added); });
    return ended;
  }

  static void join(const std::list<member>& ended) noexcept {
    for (const member& each : ended) each.thread->join();
  }
};

loss_crew::loss_crew(seam::clock& clock) : state_{std::make_shared<state>(clock)} {}

loss_crew::~loss_crew() { close(); }

void loss_crew::tell(std::function<void()> notice) {
  std::list<state::member> ended;
  {
    const std::lock_guard guard{state_->mutex};
    if (state_->closed) return;
    state_->waiting.push_back(std::move(notice));
    if (state_->working == 0) ended = state_->start_thread();
  }
  state::join(ended);
}

time_point loss_crew::grow_if_stuck() {
  std::list<state::member> ended;
  {
    const std::lock_guard guard{state_->mutex};
    if (state_->waiting.empty()) return time_point::max();
    if (state_->taken == state_->taken_at_last_look) ended = state_->start_thread();
    state_->taken_at_last_look = state_->taken;
  }
  state::join(ended);
  return state_->clock.now() + patience;
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
