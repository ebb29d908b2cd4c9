// Brings results of asynchronous acquires to the user's code.
#pragma once

#include "keeper/keeper.hpp"

#include <functional>
#include <memory>

namespace crosslock::inner {

/// Runs continuations where options::executor says; without one, on a thread of its own that is
/// started at the first of them. Thread-safe.
class courier {
 public:
  courier(seam::clock& clock, std::function<void(std::function<void()>)> executor);
  ~courier();
  courier(const courier&) = delete;
  courier& operator=(const courier&) = delete;

  void post(std::function<void()> continuation);
  /// Everything posted before is still run; called by a continuation, after this call.
  void close() noexcept;

 private:
  struct state;

  bool executed(const std::function<void()>& continuation);

  std::function<void(std::function<void()>)> executor_;
  std::shared_ptr<state> state_;  // shared with the thread, which may outlive the courier
};

}  // namespace crosslock::inner
