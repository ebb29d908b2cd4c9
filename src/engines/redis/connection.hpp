// One connection for all threads of a client. There is no thread behind it: whoever finds it idle
// becomes its leader, writes what has gathered and reads for everybody until his own answer is
// here; then the next one leads. One thread alone costs one write and one read; many share them.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"
#include "engine/seat.hpp"
#include "engines/redis/address.hpp"
#include "engines/redis/pending.hpp"
#include "engines/redis/protocol.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/stream.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace crosslock::redis {

/// Answers come in the order of the requests. A caller whose time is up leaves its slot behind:
/// the answer that comes later is read, and thrown away. Thread-safe.
class connection {
 public:
  /// Introduces us on a stream that has just been opened; throws when the server will not do.
  using login = std::function<void(stream&, parser&, time_point give_up)>;
  /// There is something to read for, and nobody blocked in a call who would read it.
  using alarm = std::function<void()>;
  /// The answer of a request that nobody waits for, or why there is none. On any thread.
  using on_answer = std::function<void(const reply*, const error*)>;

  /// What a connection has to know about releases that nobody waits for.
  struct posting {
    std::function<void(std::string& out, const seam::grant& grant, bool by_text)> write;
    /// An answer is to be read, in no hurry.
    alarm reads_soon;
    /// The server has become one that takes no releases.
    std::function<void(const error& why)> moved;
  };

  connection(address where, duration timeout, seam::clock& clock, login log_in, alarm needs_reader,
             posting releases = {});
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Answers, valid until this is destroyed.
  class answers {
   public:
    answers(connection& home, pending& slot) noexcept : home_{&home}, slot_{&slot} {}
    answers(answers&& other) noexcept;
    answers& operator=(answers&&) = delete;
    ~answers();
    const reply& operator[](std::size_t index) const noexcept { return slot_->answers[index]; }

   private:
    connection* home_;
    pending* slot_;
  };

  /// One round trip on the calling thread. Throws `unreachable` or `timed_out`; with
  /// outcome_unknown when the request may have been carried out. What the server says is not
  /// looked at here.
  answers call(const command& what, time_point give_up);
  /// The same for many that travel together: `write` writes all of them.
  answers call_all(std::size_t count, const std::function<void(std::string&)>& write,
                   time_point give_up);
  /// Sends, does not wait.
  void send(const command& what, time_point give_up, on_answer done);

  /// Gives back without waiting: with the kernel when this returns, unless the connection is down
  /// or has no room. Then, and when no answer comes, it is sent again before anything else on the
  /// next connection, until it is answered or its lease has ended. An empty batch: somebody waits
  /// for the answers of the last ones.
  void post(std::span<const seam::parting_ref> batch) noexcept;
  /// How often a release that had been sent was sent again, or is going to be.
  std::uint64_t resent() const noexcept { return resent_.load(); }

  /// Opens it now. Throws as `call` does.
  void open(time_point give_up);
  /// Drops the connection as useless: the next call opens another. `leaving` is called before that,
  /// unless somebody has dropped it already.
  void renounce(const error& why, const std::function<void()>& leaving);

  /// For the thread that reads when nobody else does: what to poll for, and until when.
  struct watch {
    int descriptor = -1;  ///< of the connection, if there is one: the server may hang up
    bool to_be_read = false;
    bool to_be_written = false;
    bool posted = false;  ///< releases are on their way: it looks again by `until`, unasked
    time_point until = time_point::max();
  };
  watch needs_reading();
  void do_what_is_there();
  /// The server has hung up on that descriptor. A call that came later would not know whether it
  /// was carried out.
  void note_hang_up(int descriptor);

  /// Everybody inside fails with `closed`.
  void close() noexcept;
  void abandon() noexcept CROSSLOCK_NO_ANALYSIS;

  const address& where() const noexcept { return where_; }

 private:
  template <class Write>
  pending& enqueue(std::size_t count, time_point give_up, const Write& write)
      CROSSLOCK_REQUIRES(mutex_);
  // Called with the mutex. They may come back without it, so that nobody takes it only to give it
  // back: only the guard knows, and clang cannot ask it.
  void await_answer(seam::unique_lock& held, pending& mine)
      CROSSLOCK_REQUIRES(mutex_) CROSSLOCK_NO_ANALYSIS;
  /// False when its time is up: the slot then belongs to the answer that may still come.
  bool wait(seam::unique_lock& held, pending& mine)
      CROSSLOCK_REQUIRES(mutex_) CROSSLOCK_NO_ANALYSIS;

  // Some let go of the mutex for a while.
  bool lead(pending& mine) CROSSLOCK_REQUIRES(mutex_);
  void connect(time_point give_up) CROSSLOCK_REQUIRES(mutex_);
  void flush(time_point give_up) CROSSLOCK_REQUIRES(mutex_);
  void write_gathered(time_point give_up) CROSSLOCK_REQUIRES(mutex_);
  time_point begin_write() CROSSLOCK_REQUIRES(mutex_);
  void end_write() CROSSLOCK_REQUIRES(mutex_);
  void flush_beside_leader(time_point give_up) CROSSLOCK_REQUIRES(mutex_);
  void read_once(time_point until) CROSSLOCK_REQUIRES(mutex_);
  void dispatch() CROSSLOCK_REQUIRES(mutex_);
  void hand_over(time_point give_up) CROSSLOCK_REQUIRES(mutex_);
  error silence() const;
  static error as_error(const std::exception& why);
  bool silent_since(time_point asked, time_point now) const noexcept CROSSLOCK_REQUIRES(mutex_);
  void fail_all(const error& why) CROSSLOCK_REQUIRES(mutex_);
  void end_slot(pending& slot) CROSSLOCK_REQUIRES(mutex_);
  time_point overdue_at(const pending& one) const noexcept CROSSLOCK_REQUIRES(mutex_);
  void give_up_overdue(time_point now) CROSSLOCK_REQUIRES(mutex_);

