// One connection for all threads of a client. There is no thread behind it: whoever finds it idle
// becomes its leader, writes what has gathered and reads for everybody until his own answer is
// here; then the next one leads. One thread alone costs one write and one read; many share them.
#pragma once

#include "engine/clock.hpp"
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
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace crosslock::redis {

/// Answers come in the order of the requests. A caller whose time is up leaves its place behind:
/// the answer that comes later is read, and thrown away. Thread-safe.
class connection {
 public:
  /// Introduces us on a stream that has just been opened; throws when the server will not do.
  using greeting = std::function<void(stream&, parser&, time_point give_up)>;
  /// There is something to read for, and nobody blocked in a call who would read it.
  using alarm = std::function<void()>;
  /// The answer of a request that nobody waits for, or why there is none. On any thread.
  using on_answer = std::function<void(const reply*, const error*)>;

  connection(address where, duration timeout, seam::clock& clock, greeting greet,
             alarm needs_reader);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Answers, valid until this is destroyed.
  class answers {
   public:
    answers(connection& home, pending& place) noexcept : home_{&home}, place_{&place} {}
    answers(answers&& other) noexcept;
    answers& operator=(answers&&) = delete;
    ~answers();
    const reply& operator[](std::size_t index) const noexcept { return place_->answers[index]; }

   private:
    connection* home_;
    pending* place_;
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

  /// Opens it now. Throws as `call` does.
  void open(time_point give_up);
  /// Drops the connection as useless: the next call opens another.
  void renounce(const error& why);

  /// For the thread that reads when nobody else does: what to poll for, and until when.
  struct watch {
    int descriptor = -1;  ///< of the connection, if there is one: the server may hang up
    bool to_be_read = false;
    time_point until = time_point::max();
  };
  watch needs_reading();
  void read_what_is_there();
  /// The server has hung up on that descriptor. A call that came later would not know whether it
  /// was carried out.
  void note_hang_up(int descriptor);

  /// Everybody inside fails with `closed`.
  void close() noexcept;
  void abandon() noexcept;

  const address& where() const noexcept { return where_; }

 private:
  using guard = std::unique_lock<std::mutex>;

  pending& enqueue(std::size_t count, time_point give_up);
  void settle(guard& held, pending& mine);
  /// False when its time is up: the place then belongs to the answer that may still come.
  bool wait(guard& held, pending& mine);
  bool lead(guard& held, pending& mine);
  void connect(guard& held, time_point give_up);
  void flush(guard& held, time_point give_up);
  void flush_beside_leader(guard& held, time_point give_up);
  void read_once(guard& held, time_point until);
  void dispatch(guard& held);
  void hand_over(guard& held, time_point give_up);
  error silence() const;
  bool silent_since(time_point asked, time_point now) const noexcept;
  void fail_all(guard& held, const error& why);
  void wake_settled(guard& held);
  void run_errands(guard& held);
  void note_round_trip(time_point now);
  pending* take_place();
  void give_back(pending& place) noexcept;

  const address where_;
  const duration timeout_;
  seam::clock& clock_;
  const greeting greet_;
  const alarm needs_reader_;

  std::mutex mutex_;
  std::shared_ptr<stream> stream_;
  bool led_ = false;      ///< somebody reads
  bool writing_ = false;  ///< somebody writes
  bool closed_ = false;
  bool far_ = false;        ///< round trips are so long that requests had better not be gathered
  std::string out_;         ///< gathered, not yet written
  std::size_t unsent_ = 0;  ///< how many of the last in line are only in out_
  pending_queue in_flight_;
  time_point heard_at_{};  ///< when the last bytes came
  bool hung_up_ = false;   ///< the server has, while somebody read
  time_point asked_at_{};  ///< since when an answer is waited for, to measure round trips
  duration shortest_ = duration::max();  ///< round trip of late
  duration usual_{};                     ///< the shortest of some
  std::uint32_t round_trips_ = 0;

  int failures_ = 0;  ///< to connect, in a row
  time_point next_try_{};
  std::optional<error> last_failure_;

  std::vector<std::unique_ptr<pending>> places_;
  std::vector<pending*> free_places_;

  // The leader's own.
  const pending* leader_ = nullptr;  ///< whose answer needs no wake-up
  parser parser_;
  reply current_;
  std::vector<char> buffer_;
  std::vector<seam::park_word*> awake_;
  std::vector<pending*> errands_;  ///< of requests nobody waits for
  std::string sending_;            ///< the writer's own
};

}  // namespace crosslock::redis
