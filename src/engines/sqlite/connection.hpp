// One process's way to a database: a writer, a reader, the mapped file. All its clients share it,
// so that what they want together is committed together.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"
#include "engine/seat.hpp"
#include "engines/sqlite/gate.hpp"
#include "engines/sqlite/protocol.hpp"
#include "engines/sqlite/steps.hpp"
#include "engines/sqlite/table_rows.hpp"
#include "engines/sqlite/wake_file.hpp"

#include <array>
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace crosslock::sqlite {

class hearing;

/// One client of this process.
class member {
 public:
  /// Told the hash of a name on which another client of this process has done something.
  using on_news = std::function<void(std::uint32_t name_hash)>;

  /// `pid`: with which process its holds end; 0: with this one.
  explicit member(std::string who, std::int64_t pid = 0, on_news hear = {})
      : who_{std::move(who)}, pid_{pid}, hear_{std::move(hear)} {}
  member(const member&) = delete;
  member& operator=(const member&) = delete;

  /// Under which it stands in the list of clients. Another one after the database was replaced by
  /// another file.
  client_number number() const noexcept { return number_.load(std::memory_order_relaxed); }

 private:
  friend class connection;
  const std::string who_;
  const std::int64_t pid_;
  const on_news hear_;
  std::atomic<client_number> number_{nobody};
  seam::park_word last_visit_over_{0};
  std::uint32_t visits_ = 0;  // by the connection's mutex: how many are telling it something
};

/// What is done in a write transaction. Lives on the stack of the thread that wants it done, but
/// may be run by another, whose transaction it then shares.
class job {
 public:
  job(const member& from, verb what, time_point give_up)
      : from_{from}, what_{what}, give_up_{give_up} {}
  virtual ~job() = default;
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  /// The whole of it in one statement, which is a transaction by itself. False: nothing happened,
  /// it needs run().
  virtual bool run_alone(ledger&, client_number, server_time) { return false; }
  /// Throws crosslock::error for a refusal, with the rows as they should be.
  virtual void run(seam::line_server& line) = 0;

 private:
  friend class connection;
  const member& from_;
  const verb what_;
  const time_point give_up_;
  seam::passenger caller_;
  bool taken_ = false;  ///< into somebody's transaction: it is too late to give up
  std::exception_ptr failure_;
};

/// A job from a callable.
template <class Run>
class plain_job final : public job {
 public:
  plain_job(const member& from, verb what, time_point give_up, Run run)
      : job{from, what, give_up}, run_{std::move(run)} {}
  void run(seam::line_server& line) override { run_(line); }

 private:
  Run run_;
};

struct database_location {
  std::string path{};
  durability keeps = durability::normal;

  friend bool operator==(const database_location&, const database_location&) = default;
};

/// Thread-safe.
class connection {
 public:
  /// The one there is in this process, or a new one.
  static std::shared_ptr<connection> to(const database_location& location, seam::clock& clock);
  connection(database_location location, seam::clock& clock);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Carries the job out, and commits it. Calls that come while one is under way are committed
  /// together by the next. Throws what the job threw, or why it could not be done.
  void write(job& wanted);
  template <class Run>
  void write(const member& from, verb what, time_point give_up, Run run) {
    plain_job<Run> wanted{from, what, give_up, std::move(run)};
    write(wanted);
  }
  /// The same for a job that one statement can do, if nobody is in its way and it need not wait for
  /// the disk. False: nothing has happened.
  bool write_at_once(job& wanted);
  /// Reads one state of the database; waits for no writer.
  void read(time_point give_up, const std::function<void(ledger&, const process_id&)>& body);

  /// Puts a client on the list; it outlives its leave().
  void enter(member& fresh);
  /// It hears of nothing any more. Fails silently: others find out when this process has gone.
  void leave(member& leaving) noexcept;
  std::shared_ptr<wake_file> wake() const;
  /// Where other processes ring for all clients of this one.
  mailbox& mailbox_in(const wake_file& wake) const noexcept {
    return wake.mailbox_of(first_number_.load());
  }
  /// What hears for them.
  hearing& ears() const noexcept { return *hearing_; }
  const database_location& where() const noexcept { return location_; }
  /// Whether the files still are those at their paths. The next write opens them anew if not.
  bool files_in_place();
  /// As the next write would.
  void open_files_anew(time_point give_up);
  /// How many wait for the writer that is under way.
  std::size_t waiting() const;

 private:
  /// A handle with its statements.
  struct opened {
    opened(const database_location& location, seam::clock& clock);

    database base;
    std::optional<ledger> rows;
  };

  void open() CROSSLOCK_REQUIRES(reading_);
  void open_once() CROSSLOCK_REQUIRES(reading_);
  void close() noexcept CROSSLOCK_REQUIRES(reading_);
  void map_wake_file();
  /// For the one who leads. Nobody else changes it, so it is read without the mutex.
  wake_file& leaders_wake() const noexcept CROSSLOCK_NO_ANALYSIS { return *wake_; }
  /// Of the database and of SQLite's files beside it; zero for one that is not there.
  using identities = std::array<std::pair<dev_t, ino_t>, 3>;
  identities look_at_files() const;
  bool same_database() const;
  void open_anew() CROSSLOCK_REQUIRES(reading_);
  void reopen_if_replaced();
  void enter_all_again();
  /// In the transaction that is open.
  client_number put_on_list(const member& one);
  /// Whoever sleeps at a mailbox of before must come and look for the new one.
  void ring_out(const wake_file& before, client_number whose) const noexcept;
  bool wait_until_led(job& wanted);
  void lead(job& mine);
  bool carry_out(job& mine, std::vector<job*>& batch, std::vector<notice>& notices);
  bool try_alone(job& mine);
  bool carry_out_at_once(job& mine);
  void check_files();
  void run_batch(job& mine, std::vector<job*>& batch, std::vector<notice>& notices, bool begun);
  void take_pending(std::vector<job*>& batch);
  void finish(const std::vector<job*>& batch) noexcept;
  void tell_others(const std::vector<notice>& notices) noexcept;
  void tell_members(const std::vector<notice>& notices) noexcept;
  bool is_member(client_number client) const;
  void visit(const notice& news) noexcept;
  void sweep_if_due(time_point now);

  const database_location location_;
  seam::clock& clock_;
  const surroundings here_;
  std::atomic<bool> replaced_{false};
  /// The others' are the same modulo the number of mailboxes.
  std::atomic<client_number> first_number_{nobody};
  std::unique_ptr<hearing> hearing_;

  mutable seam::mutex mutex_;
  std::deque<job*> pending_ CROSSLOCK_GUARDED_BY(mutex_);
  seam::seat seat_ CROSSLOCK_GUARDED_BY(mutex_);  ///< of whoever writes
  std::unordered_map<client_number, member*> members_ CROSSLOCK_GUARDED_BY(mutex_);
  std::shared_ptr<wake_file> wake_ CROSSLOCK_GUARDED_BY(mutex_);
  identities files_ CROSSLOCK_GUARDED_BY(mutex_){};

  seam::mutex reading_;
  std::unique_ptr<opened> reader_ CROSSLOCK_GUARDED_BY(reading_);

  // By the one who leads.
  std::unique_ptr<opened> writer_;
  std::optional<gate> gate_;
  std::uint64_t until_sweep_ = 4096;
  time_point check_files_at_{};
};

}  // namespace crosslock::sqlite