  // Releases that nobody waits for: connection_posted.cpp.
  void enqueue_posted(const seam::parting_ref& one) CROSSLOCK_REQUIRES(mutex_);
  void send_posted_now() CROSSLOCK_REQUIRES(mutex_);
  void flush_what_fits() CROSSLOCK_REQUIRES(mutex_);
  void await_written() CROSSLOCK_REQUIRES(mutex_);
  void settle(pending& slot) CROSSLOCK_REQUIRES(mutex_);
  void keep_posted(pending& slot, bool maybe_done) CROSSLOCK_REQUIRES(mutex_);
  void resend_first() CROSSLOCK_REQUIRES(mutex_);
  void resend_refused() CROSSLOCK_REQUIRES(mutex_);
  void drop_unsettled(time_point now) CROSSLOCK_REQUIRES(mutex_);
  void tell_settled() CROSSLOCK_REQUIRES(mutex_);
  void wake_soon(seam::park_word& word) CROSSLOCK_REQUIRES(mutex_);
  void wake_completed() CROSSLOCK_REQUIRES(mutex_);
  void run_callbacks() CROSSLOCK_REQUIRES(mutex_);
  void note_round_trip(const pending& answered) CROSSLOCK_REQUIRES(mutex_);
  pending* take_slot() CROSSLOCK_REQUIRES(mutex_);
  void give_back(pending& slot) noexcept CROSSLOCK_REQUIRES(mutex_);

  const address where_;
  const duration timeout_;
  seam::clock& clock_;
  const login log_in_;
  const alarm needs_reader_;
  const posting posting_;
  std::atomic<std::uint64_t> resent_{0};
  std::atomic<std::uint64_t> writes_ended_{0};

  seam::mutex mutex_;
  std::shared_ptr<stream> stream_ CROSSLOCK_GUARDED_BY(mutex_);
  seam::seat seat_ CROSSLOCK_GUARDED_BY(mutex_);       ///< of whoever reads
  bool writing_ CROSSLOCK_GUARDED_BY(mutex_) = false;  ///< somebody writes
  bool closed_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  /// Round trips are so long that requests had better not be gathered.
  bool far_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  std::string out_ CROSSLOCK_GUARDED_BY(mutex_);  ///< gathered, not yet written
  /// How many of the last in line are only in out_.
  std::size_t unsent_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  pending_queue in_flight_ CROSSLOCK_GUARDED_BY(mutex_);
  /// Completed requests that nobody waits for.
  std::vector<pending*> callbacks_ CROSSLOCK_GUARDED_BY(mutex_);
  time_point heard_at_ CROSSLOCK_GUARDED_BY(mutex_){};  ///< when the last bytes came
  bool hung_up_ CROSSLOCK_GUARDED_BY(mutex_) = false;   ///< the server has, while somebody read
  /// Whose round trip is being measured, and since when.
  const pending* measured_ CROSSLOCK_GUARDED_BY(mutex_) = nullptr;
  time_point asked_at_ CROSSLOCK_GUARDED_BY(mutex_){};
  duration shortest_ CROSSLOCK_GUARDED_BY(mutex_) = duration::max();  ///< round trip of late
  duration usual_ CROSSLOCK_GUARDED_BY(mutex_){};                     ///< the shortest of some
  std::uint32_t round_trips_ CROSSLOCK_GUARDED_BY(mutex_) = 0;

  /// Releases that have to be sent, once more or at all, as soon as that is possible.
  seam::parting_queue unsettled_ CROSSLOCK_GUARDED_BY(mutex_);
  bool text_sent_ CROSSLOCK_GUARDED_BY(mutex_) = false;  ///< the server knows how to release
  bool hurry_ CROSSLOCK_GUARDED_BY(mutex_) = false;      ///< somebody waits for their answers
  /// Where the server refused: not before then.
  time_point resend_at_ CROSSLOCK_GUARDED_BY(mutex_){};
  /// They have ended, and are to be told.
  seam::parting_queue settled_ CROSSLOCK_GUARDED_BY(mutex_);
  std::optional<error> moved_ CROSSLOCK_GUARDED_BY(mutex_);
  /// How many writes have begun; writes_ended_: and have ended.
  std::uint64_t writes_begun_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t slow_write_ CROSSLOCK_GUARDED_BY(mutex_) = 0;  ///< one that takes too long

  int failures_ CROSSLOCK_GUARDED_BY(mutex_) = 0;  ///< to connect, in a row
  time_point next_try_ CROSSLOCK_GUARDED_BY(mutex_){};
  std::optional<error> last_failure_ CROSSLOCK_GUARDED_BY(mutex_);

  std::vector<std::unique_ptr<pending>> slots_ CROSSLOCK_GUARDED_BY(mutex_);
  std::vector<pending*> free_slots_ CROSSLOCK_GUARDED_BY(mutex_);

  // The leader's own.
  const pending* leader_ = nullptr;  ///< whose answer needs no wake-up
  parser parser_;
  reply current_;
  std::vector<char> buffer_;
  std::vector<seam::park_word*> awake_;
  std::string sending_;  ///< the writer's own
};

}  // namespace crosslock::redis
