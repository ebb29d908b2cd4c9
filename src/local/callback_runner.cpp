// A queue of continuations and the one thread that runs them.
#include "local/callback_runner.hpp"

#include "engine/guarded.hpp"

#include <deque>
#include <optional>
#include <utility>

namespace crosslock::inner {

struct callback_runner::state {
  explicit state(seam::clock& given) : clock{given} {}

  seam::clock& clock;
  seam::park_word news{0};

  seam::mutex mutex;
  std::deque<std::function<void()>> waiting CROSSLOCK_GUARDED_BY(mutex);
  std::unique_ptr<seam::thread> thread CROSSLOCK_GUARDED_BY(mutex);
  bool closing CROSSLOCK_GUARDED_BY(mutex) = false;

  void start(const std::shared_ptr<state>& self) CROSSLOCK_REQUIRES(mutex) {
    try {
      thread = clock.start("crosslock-call", [self] { self->work(); });
    } catch (const error&) {
      // No thread is to be had: the next continuation, or close(), tries again.
    }
  }

  void work() {
    seam::park_unless(clock, news, [this]() -> std::optional<time_point> {
      seam::unique_lock guard{mutex};
      while (!waiting.empty()) {
        auto continuation = std::move(waiting.front());
        waiting.pop_front();
        guard.unlock();
        continuation();
        continuation = nullptr;  // what it owns goes before the mutex is taken again
        guard.lock();
      }
      return closing ? std::nullopt : std::optional{time_point::max()};
    });
  }
};

namespace {

bool executed(const callback_runner::executor& where, const std::function<void()>& continuation) {
  if (!where) return false;
  try {
    where(continuation);
    return true;
  } catch (...) {
    return false;  // it is shut down, say: there are others
  }
}

}  // namespace

callback_runner::callback_runner(seam::clock& clock, executor otherwise)
    : executor_{std::move(otherwise)}, state_{std::make_shared<state>(clock)} {}

callback_runner::~callback_runner() { close(); }

void callback_runner::post(const std::function<void()>& continuation, const executor& where) {
  if (executed(where, continuation) || executed(executor_, continuation)) return;
  post_away(continuation);
}

void callback_runner::post_away(std::function<void()> work) {
  bool too_late = false;
  {
    const seam::lock_guard guard{state_->mutex};
    too_late = state_->closing && !state_->thread;
    if (!too_late) state_->waiting.push_back(std::move(work));
    if (!too_late && !state_->thread) state_->start(state_);
    state_->news.fetch_add(1);
  }
  // After close() nobody else is there to call it: exactly once all the same.
  if (too_late) work();
  state_->clock.unpark(state_->news);
}

void callback_runner::close() noexcept {
  std::unique_ptr<seam::thread> thread;
  {
    const seam::lock_guard guard{state_->mutex};
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
