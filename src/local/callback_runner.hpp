// Brings results of asynchronous acquires to the user's code.
#pragma once

#include "keeper/keeper.hpp"

#include <functional>
#include <memory>

namespace crosslock::inner {

/// Runs continuations where their own executor says, or else options::executor; without one, on a
/// thread of its own that is started at the first of them. Thread-safe.
class callback_runner {
 public:
  using executor = std::function<void(std::function<void()>)>;

  callback_runner(seam::clock& clock, executor otherwise);
  ~callback_runner();
  callback_runner(const callback_runner&) = delete;
  callback_runner& operator=(const callback_runner&) = delete;

  void post(const std::function<void()>& continuation, const executor& where = {});
  /// For threads that run no user code, nor a user's executor: by the runner's own thread.
  void post_away(std::function<void()> work);
  /// Everything posted before is still run; called by a continuation, after this call.
  void close() noexcept;

 private:
  struct state;

  const executor executor_;
  std::shared_ptr<state> state_;  // shared with the thread, which may outlive the runner
};

}  // namespace crosslock::inner
