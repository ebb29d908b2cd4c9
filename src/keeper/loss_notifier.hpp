// The threads that tell losses: to stop callbacks, observers and logs, which are user code and may
// be slow or never end.
#pragma once

#include "engine/clock.hpp"

#include <functional>
#include <memory>

namespace crosslock::inner {

/// Started only at a loss. One thread serves many losses; when it is stuck in a callback, the
/// keeper's clock thread, which looks after a millisecond, starts another, so that no callback
/// delays the next. Thread-safe.
class loss_notifier {
 public:
  explicit loss_notifier(seam::clock& clock);
  ~loss_notifier();

  /// Runs a notice, and with it user code, on a thread of the notifier.
  void tell(std::function<void()> notice);

  /// Starts another thread if losses wait and nobody has taken one since the last look. Returns
  /// when to look again; time_point::max() when nothing waits.
  time_point grow_if_stuck();

  /// Waits for callbacks that are running, except one that made this very call.
  void close() noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;  // shared with the threads: one of them may outlive the notifier
};

}  // namespace crosslock::inner
