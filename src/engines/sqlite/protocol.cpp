// The statements. Names, ids and values are bound, never written into the text.
#include "engines/sqlite/protocol.hpp"

#include <algorithm>
#include <functional>

namespace crosslock::sqlite {
namespace {

#define CROSSLOCK_CLAIM_COLUMNS \
  "ticket, owner, client, mode, permits, of, first, last, lease, ends, since, offer"

// The first fence is bound, and both refuse it unless it is higher than all before. A statement
// that computed and returned it would build a table for its answer: that is half of the work.
#define CROSSLOCK_TAKEN                                                    \
  "top = ?3, owner = ?4, client = ?5, first = ?2, last = ?3, lease = ?6, " \
  "ends = ?7, since = ?8, offer = 0, mode = ?9, permits = ?10, of = ?11"
#define CROSSLOCK_IS_FREE "owner IS NULL AND crowd = 0 AND top < ?2"

constexpr const char* take_new_sql =
    "INSERT INTO locks (name, top, crowd, owner, client, first, last, lease, ends, since, offer, "
    "mode, permits, of) "
    "SELECT ?1, ?3, 0, ?4, ?5, ?2, ?3, ?6, ?7, ?8, 0, ?9, ?10, ?11 FROM about "
    "WHERE fence_floor < ?2 ON CONFLICT (name) DO UPDATE SET " CROSSLOCK_TAKEN
    " WHERE " CROSSLOCK_IS_FREE;

constexpr const char* take_known_sql =
    "UPDATE locks SET " CROSSLOCK_TAKEN " WHERE name = ?1 AND " CROSSLOCK_IS_FREE;

// `since` becomes the time of the last use, for sweep().
constexpr const char* give_back_alone_sql =
    "UPDATE locks SET owner = NULL, since = ends - lease "
    "WHERE name = ?1 AND owner = ?2 AND crowd = 0 AND ?3 BETWEEN first AND last AND ends > ?4";

constexpr const char* renew_alone_sql =
    "UPDATE locks SET lease = max(lease, ?4), "
    "ends = max(min(ends, max(lease, ?4) + ?5), ?4 + ?5), offer = 0 "
    "WHERE name = ?1 AND owner = ?2 AND ?3 BETWEEN first AND last AND ends > ?5 AND crowd = 0";

// `offer` is written as the ticket that was served; whoever reads it asks only whether it is zero.
constexpr const char* put_sql =
    "INSERT INTO locks (name, top, crowd, owner, client, first, last, lease, ends, since, offer, "
    "mode, permits, of) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) "
    "ON CONFLICT (name) DO UPDATE SET top = ?2, crowd = ?3, owner = ?4, client = ?5, first = ?6, "
    "last = ?7, lease = ?8, ends = ?9, since = ?10, offer = ?11, "
    "mode = ?12, permits = ?13, of = ?14";

constexpr const char* put_claim_sql =
    "INSERT INTO claims (name, state, " CROSSLOCK_CLAIM_COLUMNS
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) "
    "ON CONFLICT DO UPDATE SET owner = ?4, client = ?5, mode = ?6, first = ?9, last = ?10, "
    "lease = ?11, ends = ?12, since = ?13, offer = ?14";

enum claim_state : std::int64_t { holds = 0, waits = 1 };

duration time_of(const query& row, int column) { return duration{row.number(column)}; }

seam::demand read_demand(const query& row, int column) {
  return {.mode = static_cast<claim_mode>(row.number(column)),
          .permits = static_cast<std::int32_t>(row.number(column + 1)),
          .of = static_cast<std::int32_t>(row.number(column + 2))};
}

void bind_demand(query& writing, int first, const seam::demand& demand) {
  writing.bind(first, static_cast<std::int64_t>(demand.mode))
      .bind(first + 1, demand.permits)
      .bind(first + 2, demand.of);
}

}  // namespace

