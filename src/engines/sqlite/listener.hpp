// The one thread of a client: it hears the wake-ups of other processes, watches whether those it
// waits for still live, and carries out what must not block its caller.
#pragma once

#include "engine/engine.hpp"
#include "engine/guarded.hpp"
#include "engine/watched_cells.hpp"
#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/interests.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace crosslock::sqlite {

/// Thread-safe.
class listener {
 public:
  /// One ask whose answer goes to events.
  struct posted_ask {
    seam::claim claim;
    time_point give_up;
  };
  using on_asks = std::function<void(const std::vector<posted_ask>&)>;

  listener(connection& connection, const member& self, interests& interests,
           seam::watched_cells& cells, seam::engine_events& events, seam::clock& clock,
           on_asks answer);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  /// There is something to listen for. Starts the thread when it does not run yet.
  void attend();
  /// There is somebody to wait for, whose death must be seen soon.
  void watch_closely();
  void post(posted_ask ask);
  /// News from a client of this process, on its own thread.
  void hear_about(std::uint32_t name_hash);
  void stop() noexcept;
  bool is_current() const noexcept;

 private:
  struct event;
  struct name_snapshot;

  void ring() noexcept;
  void work();
  void listen_once();
  void answer_asks();
  void hear_news();
  void report_cells(const std::vector<std::uint32_t>& hashes, bool every);
  void hear(const std::vector<interest>& about);
  static name_snapshot look_at_rows(ledger& rows, const seam::name_ref& name);
  bool somebody_lives(ledger& rows, const lock_name& name, const process_id& self);
  static void judge(const name_snapshot& seen, const interest& one, std::vector<event>& events,
                    const std::function<bool()>& somebody_lives);
  void report(const event& one);
  duration tick_length(time_point now) const;
  void sleep(std::uint32_t seen);
  void tick();
  void watch_lives(const std::vector<interest>& waiting);

  connection& connection_;
  const member& self_;
  interests& interests_;
  seam::watched_cells& cells_;
  seam::engine_events& events_;
  seam::clock& clock_;
  const on_asks answer_;

  std::atomic<bool> running_{false};
  std::atomic<bool> idle_{false};    ///< sleeps, because there is nothing to listen for
  std::atomic<bool> slow_{false};    ///< sleeps for longer than a waiter would like
  std::atomic<bool> waited_{false};  ///< somebody has begun to wait since the last tick
  std::atomic<bool> stopping_{false};

  mutable seam::mutex mutex_;
  std::unique_ptr<seam::thread> thread_ CROSSLOCK_GUARDED_BY(mutex_);
  std::vector<posted_ask> asks_ CROSSLOCK_GUARDED_BY(mutex_);

  // By the thread itself.
  std::shared_ptr<wake_file> wake_;
  mailbox* box_ = nullptr;
  std::uint32_t heard_ = 0;
  time_point last_tick_{};
  time_point attentive_until_{};
  time_point files_checked_{};
};

}  // namespace crosslock::sqlite
