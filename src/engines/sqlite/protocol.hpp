// The rows a request is about, and the statements that read and write them.
#pragma once

#include "engines/sqlite/database.hpp"
#include "engines/sqlite/process.hpp"
#include "line_rules/rows.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crosslock::sqlite {

using seam::cell_row;
using seam::client_number;
using seam::holder;
using seam::server_time;
using seam::ticket_number;
using seam::waiter;

inline constexpr client_number nobody = 0;  ///< bound to no process: only its lease counts
/// Of a notice: whoever watches the cell of that name.
inline constexpr client_number watchers = -1;

/// Rows have the time since boot.
inline server_time since_boot(time_point moment) noexcept { return moment.time_since_epoch(); }

/// The row of one name.
struct lock_row {
  std::int64_t top = 0;         ///< the highest fence ever given
  std::int64_t claim_rows = 0;  ///< how many rows of claims there are
  std::optional<holder> alone;  ///< nobody holds it together with him

  friend bool operator==(const lock_row&, const lock_row&) = default;
};

/// Which client hears of which name, once this is committed.
struct notice {
  client_number client;
  std::uint32_t name_hash;
};

/// One client's statements on one database handle. One thread at a time.
class ledger {
 public:
  explicit ledger(database& database);

  // Each in a statement of its own, for the common case: nobody else is on the name, and its fence
  // is behind the clock. Empty or false: it is not that simple, and nothing has happened.
  std::optional<std::int64_t> take_free(std::string_view name, const holder& fresh);
  bool give_back_alone(std::string_view name, const owner_id& owner, std::int64_t fence,
                       server_time now);
  bool renew_alone(std::string_view name, const owner_id& owner, std::int64_t fence, duration lease,
                   server_time now);

  /// A name that has no row begins with the floor as its highest fence.
  std::optional<lock_row> find(std::string_view name);
  std::int64_t fence_floor();
  void put(std::string_view name, const lock_row& row);

  std::vector<holder> sharers(std::string_view name);
  /// Who has it alone, or else those who hold it together: these may be an upgrade and the
  /// shared grant that it stands beside.
  std::vector<holder> holders(std::string_view name, const lock_row& row);
  void put_sharer(std::string_view name, const holder& one);
  void remove_sharer(std::string_view name, ticket_number ticket);

  /// The first ones whose ticket is higher.
  std::vector<waiter> waiters_after(std::string_view name, ticket_number after, std::int64_t most);
  std::optional<waiter> waiter_with(std::string_view name, ticket_number ticket);
  std::optional<waiter> waiter_of(std::string_view name, const owner_id& owner);
  ticket_number last_ticket(std::string_view name);
  /// Of those whose ticket is higher than `after`; counted up to `most`.
  std::int64_t waiters_before(std::string_view name, ticket_number ticket, std::int64_t most,
                              ticket_number after = 0);
  void put_waiter(std::string_view name, const waiter& one);
  void remove_waiter(std::string_view name, ticket_number ticket);

  cell_row find_cell(std::string_view name);
  void put_cell(std::string_view name, const cell_row& row);
  /// The floor of fences is that of versions, too: both rise by the same clock.
  void remove_cell(std::string_view name, std::uint64_t version);

  /// Every name with somebody on it, from `prefix` on, in order.
  std::vector<std::string> names_from(std::string_view prefix);

  struct person {
    process_id process;
    std::string who;
  };
  /// Who a client is; empty when it has left. Clients never change, so they are remembered.
  const person& client(client_number number);

  void begin_writing() { query{begin_writing_}.run(); }
  void begin_reading() { query{begin_reading_}.run(); }
  void commit() { query{commit_}.run(); }
  /// Never throws: what SQLite has rolled back already needs nothing more.
  void roll_back() noexcept;

  /// The wall clock in nanoseconds, as SQLite reads it, which is by the millisecond: so each answer
  /// is at least a block of fences higher than the last. For fences only.
  std::int64_t fence_clock();
  sqlite::database& base() noexcept { return database_; }

 private:
  static waiter read_waiter(const query& row);
  static holder read_sharer(const query& row);

  database& database_;
  statement begin_writing_;
  statement begin_reading_;
  statement commit_;
  statement take_new_;
  statement take_known_;
  statement give_back_alone_;
  statement renew_alone_;
  statement find_;
  statement floor_;
  statement put_;
  statement sharers_;
  statement put_claim_;
  statement remove_claim_;
  statement waiters_after_;
  statement waiter_with_;
  statement waiter_of_;
  statement last_ticket_;
  statement waiters_before_;
  statement names_;
  statement client_;
  statement find_cell_;
  statement put_cell_;
  statement remove_cell_;
  statement raise_floor_;
  std::unordered_map<client_number, person> people_;
  std::int64_t fence_clock_ = 0;
  /// By their hash, and only the last of those that share a slot: names that had a row when they
  /// were taken last. For these a plain update does, which is shorter than one that may insert.
  std::array<std::size_t, 256> known_names_{};
};

}  // namespace crosslock::sqlite
