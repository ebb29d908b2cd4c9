// What the server sends unasked: one connection that listens to this client's own channel, on the
// very server that the commands go to, and the one thread of a client, which also reads answers
// that nobody waits for. When waits follow each other closely, a thread that waits listens itself:
// the news then need no second thread.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/stream.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::redis {

/// Believes only the server that the commands go to, told apart by its run id: a replica hands on
/// what its primary publishes, and after a failover old connections stay where they are.
/// Thread-safe.
class subscription {
 public:
  /// Introduces us on a new stream and returns the run id of the server; empty: it does not tell.
  using introduction = std::function<std::string(stream&, parser&, time_point give_up)>;

  struct events {
    std::function<void(std::string_view message)> heard;
    /// From now on nothing is missed; what came before may have been.
    std::function<void()> listening;
    std::function<void(const error& why)> deaf;
    /// It is deaf because it may not listen any more; told once until it listens again.
    std::function<void(const error& why)> refused;
  };

  /// `commands` outlives it.
  subscription(std::string channel, connection& commands, introduction introduce,
               seam::clock& clock, events report);
  ~subscription();
  subscription(const subscription&) = delete;
  subscription& operator=(const subscription&) = delete;

  /// Subscribes, then starts the thread. Throws what connecting throws; `denied` when this user
  /// must not listen to the channel, or cannot tell servers apart: the thread runs all the same,
  /// for the commands. When the address leads to another server, it goes on trying.
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
  bool is_current() const noexcept;
  /// False: nothing that is pushed reaches us.
  bool listens() const noexcept { return listens_.load() && trusted_.load(); }
  void stop() noexcept;
  void abandon() noexcept;

 private:
  /// Who may touch the stream and what belongs to it.
  enum class reader {
    thread,      ///< it polls: a waiter may take it away
    thread_now,  ///< it reads
    waiter,
    nobody,  ///< for a moment: the thread looks now and then
  };

  /// False when the address leads to another server than that of the commands.
  bool subscribe(time_point give_up);
  std::string introduced(stream& fresh, time_point give_up);
  bool is_right(const std::string& server) const CROSSLOCK_REQUIRES(role_mutex_);
  void await_subscribed(stream& fresh, time_point give_up);
  bool somebody_is_absent() const noexcept;
  void refuse_strangers() const;
  bool begin_to_listen();
  void listen_for(seam::park_word& word, std::uint32_t expected, time_point until);
  void stop_listening(bool broken) noexcept;
  /// For the thread: whether the stream is its own to poll.
  bool take_stream_back();
  /// Reads what is there, unless a waiter does.
  void read_if_nobody_else();
  /// What to poll; -1 when a waiter has taken the stream, or there is none. Bytes that poll() would
  /// not tell of make `until` come at once.
  int descriptor_if_ours(time_point& until);
  void work();
  void listen_once();
  void read_news();
  void try_again();
  void drop(const error& why);

  const std::string channel_;
  connection& commands_;
  const introduction introduce_;
  seam::clock& clock_;
  const events events_;

  int bell_ = -1;                        ///< an eventfd
  int timer_ = -1;                       ///< a timerfd
  std::atomic<bool> looks_soon_{false};  ///< it is set, or the thread wakes by itself
  std::atomic<bool> listens_{false};
  std::atomic<bool> trusted_{false};  ///< it listens to the server of the commands
  std::atomic<duration::rep> absent_until_{0};
  std::atomic<bool> stopping_{false};
  std::unique_ptr<seam::thread> thread_;

  int nudge_ = -1;  ///< another eventfd: for the waiter who listens
  std::atomic<seam::park_word*> listening_{nullptr};  ///< what that waiter waits for
  std::atomic<std::uint32_t> waiters_{0};             ///< in await(), whether they listen or not
  seam::mutex role_mutex_;
  reader reader_ CROSSLOCK_GUARDED_BY(role_mutex_) = reader::thread;
  /// It cannot be read any more, or had better not be.
  bool broken_ CROSSLOCK_GUARDED_BY(role_mutex_) = false;
  time_point last_wait_ CROSSLOCK_GUARDED_BY(role_mutex_){};
  /// A run id; empty: it cannot be known.
  std::optional<std::string> commands_go_to_ CROSSLOCK_GUARDED_BY(role_mutex_);
  /// Another, of the stream.
  std::string listens_to_ CROSSLOCK_GUARDED_BY(role_mutex_);

  // The reader's own.
  std::unique_ptr<stream> stream_;
  parser parser_;
  reply message_;
  std::vector<char> buffer_;

  // The thread's own, once it runs.
  duration standby_{};         ///< how long it sleeps while waiters listen
  bool refused_ = false;       ///< no right to listen from the beginning: no use in trying again
  bool told_refusal_ = false;  ///< the same since, and somebody knows
  int failures_ = 0;
  time_point next_try_{};
};

}  // namespace crosslock::redis
