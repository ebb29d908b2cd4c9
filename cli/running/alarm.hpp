// A moment of the clock of leases as something to poll for.
#pragma once

#include "cli/descriptor.hpp"

#include <crosslock/time.hpp>

#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>

namespace crosslock::cli {

/// That clock goes on while the machine is suspended.
class alarm {
 public:
  /// Readable from that moment on, until it is set again.
  void set(time_point moment) noexcept {
    using namespace std::chrono_literals;
    if (moment == set_) return;
    set_ = moment;
    const duration at = std::max<duration>(moment.time_since_epoch(), 1ns);
    itimerspec when{};
    when.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(at).count();
    when.it_value.tv_nsec = (at % 1s).count();
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  }
  int descriptor() const noexcept { return timer_.get(); }

 private:
  const cli::descriptor timer_{timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC), "timerfd_create"};
  time_point set_{};
};

}  // namespace crosslock::cli
