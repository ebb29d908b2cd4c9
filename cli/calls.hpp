// Lets the thread that waits for a lock be called back itself: no other thread is needed for it.
#pragma once

#include "cli/descriptor.hpp"

#include <sys/eventfd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace crosslock::cli {

class calls {
 public:
  /// For options::executor, before connecting. May be called by any thread, also when this object
  /// is gone.
  std::function<void(std::function<void()>)> executor() const {
    return [state = state_](std::function<void()> call) {
      const std::lock_guard guard{state->mutex};
      state->waiting.push_back(std::move(call));
      eventfd_write(state->came.get(), 1);
    };
  }
  /// Readable when there is something to run.
  int descriptor() const noexcept { return state_->came.get(); }
  void run() {
    std::vector<std::function<void()>> now;
    {
      const std::lock_guard guard{state_->mutex};
      now.swap(state_->waiting);
      eventfd_t ignored = 0;
      eventfd_read(state_->came.get(), &ignored);
    }
    for (const auto& each : now) each();
  }

 private:
  struct state {
    const cli::descriptor came{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"};
    std::mutex mutex;
    std::vector<std::function<void()>> waiting;  // by the mutex
  };

  const std::shared_ptr<state> state_ = std::make_shared<state>();
};

}  // namespace crosslock::cli
