// How a client hears: at which of the process's hearings it is, and for which server. It goes to
// another one when its commands do, and when somebody else's code keeps the present one.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"
#include "engines/redis/hearing.hpp"
#include "engines/redis/listener.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::redis {

/// Believes only the server that the commands go to, told apart by its run id: a replica hands on
/// what its primary publishes, and after a failover old connections stay where they are.
/// Thread-safe.
class subscription {
 public:
  /// `commands` outlives it.
  subscription(std::string channel, connection& commands, duration timeout, seam::clock& clock,
               hearing_events report);
  ~subscription();
  subscription(const subscription&) = delete;
  subscription& operator=(const subscription&) = delete;

  /// Subscribes. Throws what connecting throws; `denied` when this user must not listen to the
  /// channel, or cannot tell servers apart: a thread serves the commands all the same. When the
  /// address leads to another server, it goes on trying.
  void start(time_point give_up);
  /// The run id of the server that the commands go to from now on, before the first of them does;
  /// empty when it cannot be known, none while there is no such server. What came from any other
  /// is not believed from this moment on.
  void must_be_of(std::optional<std::string> server);
  /// Until then somebody waits here who is in no call of ours: the thread reads for him at once.
  void read_for_absent(time_point until) noexcept;
  /// Something is to be read for `commands`, or to be done. Callable from any thread.
  void ring() noexcept;
  /// The same within some milliseconds, and for as many as ask for it until then.
  void ring_soon() noexcept;
  /// For a thread that waits for a push: as clock::park.
  void await(seam::park_word& word, std::uint32_t expected, time_point until);
  /// The word has changed.
  void rouse(seam::park_word& word) noexcept;
  /// This thread brings news just now, or does something for the commands.
  bool is_current() const noexcept;
  /// False: nothing that is pushed reaches us.
  bool listens() noexcept;
  void stop() noexcept;
  void abandon() noexcept CROSSLOCK_NO_ANALYSIS;

 private:
  struct seat_at {
    std::shared_ptr<hearing> where;
    std::shared_ptr<listener> me;
  };
  struct waiting_at {
    hearing::waiter* who;
    hearing* where;
  };

  seat_at join(const std::string& server, bool wants_news, bool moves);
  void go_to(const std::string& server) CROSSLOCK_REQUIRES(mutex_);
  /// Leaves one that somebody else keeps from working.
  void avoid_hanging() noexcept CROSSLOCK_REQUIRES(mutex_);
  void forget_former() noexcept CROSSLOCK_REQUIRES(mutex_);

  const std::string channel_;
  connection& commands_;
  const duration timeout_;
  seam::clock& clock_;
  const hearing_events events_;

  mutable seam::mutex mutex_;
  /// A run id; empty: it cannot be known.
  std::optional<std::string> server_ CROSSLOCK_GUARDED_BY(mutex_);
  seat_at now_ CROSSLOCK_GUARDED_BY(mutex_);
  std::vector<seat_at> former_ CROSSLOCK_GUARDED_BY(mutex_);  ///< somebody may still be with them
  std::vector<waiting_at> waiters_ CROSSLOCK_GUARDED_BY(mutex_);
  bool refused_ CROSSLOCK_GUARDED_BY(mutex_) = false;  ///< from the beginning: no use in trying
};

}  // namespace crosslock::redis
