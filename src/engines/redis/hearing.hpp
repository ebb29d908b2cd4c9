// What one server sends unasked to the clients of this process: one connection that listens to the
// channels of all of them, and one thread, which also reads those answers on their own connections
// that nobody waits for. When waits follow each other closely, a thread that waits listens for all:
// the one that has waited longest, so that most news need no second thread.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/listener.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/stream.hpp"

#include <poll.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::redis {

/// Thread-safe. It ends with the last client that leaves; in a forked child it is only abandoned.
class hearing : public std::enable_shared_from_this<hearing> {
 public:
  /// The one for that address, user and server, told apart by its run id: one that hangs in
  /// somebody's news is left to those who are there already. Clients of all databases share it.
  static std::shared_ptr<hearing> of(address where, const std::string& server, seam::clock& clock);

  hearing(address where, std::string server, seam::clock& clock);
  ~hearing();
  hearing(const hearing&) = delete;
  hearing& operator=(const hearing&) = delete;

  /// The run id that it listens to; empty: it cannot be known, so it listens to nobody.
  const std::string& server() const noexcept { return server_; }

  /// False when it has just ended.
  bool join(const std::shared_ptr<listener>& fresh);
  /// Nothing is brought to it from now on, but somebody may be with it: listener::await_alone().
  void leave(listener& whom) noexcept;
  /// For whoever has left, at its own end: waits for the thread if nobody is here any more.
  void end_if_left() noexcept;
  bool is_over() const noexcept { return over_.load(); }
  bool has_ended() const noexcept { return thread_is_over_.load(); }
  /// Whether the new one may listen: throws why not; false if that is not known by then.
  bool await_start(listener& fresh, time_point until);
  /// It shall be told, or not any more.
  void want(listener& whom, bool news);

  /// Something is to be read for it, or to be done. Callable from any thread.
  void ring(listener& whom) noexcept;
  /// The same within some milliseconds, and for as many as ask for it until then.
  void ring_soon(listener& whom) noexcept;
  /// Until then somebody waits who is in no call of ours: the thread reads for him at once.
  void read_for_absent(time_point until) noexcept;
  /// Somebody has been in a client's own code for longer than that may take.
  bool hangs() const noexcept;

  /// A thread that waits for news.
  struct waiter {
    seam::park_word& word;
    const std::uint32_t expected;
    seam::park_word bell{0};           ///< what it parks on
    std::atomic<bool> polls{false};    ///< it listens, and has to be nudged
    std::atomic<bool> sent_on{false};  ///< its client hears elsewhere now
    bool reads = false;                ///< the stream is its own; with the mutex
  };
  void await(waiter& me, time_point until);
  /// Its word has changed, or it is to go.
  void rouse(waiter& whom) noexcept;

  void abandon() noexcept;

 private:
  /// Who may touch the stream and what belongs to it.
  enum class reader {
    thread,      ///< it polls: a waiter may take it away
    thread_now,  ///< it reads
    waiter,
    nobody,  ///< for a moment: the thread looks now and then
  };
  /// What the server has not answered yet.
  struct request {
    std::shared_ptr<listener> whose;  ///< none: of one that has left
    bool subscribes = false;
  };
  using listeners = std::map<std::string, std::shared_ptr<listener>, std::less<>>;

  void ring() noexcept;
  bool somebody_is_absent() const noexcept;

  // Waiters: hearing_waiters.cpp.
  bool begin_to_listen(waiter& me);
  void listen_for(waiter& me, time_point until);
  bool is_over_for(const waiter& me, time_point until) const noexcept;
  void pass_on(waiter& me, bool broken) noexcept;
  void let_a_waiter_read() noexcept;

  // What goes over the stream: hearing_news.cpp.
  void read_news();
  void take(reply& message);
  void bring(std::string_view channel, std::string_view message);
  void note_answer(bool failed, const reply& message);
  void connect();
  void write_requests();
  void gather_requests(std::string& out) CROSSLOCK_REQUIRES(mutex_);
  void drop(const error& why, bool by_connecting = false);
  void drop_later_if_not_now(const std::exception& why) noexcept;
  void tell_all_deaf(const listeners& them, const error& why, bool by_connecting);
  error unknown_server() const;
  /// When to connect, or to ask again for those who were refused.
  time_point next_connection();
  time_point next_request() const CROSSLOCK_REQUIRES(mutex_);

  // The thread.
  void work();
  void work_once();
  bool take_stream_back();
  void read_if_nobody_else();
  void look_after(const std::shared_ptr<listener>& one, pollfd& watched);
  void look_after_all(bool timer);
  time_point watch_all();
  void tell_waiting_news();
  int descriptor_if_ours(time_point& until);

  const address where_;
  const std::string server_;
  seam::clock& clock_;

  int bell_ = -1;   ///< an eventfd
  int timer_ = -1;  ///< a timerfd
  int nudge_ = -1;  ///< another eventfd: for the waiter who listens
  std::atomic<bool> timer_is_set_{false};
  std::atomic<duration::rep> absent_until_{0};
  std::atomic<duration::rep> news_by_{0};  ///< when news must have been taken; 0: none is brought
  std::atomic<duration::rep> work_by_{0};  ///< the same of the thread's work for one of them
  std::atomic<bool> over_{false};
  std::atomic<bool> thread_is_over_{false};
  std::atomic<bool> ended_{false};  ///< somebody has seen to the thread
  std::unique_ptr<seam::thread> thread_;

  seam::mutex writing_;  ///< taken before the other: requests go out in the order of requests_
  seam::mutex mutex_;
  listeners listeners_ CROSSLOCK_GUARDED_BY(mutex_);
  bool changed_ CROSSLOCK_GUARDED_BY(mutex_) = false;  ///< the listeners, or what they want
  std::vector<std::string> left_ CROSSLOCK_GUARDED_BY(mutex_);  ///< channels to be given up
  std::deque<request> requests_ CROSSLOCK_GUARDED_BY(mutex_);
  std::vector<waiter*> waiters_ CROSSLOCK_GUARDED_BY(mutex_);  ///< the first has waited longest
  reader reader_ CROSSLOCK_GUARDED_BY(mutex_) = reader::thread;
  /// It cannot be read any more.
  bool broken_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  bool connected_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  time_point last_wait_ CROSSLOCK_GUARDED_BY(mutex_){};
  time_point next_try_ CROSSLOCK_GUARDED_BY(mutex_){};

  // The reader's own; others write to it, with both mutexes to find it.
  std::shared_ptr<stream> stream_;
  parser parser_;
  reply message_;
  std::vector<char> buffer_;

  // The thread's own.
  std::vector<std::shared_ptr<listener>> all_;
  std::vector<pollfd> watched_;
  duration standby_{};  ///< how long it sleeps while waiters listen
  int failures_ = 0;
};

}  // namespace crosslock::redis
