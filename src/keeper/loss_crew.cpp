// A queue of stop_sources and threads that empty it and then end.
#include "keeper/loss_crew.hpp"

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace crosslock::inner {
namespace {

constexpr duration patience = std::chrono::milliseconds{1};

}  // namespace

struct loss_crew::state : std::enable_shared_from_this<loss_crew::state> {
  explicit state(seam::clock& given) : clock{given} {}

  seam::clock& clock;

  std::mutex mutex;
  std::deque<std::stop_source> waiting;
  std::size_t working = 0;
  std::uint64_t taken = 0;
  std::uint64_t taken_at_last_look = 0;
  bool closed = false;
  std::vector<std::unique_ptr<seam::thread>> threads;

  void work() {
    std::unique_lock guard{mutex};
    while (!waiting.empty()) {
      std::stop_source source = std::move(waiting.front());
      waiting.pop_front();
      ++taken;
      guard.unlock();
      source.request_stop();
      source = std::stop_source{std::nostopstate};
      guard.lock();
    }
    --working;
  }

  // The mutex is held.
  void start_thread() {
    ++working;
    threads.push_back(clock.start("crosslock-loss", [self = shared_from_this()] { self->work(); }));
  }
};

loss_crew::loss_crew(seam::clock& clock) : state_{std::make_shared<state>(clock)} {}

loss_crew::~loss_crew() { close(); }

void loss_crew::tell(std::stop_source source) {
  const std::lock_guard guard{state_->mutex};
  if (state_->closed) return;
  state_->waiting.push_back(std::move(source));
  if (state_->working == 0) state_->start_thread();
}

time_point loss_crew::grow_if_stuck() {
  const std::lock_guard guard{state_->mutex};
  if (state_->waiting.empty()) return time_point::max();
  if (state_->taken == state_->taken_at_last_look) state_->start_thread();
  state_->taken_at_last_look = state_->taken;
  return state_->clock.now() + patience;
}

void loss_crew::close() noexcept {
  std::vector<std::unique_ptr<seam::thread>> threads;
  {
    const std::lock_guard guard{state_->mutex};
    state_->closed = true;
    threads.swap(state_->threads);
  }
  for (const auto& thread : threads) {
    if (thread->is_current()) {
      thread->detach();
    } else {
      thread->join();
    }
  }
}

}  // namespace crosslock::inner
