// What the server sends unasked: one connection that listens to this client's own channel, and the
// one thread of a client, which also reads answers that nobody waits for.
#pragma once

#include "engine/clock.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/stream.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::redis {

/// Thread-safe.
class subscription {
 public:
  struct events {
    std::function<void(std::string_view message)> heard;
    /// From now on nothing is missed; what came before may have been.
    std::function<void()> listening;
    std::function<void(const error& why)> deaf;
  };

  /// `commands` outlives it.
  subscription(std::string channel, connection& commands, connection::greeting greet,
               seam::clock& clock, events report);
  ~subscription();
  subscription(const subscription&) = delete;
  subscription& operator=(const subscription&) = delete;

  /// Subscribes, then starts the thread. Throws what connecting throws; `denied` when this user
  /// must not listen to the channel: the thread runs all the same, for the commands.
  void start(time_point give_up);
  /// Something is to be read for `commands`, or to be done. Callable from any thread.
  void ring() noexcept;
  bool is_current() const noexcept;
  bool listens() const noexcept { return listens_.load(); }
  void stop() noexcept;
  void abandon() noexcept;

 private:
  void subscribe(time_point give_up);
  void work();
  void listen_once();
  void read_news();
  void try_again();
  void drop(const error& why);

  const std::string channel_;
  connection& commands_;
  const connection::greeting greet_;
  seam::clock& clock_;
  const events events_;

  int bell_ = -1;  ///< an eventfd
  std::atomic<bool> listens_{false};
  std::atomic<bool> stopping_{false};
  std::unique_ptr<seam::thread> thread_;

  // The thread's own, once it runs.
  std::unique_ptr<stream> stream_;
  parser parser_;
  reply message_;
  std::vector<char> buffer_;
  bool refused_ = false;  ///< no right to listen: no use in trying again
  int failures_ = 0;
  time_point next_try_{};
};

}  // namespace crosslock::redis
