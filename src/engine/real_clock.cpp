// The clock of real programs. Waiting threads use futexes, whose timeouts stop while the machine is
// suspended; the threads that watch deadlines use a timer on CLOCK_BOOTTIME, which does not.
#include "engine/clock.hpp"
#include "engine/fork_guard.hpp"

#include <crosslock/error.hpp>

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>
#include <thread>

namespace crosslock {

time_point boot_clock::now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return time_point{std::chrono::seconds{now.tv_sec} + duration{now.tv_nsec}};
}

namespace seam {

constinit std::atomic<std::uint32_t> forks{0};

namespace {

const bool fork_is_watched = [] {
  pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return true;
}();

timespec to_timespec(duration span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((span - seconds).count())};
}

[[noreturn]] void throw_errno(const char* call) {
  const int code = errno;
  throw error{errc::unsupported,
              std::string{call} + ": " + std::error_code{code, std::generic_category()}.message(),
              {.engine = {}, .native_code = code, .outcome_unknown = false}};
}

class timer_alarm final : public alarm {
 public:
  timer_alarm() : timer_{timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)} {
    if (timer_ < 0) throw_errno("timerfd_create");
  }
  ~timer_alarm() override { ::close(timer_); }
  timer_alarm(const timer_alarm&) = delete;
  timer_alarm& operator=(const timer_alarm&) = delete;

  void wait_until(time_point moment) override {
    // Arm first, then look for an earlier ring: a ring that comes later re-arms to "at once".
    arm(std::max(moment.time_since_epoch(), duration{1}));
    if (rung_.exchange(false)) return;
    std::uint64_t expirations = 0;
    while (::read(timer_, &expirations, sizeof expirations) < 0 && errno == EINTR) {
    }
    rung_.store(false);
  }

  void ring() noexcept override {
    rung_.store(true);
    arm(duration{1});
  }

 private:
  void arm(duration since_boot) noexcept {
    itimerspec when{};
    when.it_value = to_timespec(since_boot);
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
  }

  const int timer_;
  std::atomic<bool> rung_{false};
};

/// Signals of the program are for the program's own threads.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_{};
};

class os_thread final : public thread {
 public:
  os_thread(std::string_view name, std::function<void()> body) {
    const signals_blocked blocked;
    try {
      thread_ = std::thread{std::move(body)};
    } catch (const std::system_error& why) {
      throw error{errc::unsupported,
                  std::string{"no thread can be started: "} + why.what(),
                  {.engine = {}, .native_code = why.code().value(), .outcome_unknown = false}};
    }
    pthread_setname_np(thread_.native_handle(), std::string{name.substr(0, 15)}.c_str());
  }
  void join() override { thread_.join(); }
  void detach() noexcept override { thread_.detach(); }
  bool is_current() const noexcept override {
    return thread_.get_id() == std::this_thread::get_id();
  }

 private:
  std::thread thread_;
};

class boottime_clock final : public clock {
 public:
  time_point now() const noexcept override { return boot_clock::now(); }

  std::int64_t tick() const noexcept override {
    // The time of the last timer interrupt, or of the suspend that came after it.
    timespec last{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &last);
    return (std::chrono::seconds{last.tv_sec} + duration{last.tv_nsec}).count();
  }

  void park(park_word& word, std::uint32_t expected, time_point until) override {
    if (until == time_point::max()) {
      // No timer to set and to cancel: that is a good part of the cost of a short sleep.
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
      return;
    }
    const duration left = until - now();
    if (left <= duration::zero()) return;
    // A second at most: a futex timeout stands still during a suspend, our deadlines do not.
    const timespec wait = to_timespec(std::min<duration>(left, std::chrono::seconds{1}));
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &wait, nullptr, 0);
  }

  void unpark(park_word& word) noexcept override {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  std::unique_ptr<alarm> make_alarm() override { return std::make_unique<timer_alarm>(); }

  std::unique_ptr<thread> start(std::string_view name, std::function<void()> body) override {
    return std::make_unique<os_thread>(name, std::move(body));
  }

  void fill_random(std::span<std::uint8_t> bytes) override {
    while (!bytes.empty()) {
      const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
      if (got < 0 && errno != EINTR) throw_errno("getrandom");
      if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
  }
};

}  // namespace

clock& real_clock() noexcept {
  // Never destroyed: holds of static objects may outlive every other static.
  static auto* const clock = new boottime_clock;
  return *clock;
}

}  // namespace seam
}  // namespace crosslock