ledger::ledger(database& database)
    : database_{database},
      begin_writing_{database, "BEGIN IMMEDIATE"},
      begin_reading_{database, "BEGIN"},
      commit_{database, "COMMIT"},
      take_new_{database, take_new_sql},
      take_known_{database, take_known_sql},
      give_back_alone_{database, give_back_alone_sql},
      renew_alone_{database, renew_alone_sql},
      find_{database,
            "SELECT top, crowd, owner, client, first, last, lease, ends, since, offer, "
            "mode, permits, of FROM locks WHERE name = ?1"},
      floor_{database, "SELECT fence_floor FROM about"},
      put_{database, put_sql},
      sharers_{database, "SELECT " CROSSLOCK_CLAIM_COLUMNS
                         " FROM claims WHERE name = ?1 AND state = 0 ORDER BY ticket"},
      put_claim_{database, put_claim_sql},
      remove_claim_{database, "DELETE FROM claims WHERE name = ?1 AND state = ?2 AND ticket = ?3"},
      waiters_after_{database, "SELECT " CROSSLOCK_CLAIM_COLUMNS
                               " FROM claims WHERE name = ?1 AND state = 1 AND ticket > ?2 "
                               "ORDER BY ticket LIMIT ?3"},
      waiter_with_{database, "SELECT " CROSSLOCK_CLAIM_COLUMNS
                             " FROM claims WHERE name = ?1 AND state = 1 AND ticket = ?2"},
      waiter_of_{database, "SELECT " CROSSLOCK_CLAIM_COLUMNS
                           " FROM claims WHERE name = ?1 AND state = 1 AND owner = ?2"},
      last_ticket_{database,
                   "SELECT max(coalesce((SELECT max(ticket) FROM claims "
                   "WHERE name = ?1 AND state = 0), 0), coalesce((SELECT max(ticket) FROM claims "
                   "WHERE name = ?1 AND state = 1), 0))"},
      waiters_before_{database,
                      "SELECT count(*) FROM (SELECT 1 FROM claims WHERE name = ?1 AND state = 1 "
                      "AND ticket > ?4 AND ticket < ?2 LIMIT ?3)"},
      names_{database,
             "SELECT name FROM locks WHERE name >= ?1 AND (owner IS NOT NULL OR crowd > 0) "
             "ORDER BY name"},
      client_{database, "SELECT pid, start, pid_ns, who FROM clients WHERE id = ?1"},
      find_cell_{database, "SELECT value, version, highest, writer FROM cells WHERE name = ?1"},
      put_cell_{database,
                "INSERT INTO cells (name, value, version, highest, writer) "
                "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name) DO UPDATE "
                "SET value = ?2, version = ?3, highest = ?4, writer = ?5"},
      remove_cell_{database, "DELETE FROM cells WHERE name = ?1"},
      raise_floor_{database, "UPDATE about SET fence_floor = max(fence_floor, ?1)"} {}

std::optional<std::int64_t> ledger::take_free(std::string_view name, const holder& fresh) {
  const std::int64_t first = fence_clock();
  const std::int64_t last = first + seam::fence_block - 1;
  const std::size_t hash = std::hash<std::string_view>{}(name);
  std::size_t& known = known_names_.at(hash % known_names_.size());
  query taking{known == hash ? take_known_ : take_new_};
  taking.bind(1, name)
      .bind(2, first)
      .bind(3, last)
      .bind(4, fresh.owner)
      .bind(5, fresh.client)
      .bind(6, fresh.lease.count())
      .bind(7, fresh.ends.count())
      .bind(8, fresh.since.count());
  bind_demand(taking, 9, fresh.demand);
  const bool taken = taking.run() > 0;
  known = taken ? hash : 0;
  return taken ? std::optional{first} : std::nullopt;
}

bool ledger::give_back_alone(std::string_view name, const owner_id& owner, std::int64_t fence,
                             server_time now) {
  return query{give_back_alone_}
             .bind(1, name)
             .bind(2, owner)
             .bind(3, fence)
             .bind(4, now.count())
             .run() > 0;
}

