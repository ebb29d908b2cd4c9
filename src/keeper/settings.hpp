// The options of one client after defaults, environment and URL have been put together.
#pragma once

#include "engine/log.hpp"

#include <crosslock/options.hpp>

#include <functional>
#include <memory>
#include <string>

namespace crosslock::inner {

struct settings {
  duration lease = std::chrono::seconds{30};
  bool lease_said = false;  ///< by the program, the URL or the environment
  duration timeout = std::chrono::seconds{5};
  duration max_hold = duration::max();
  duration look_every = std::chrono::seconds{1};
  bool strict_fifo = false;
  bool unlock_waits = false;
  retry_options retry;
  pass_options pass;
  std::string prefix;
  seam::log log;
  std::shared_ptr<crosslock::observer> observer;  ///< guarded
  std::function<void(std::function<void()>)> executor;

  template <class... Parts>
  void say(log_level level, const Parts&... parts) const noexcept {
    log.say(level, parts...);
  }
};

}  // namespace crosslock::inner
