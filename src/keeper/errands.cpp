// A thread that runs errands in the order of their moments.
#include "keeper/errands.hpp"

#include <crosslock/error.hpp>

#include <utility>

namespace crosslock::inner {

errands::errands(seam::clock& clock, const char* thread_name)
    : clock_{clock}, thread_name_{thread_name} {}

errands::~errands() { close(); }

errands::ticket errands::at(time_point moment, std::function<void()> errand) {
  ticket planned{moment, 0};
  {
    const std::lock_guard guard{mutex_};
    if (closing_) return planned;
    planned.number = ++numbers_;
    planned_.emplace(planned, std::move(errand));
    try {
      if (!thread_) thread_ = clock_.start(thread_name_, [this] { work(); });
    } catch (const error&) {
      // No thread is to be had: the errand stays, and the next one tries again.
    }
    news_.fetch_add(1);
  }
  clock_.unpark(news_);
  return planned;
}

void errands::cancel(ticket planned) {
  std::function<void()> dropped;  // destroyed outside the mutex
  const std::lock_guard guard{mutex_};
  if (const auto found = planned_.find(planned); found != planned_.end()) {
    dropped = std::move(found->second);
    planned_.erase(found);
  }
}

void errands::work() {
  std::unique_lock guard{mutex_};
  for (;;) {
    const bool idle = planned_.empty() || planned_.begin()->first.moment > clock_.now();
    if (idle && closing_) return;
    if (idle) {
      const time_point until =
          planned_.empty() ? time_point::max() : planned_.begin()->first.moment;
      const std::uint32_t seen = news_.load();
      guard.unlock();
      clock_.park(news_, seen, until);
      guard.lock();
      continue;
    }
    const auto errand = std::move(planned_.begin()->second);
    planned_.erase(planned_.begin());
    guard.unlock();
    errand();
    guard.lock();
  }
}

bool errands::is_current() const {
  const std::lock_guard guard{mutex_};
  return thread_ && thread_->is_current();
}

void errands::close() noexcept {
  std::unique_ptr<seam::thread> thread;
  {
    const std::lock_guard guard{mutex_};
    closing_ = true;
    thread = std::move(thread_);
    news_.fetch_add(1);
  }
  clock_.unpark(news_);
  if (thread) thread->join();
  // What was not due is dropped outside the mutex: it may own things with destructors of their own.
  std::map<ticket, std::function<void()>> dropped;
  const std::lock_guard guard{mutex_};
  dropped.swap(planned_);
}

}  // namespace crosslock::inner