bool ledger::renew_alone(std::string_view name, const owner_id& owner, std::int64_t fence,
                         duration lease, server_time now) {
  return query{renew_alone_}
             .bind(1, name)
             .bind(2, owner)
             .bind(3, fence)
             .bind(4, lease.count())
             .bind(5, now.count())
             .run() > 0;
}

std::optional<lock_row> ledger::find(std::string_view name) {
  query row{find_};
  if (!row.bind(1, name).step()) return std::nullopt;
  lock_row found{.top = row.number(0), .claim_rows = row.number(1), .alone = {}};
  if (row.is_null(2)) return found;
  found.alone = holder{.owner = row.owner(2),
                       .demand = read_demand(row, 10),
                       .first = row.number(4),
                       .last = row.number(5),
                       .lease = duration{row.number(6)},
                       .ends = time_of(row, 7),
                       .since = time_of(row, 8),
                       .client = row.number(3),
                       .offer_of = row.number(9)};
  return found;
}

std::int64_t ledger::fence_floor() {
  query row{floor_};
  return row.step() ? row.number(0) : 0;
}

void ledger::put(std::string_view name, const lock_row& row) {
  query writing{put_};
  writing.bind(1, name).bind(2, row.top).bind(3, row.claim_rows);
  const holder empty{};
  const holder& one = row.alone ? *row.alone : empty;
  if (row.alone) {
    writing.bind(4, one.owner);
  } else {
    writing.bind_null(4);
  }
  writing.bind(5, one.client)
      .bind(6, one.first)
      .bind(7, one.last)
      .bind(8, one.lease.count())
      .bind(9, one.ends.count())
      .bind(10, one.since.count())
      .bind(11, one.offer_of);
  bind_demand(writing, 12, one.demand);
  writing.run();
}

std::vector<holder> ledger::sharers(std::string_view name) {
  std::vector<holder> found;
  query row{sharers_};
  row.bind(1, name);
  while (row.step()) found.push_back(read_sharer(row));
  return found;
}

std::vector<holder> ledger::holders(std::string_view name, const lock_row& row) {
  if (row.alone) return {*row.alone};
  return row.claim_rows > 0 ? sharers(name) : std::vector<holder>{};
}

holder ledger::read_sharer(const query& row) {
  return {.owner = row.owner(1),
          .demand = read_demand(row, 3),
          .first = row.number(6),
          .last = row.number(7),
          .lease = duration{row.number(8)},
          .ends = time_of(row, 9),
          .since = time_of(row, 10),
          .client = row.number(2),
          .offer_of = row.number(11),
          .stored_as = row.number(0)};
}

void ledger::put_sharer(std::string_view name, const holder& one) {
  query{put_claim_}
      .bind(1, name)
      .bind(2, holds)
      .bind(3, one.stored_as)
      .bind(4, one.owner)
      .bind(5, one.client)
      .bind(6, static_cast<std::int64_t>(one.demand.mode))
      .bind(7, one.demand.permits)
      .bind(8, one.demand.of)
      .bind(9, one.first)
      .bind(10, one.last)
      .bind(11, one.lease.count())
      .bind(12, one.ends.count())
      .bind(13, one.since.count())
      .bind(14, one.offer_of)
      .run();
}

void ledger::remove_sharer(std::string_view name, ticket_number ticket) {
  query{remove_claim_}.bind(1, name).bind(2, holds).bind(3, ticket).run();
}

waiter ledger::read_waiter(const query& row) {
  return {.owner = row.owner(1),
          .demand = read_demand(row, 3),
          .lease = duration{row.number(8)},
          .place_ends = time_of(row, 9),
          .since = time_of(row, 10),
          .client = row.number(2),
          .ticket = row.number(0),
          .beside = row.is_null(6) ? std::nullopt : std::optional{row.owner(6)}};
}

std::vector<waiter> ledger::waiters_after(std::string_view name, ticket_number after,
                                          std::int64_t most) {
  std::vector<waiter> found;
  found.reserve(static_cast<std::size_t>(std::min<std::int64_t>(most, 16)));
  query row{waiters_after_};
  row.bind(1, name).bind(2, after).bind(3, most);
  // Not once more to hear that there are no others.
  while (static_cast<std::int64_t>(found.size()) < most && row.step()) {
    found.push_back(read_waiter(row));
  }
  return found;
}

