// One loop over three descriptors: signals, the news of a loss, and a timer. The timer runs on the
// clock of leases, which goes on while the machine is suspended.
#include "cli/running/supervisor.hpp"

#include "cli/descriptor.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stop_token>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

/// How long before the end of its lease a command is asked to stop: long enough to clean up, short
/// enough that a renewal which was merely slow does not cost anybody a job. A sixth of what is left
/// rather than of a whole lease: just after a handover the lease is a short one.
duration notice(duration left) { return std::clamp<duration>(left / 6, 0s, 5s); }

void arm(int timer, time_point moment) {
  const duration at = std::max<duration>(moment.time_since_epoch(), 1ns);
  itimerspec when{};
  when.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(at).count();
  when.it_value.tv_nsec = (at % 1s).count();
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, nullptr);
}

class supervisor {
 public:
  supervisor(child& command, const hold& held, signal_inbox& signals)
      : command_{command}, held_{held}, signals_{signals} {}

  verdict run() {
    for (;;) {
      if (const auto code = command_.exit_code()) return {*code, stopped_};
      look_at_lease();
      wait();
      pass_signals_on();
    }
  }

 private:
  void look_at_lease() {
    const time_point now = boot_clock::now();
    if (!stopped_ && held_.expires_at() != expires_) {
      expires_ = held_.expires_at();
      next_step_ = expires_ - notice(expires_ - now);
    }
    const bool lost = held_.lost().stop_requested();
    if (!stopped_ && (lost || now >= next_step_)) {
      stopped_ = true;
      command_.send(SIGTERM);
      // A lock that was broken or is gone may be somebody else's already: no long good-byes there.
      next_step_ = std::min(expires_, now + notice(expires_ - now));
      if (!lost) next_step_ = expires_;
    }
    if (stopped_ && now >= next_step_) {
      command_.send(SIGKILL);
      next_step_ = time_point::max();
    }
    arm(timer_.get(), next_step_);
  }

  void wait() {
    // Once it has fired, the news of the loss would wake us for ever.
    pollfd all[] = {{signals_.descriptor(), POLLIN, 0},
                    {timer_.get(), POLLIN, 0},
                    {stopped_ ? -1 : loss_.get(), POLLIN, 0}};
    poll(all, std::size(all), -1);
  }

  void pass_signals_on() {
    while (const auto news = signals_.next()) {
      // A terminal sends these to its whole group, but tells only its leader that it hangs up.
      const bool has_it =
          news->from_terminal && (news->number == SIGINT || news->number == SIGQUIT);
      if (news->number != SIGCHLD && !has_it) command_.send(news->number);
    }
  }

  child& command_;
  const hold& held_;
  signal_inbox& signals_;
  const descriptor timer_{timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC), "timerfd_create"};
  const descriptor loss_{eventfd(0, EFD_CLOEXEC), "eventfd"};
  const std::stop_callback<std::function<void()>> told_{held_.lost(),
                                                        [this] { eventfd_write(loss_.get(), 1); }};

  bool stopped_ = false;
  time_point expires_{};
  time_point next_step_ = time_point::max();  ///< until then there is nothing to do
};

}  // namespace

verdict supervise(child& command, const hold& held, signal_inbox& signals) {
  return supervisor{command, held, signals}.run();
}

}  // namespace crosslock::cli
