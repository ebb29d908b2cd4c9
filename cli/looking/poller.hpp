// Somebody who looks every so often on a thread of his own, so that a server that does not answer
// keeps nobody from quitting.
#pragma once

#include "cli/descriptor.hpp"
#include "cli/looking/repeat.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace crosslock::cli {

/// The thread blocks all signals.
class poller {
 public:
  struct news {
    seen_locks locks;     ///< what was seen last
    std::string trouble;  ///< why it was not seen now; empty when all is well
  };

  /// `first` was seen before; the first look is an interval later.
  poller(std::function<seen_locks()> look, seen_locks first, duration interval);
  ~poller();
  poller(const poller&) = delete;
  poller& operator=(const poller&) = delete;

  /// Readable when there is something new.
  int descriptor() const noexcept { return fresh_.get(); }
  /// What is known now; nothing new from here on until the descriptor says so.
  news take();
  /// False when a look is under way and does not come to its end within that time.
  bool stop_within(duration patience);

 private:
  void look_on();
  void look_once();

  const std::function<seen_locks()> look_;
  const duration interval_;
  const cli::descriptor fresh_;

  std::mutex mutex_;
  std::condition_variable changed_;
  news known_;
  bool stopping_ = false;
  bool stopped_ = false;

  std::thread thread_;
};

}  // namespace crosslock::cli