std::optional<waiter> ledger::waiter_with(std::string_view name, ticket_number ticket) {
  query row{waiter_with_};
  if (!row.bind(1, name).bind(2, ticket).step()) return std::nullopt;
  return read_waiter(row);
}

std::optional<waiter> ledger::waiter_of(std::string_view name, const owner_id& owner) {
  query row{waiter_of_};
  if (!row.bind(1, name).bind(2, owner).step()) return std::nullopt;
  return read_waiter(row);
}

ticket_number ledger::last_ticket(std::string_view name) {
  query row{last_ticket_};
  return row.bind(1, name).step() ? row.number(0) : 0;
}

std::int64_t ledger::waiters_before(std::string_view name, ticket_number ticket, std::int64_t most,
                                    ticket_number after) {
  query row{waiters_before_};
  row.bind(1, name).bind(2, ticket).bind(3, most).bind(4, after);
  return row.step() ? row.number(0) : 0;
}

void ledger::put_waiter(std::string_view name, const waiter& one) {
  query writing{put_claim_};
  if (one.beside) {
    writing.bind(9, *one.beside);
  } else {
    writing.bind_null(9);
  }
  writing.bind(1, name)
      .bind(2, waits)
      .bind(3, one.ticket)
      .bind(4, one.owner)
      .bind(5, one.client)
      .bind(6, static_cast<std::int64_t>(one.demand.mode))
      .bind(7, one.demand.permits)
      .bind(8, one.demand.of)
      .bind_null(10)
      .bind(11, one.lease.count())
      .bind(12, one.place_ends.count())
      .bind(13, one.since.count())
      .bind(14, 0)
      .run();
}

void ledger::remove_waiter(std::string_view name, ticket_number ticket) {
  query{remove_claim_}.bind(1, name).bind(2, waits).bind(3, ticket).run();
}

cell_row ledger::find_cell(std::string_view name) {
  query row{find_cell_};
  if (!row.bind(1, name).step()) return {};
  return {
      {std::string{row.bytes(0)}, static_cast<std::uint64_t>(row.number(1)), fence{row.number(2)}},
      row.owner(3)};
}

void ledger::put_cell(std::string_view name, const cell_row& row) {
  query{put_cell_}
      .bind(1, name)
      .bind_bytes(2, row.now.value)
      .bind(3, static_cast<std::int64_t>(row.now.version))
      .bind(4, row.now.highest.value())
      .bind(5, row.writer)
      .run();
}

void ledger::remove_cell(std::string_view name, std::uint64_t version) {
  query{raise_floor_}.bind(1, static_cast<std::int64_t>(version)).run();
  query{remove_cell_}.bind(1, name).run();
}

std::vector<std::string> ledger::names_from(std::string_view prefix) {
  std::vector<std::string> found;
  query row{names_};
  row.bind(1, prefix);
  while (row.step()) {
    const std::string_view name = row.bytes(0);
    if (!name.starts_with(prefix)) break;
    found.emplace_back(name);
  }
  return found;
}

const ledger::person& ledger::client(client_number number) {
  static const person unknown;
  if (number == nobody) return unknown;
  if (const auto known = people_.find(number); known != people_.end()) return known->second;
  query row{client_};
  if (!row.bind(1, number).step()) return unknown;
  constexpr std::size_t enough = 4096;
  if (people_.size() >= enough) people_.clear();
  person found{{row.number(0), row.number(1), row.number(2)}, std::string{row.bytes(3)}};
  return people_.emplace(number, std::move(found)).first->second;
}

void ledger::roll_back() noexcept {
  if (!database_.in_transaction()) return;
  sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

std::int64_t ledger::fence_clock() {
  fence_clock_ = std::max(database_.wall_clock(), fence_clock_ + seam::fence_block);
  return fence_clock_;
}

}  // namespace crosslock::sqlite
