// The threads that tell losses: to stop callbacks, observers and logs, which are user code and may
// be slow or never end.
#pragma once

#include "engine/clock.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace crosslock::inner {

/// What is told of one loss.
struct loss_notice {
  std::optional<std::stop_source> signal;  ///< requested first; its callbacks run here
  std::function<void()> told;              ///< then this: to observer and log
};

/// Started only at a loss, by one thread, which is enough if nobody's callbacks take long. As soon
/// as a notice is a quarter of a millisecond old, a crew of up to 64 shares out what waits, and
/// each requests all stops of its share before any callback runs. So no callback delays the signal
/// of another hold, and none delays another's callbacks before the crew is full of such that do not
/// return. Thread-safe.
class loss_notifier {
 public:
  explicit loss_notifier(seam::clock& clock);
  ~loss_notifier();

  /// Runs a notice, and with it user code, on a thread of the notifier. True when nothing waited
  /// before: grow_if_stuck has to be called by its moment.
  bool tell(loss_notice notice);

  /// Lets the crew grow if a notice has waited for too long. Returns when to look again;
  /// time_point::max() when nothing waits.
  time_point grow_if_stuck();

  /// Waits for callbacks that are running, except one that made this very call.
  void close() noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;  // shared with the threads: one of them may outlive the notifier
};

}  // namespace crosslock::inner
