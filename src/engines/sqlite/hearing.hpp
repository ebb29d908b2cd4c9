// The one thread that hears for all clients of a process on a database: wake-ups by other
// processes, whether those they wait for still live, and what must not block its caller.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"
#include "engines/sqlite/listener.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace crosslock::sqlite {

/// Thread-safe. The thread starts when there is something to listen for, and ends with the last
/// client. One that is kept for long by a client's own code is left to it: another goes on for the
/// others.
class hearing {
 public:
  hearing(connection& rows, seam::clock& clock) : connection_{rows}, clock_{clock} {}
  ~hearing();
  hearing(const hearing&) = delete;
  hearing& operator=(const hearing&) = delete;

  void join(std::shared_ptr<listener> fresh);
  /// Waits until nobody is with it. Not on a thread that is.
  void leave(listener& whom) noexcept;

  /// There is something to listen for.
  void attend();
  /// If a client keeps the thread, another one hears for the rest. For those who only hold, and ask
  /// for nothing.
  void relieve_if_kept() noexcept;
  /// There is somebody to wait for, whose death must be seen soon.
  void watch_closely();
  void post(const std::shared_ptr<listener>& whose, listener::posted_ask ask);

 private:
  using asks_of_each = std::map<std::shared_ptr<listener>, std::vector<listener::posted_ask>>;
  /// What belongs to one thread.
  struct shift {
    std::atomic<bool> over{false};  ///< it shall end
    std::atomic<bool> ended{false};
    std::unique_ptr<seam::thread> thread{};

    // By the thread itself.
    std::shared_ptr<wake_file> wake{};
    mailbox* box = nullptr;
    std::uint32_t heard = 0;
    std::vector<std::shared_ptr<listener>> all{};
    std::uint64_t as_of = 0;  ///< which state of the list that is
    time_point last_tick{};
    time_point attentive_until{};
    time_point files_checked{};
  };

  void begin_shift(bool missed_something) CROSSLOCK_REQUIRES(mutex_);
  bool hangs() const noexcept;
  void relieve() noexcept;
  void join_ended() CROSSLOCK_REQUIRES(mutex_);
  void ring() noexcept;
  void work(shift& mine);
  void listen_once(shift& mine);
  void note_listeners(shift& mine);
  void answer_asks(shift& mine);
  void post_again(const std::shared_ptr<listener>& whose, std::vector<listener::posted_ask> asks);
  void hear_news(shift& mine);
  void hear_again(shift& mine);
  void tell(shift& mine, const std::vector<event>& events);
  bool call_on(const shift& mine, listener& one, const std::function<void()>& tell_it);
  void sleep(shift& mine, std::uint32_t seen);
  void tick(shift& mine);
  static duration tick_length(const shift& mine, time_point now);
  static bool listens(const shift& mine, time_point now);

  connection& connection_;
  seam::clock& clock_;

  std::atomic<bool> running_{false};
  std::atomic<bool> idle_{false};    ///< sleeps, because there is nothing to listen for
  std::atomic<bool> slow_{false};    ///< sleeps for longer than a waiter would like
  std::atomic<bool> waited_{false};  ///< somebody has begun to wait since the last tick
  /// When a client must have let go of the thread; 0: it is with none.
  std::atomic<duration::rep> back_by_{0};

  seam::mutex mutex_;
  std::vector<std::shared_ptr<listener>> listeners_ CROSSLOCK_GUARDED_BY(mutex_);
  std::uint64_t state_ CROSSLOCK_GUARDED_BY(mutex_) = 1;  ///< of the list: rises
  int leaving_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  asks_of_each asks_ CROSSLOCK_GUARDED_BY(mutex_);
  bool missed_ CROSSLOCK_GUARDED_BY(mutex_) = false;  ///< by a thread that nobody could relieve
  /// The last one works, the others are kept somewhere.
  std::vector<std::unique_ptr<shift>> shifts_ CROSSLOCK_GUARDED_BY(mutex_);
};

}  // namespace crosslock::sqlite
