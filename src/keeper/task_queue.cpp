// A thread that runs tasks in the order of their moments.
#include "keeper/task_queue.hpp"

#include <crosslock/error.hpp>

#include <utility>

namespace crosslock::inner {

task_queue::task_queue(seam::clock& clock, const char* thread_name)
    : clock_{clock}, thread_name_{thread_name} {}

task_queue::~task_queue() { close(); }

task_queue::ticket task_queue::at(time_point moment, std::function<void()> task) {
  ticket planned{moment, 0};
  {
    const seam::lock_guard guard{mutex_};
    if (closing_) return planned;
    planned.number = ++numbers_;
    planned_.emplace(planned, std::move(task));
    try {
      if (!thread_) thread_ = clock_.start(thread_name_, [this] { work(); });
    } catch (const error&) {
      // No thread is to be had: the task stays, and the next one tries again.
    }
    news_.fetch_add(1);
  }
  clock_.unpark(news_);
  return planned;
}

void task_queue::cancel(ticket planned) {
  std::function<void()> dropped;  // destroyed outside the mutex
  const seam::lock_guard guard{mutex_};
  if (const auto found = planned_.find(planned); found != planned_.end()) {
    dropped = std::move(found->second);
    planned_.erase(found);
  }
}

void task_queue::work() {
  seam::park_unless(clock_, news_, [this] { return run_due(); });
}

std::optional<time_point> task_queue::run_due() {
  seam::unique_lock guard{mutex_};
  while (!planned_.empty() && planned_.begin()->first.moment <= clock_.now()) {
    const auto task = std::move(planned_.begin()->second);
    planned_.erase(planned_.begin());
    guard.unlock();
    task();
    guard.lock();
  }
  if (closing_) return std::nullopt;
  return planned_.empty() ? time_point::max() : planned_.begin()->first.moment;
}

bool task_queue::is_current() const {
  const seam::lock_guard guard{mutex_};
  return thread_ && thread_->is_current();
}

void task_queue::close() noexcept {
  std::unique_ptr<seam::thread> thread;
  {
    const seam::lock_guard guard{mutex_};
    closing_ = true;
    thread = std::move(thread_);
    news_.fetch_add(1);
  }
  clock_.unpark(news_);
  if (thread) thread->join();
  // What was not due is dropped outside the mutex: it may own things with destructors of their own.
  std::map<ticket, std::function<void()>> dropped;
  const seam::lock_guard guard{mutex_};
  dropped.swap(planned_);
}

}  // namespace crosslock::inner
