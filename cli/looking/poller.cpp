#include "cli/looking/poller.hpp"

#include <crosslock/error.hpp>

#include <sys/eventfd.h>

#include <csignal>
#include <utility>

namespace crosslock::cli {

poller::poller(std::function<seen_locks()> look, seen_locks first, duration interval)
    : look_{std::move(look)},
      interval_{interval},
      fresh_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"},
      known_{std::move(first), {}} {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread{[this] { look_on(); }};
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

poller::~poller() {
  stop_within(duration::zero());
  thread_.join();
}

void poller::look_on() {
  std::unique_lock guard{mutex_};
  while (!changed_.wait_for(guard, interval_, [this] { return stopping_; })) {
    guard.unlock();
    look_once();
    guard.lock();
  }
  stopped_ = true;
  changed_.notify_all();
}

void poller::look_once() {
  std::optional<seen_locks> seen;
  std::string trouble;
  try {
    seen = look_();
  } catch (const std::exception& why) {
    trouble = why.what();
  }
  const std::lock_guard guard{mutex_};
  if (seen) known_.locks = std::move(*seen);
  known_.trouble = std::move(trouble);
  eventfd_write(fresh_.get(), 1);
}

poller::news poller::take() {
  eventfd_t count = 0;
  eventfd_read(fresh_.get(), &count);
  const std::lock_guard guard{mutex_};
  return known_;
}

bool poller::stop_within(duration patience) {
  std::unique_lock guard{mutex_};
  stopping_ = true;
  changed_.notify_all();
  return changed_.wait_for(guard, patience, [this] { return stopped_; });
}

}  // namespace crosslock::cli
