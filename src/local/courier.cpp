// A queue of continuations and the one thread that runs them.
#include "local/courier.hpp"

#include <deque>
#include <mutex>
#include <utility>

namespace crosslock::inner {

struct courier::state {
  explicit state(seam::clock& given) : clock{given} {}

  seam::clock& clock;
  seam::park_word news{0};

  std::mutex mutex;
  std::deque<std::function<void()>> waiting;
  std::unique_ptr<seam::thread> thread;
  bool closing = false;

  // The mutex is held.
  void start(const std::shared_ptr<state>& self) {
    try {
      thread = clock.start("crosslock-call", [self] { self->work(); });
    } catch (const error&) {
      // No thread is to be had: the next continuation, or close(), tries again.
    }
  }

  void work() {
    std::unique_lock guard{mutex};
    for (;;) {
      while (!waiting.empty()) {
        auto continuation = std::move(waiting.front());
        waiting.pop_front();
        guard.unlock();
        continuation();
        continuation = nullptr;  // what it owns goes before the mutex is taken again
        guard.lock();
      }
      if (closing) return;
      const std::uint32_t seen = news.load();
      guard.unlock();
      clock.park(news, seen, time_point::max());
      guard.lock();
    }
  }
};

namespace {

bool executed(const courier::executor& where, const std::function<void()>& continuation) {
  if (!where) return false;
  try {
    where(continuation);
    return true;
  } catch (...) {
    return false;  // it is shut down, say: there are others
  }
}

}  // namespace

courier::courier(seam::clock& clock, executor otherwise)
    : executor_{std::move(otherwise)}, state_{std::make_shared<state>(clock)} {}

courier::~courier() { close(); }

void courier::post(const std::function<void()>& continuation, const executor& where) {
  if (executed(where, continuation) || executed(executor_, continuation)) return;
  bool too_late = false;
  {
    const std::lock_guard guard{state_->mutex};
    too_late = state_->closing && !state_->thread;
    if (!too_late) state_->waiting.push_back(continuation);
    if (!too_late && !state_->thread) state_->start(state_);
    state_->news.fetch_add(1);
  }
  // After close() nobody else is there to call it: exactly once all the same.
  if (too_late) continuation();
  state_->clock.unpark(state_->news);
}

void courier::close() noexcept {
  std::unique_ptr<seam::thread> thread;
  {
    const std::lock_guard guard{state_->mutex};
    state_->closing = true;
    thread = std::move(state_->thread);
    state_->news.fetch_add(1);
  }
  state_->clock.unpark(state_->news);
  if (!thread) {
    state_->work();  // what no thread could be started for
  } else if (thread->is_current()) {
    thread->detach();
  } else {
    thread->join();
  }
}

}  // namespace crosslock::inner
