// What the server sends unasked: one connection that listens to this client's own channel, and the
// one thread of a client, which also reads answers that nobody waits for. When waits follow each
// other closely, a thread that waits listens itself: the news then need no second thread.
#pragma once

#include "engine/clock.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/stream.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
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
  /// For a thread that waits for a push: as clock::park.
  void await(seam::park_word& word, std::uint32_t expected, time_point until);
  /// The word has changed.
  void rouse(seam::park_word& word) noexcept;
  bool is_current() const noexcept;
  bool listens() const noexcept { return listens_.load(); }
  void stop() noexcept;
  void abandon() noexcept;

 private:
  /// Who may touch the stream and what belongs to it.
  enum class reader { thread, waiter, nobody };

  void subscribe(time_point give_up);
  bool begin_to_listen();
  void listen_for(seam::park_word& word, std::uint32_t expected, time_point until);
  void stop_listening(bool broken) noexcept;
  /// What the thread is to do in its next round.
  bool take_stream_back();
  void read_for_nobody();
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

  int nudge_ = -1;  ///< another eventfd: for the waiter who listens
  std::atomic<seam::park_word*> listening_{nullptr};  ///< what that waiter waits for
  std::mutex role_mutex_;
  reader reader_ = reader::thread;
  bool wished_ = false;  ///< a waiter would like to listen
  bool broken_ = false;  ///< a waiter found that it cannot be read any more
  time_point last_wait_{};
  std::uint64_t stint_ = 0;  ///< how many waiters have listened

  // The reader's own.
  std::unique_ptr<stream> stream_;
  parser parser_;
  reply message_;
  std::vector<char> buffer_;

  // The thread's own, once it runs.
  std::uint64_t seen_stint_ = 0;
  duration standby_{};
  bool refused_ = false;  ///< no right to listen: no use in trying again
  int failures_ = 0;
  time_point next_try_{};
};

}  // namespace crosslock::redis
