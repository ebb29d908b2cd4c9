// The tables. One row of `locks` for each name, with whoever has it alone in it, so that an
// uncontended acquire and release write one page each; everybody else on a name is in `claims`.
#include "engines/sqlite/schema.hpp"

#include <chrono>
#include <vector>

namespace crosslock::sqlite {
namespace {

/// "xlck", as PRAGMA application_id: what `file` and others tell databases apart by.
constexpr std::int64_t application = 0x786c636b;

constexpr duration idle_for = std::chrono::minutes{1};

// Times are nanoseconds of CLOCK_BOOTTIME, which have a meaning until the next boot only.
constexpr const char* tables = R"sql(
CREATE TABLE about (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id BLOB NOT NULL,             -- random: tells this file from every other
  boot_id TEXT NOT NULL,        -- all holds and places in line are of this boot
  time_ns INTEGER NOT NULL,     -- ... and measured in this time namespace
  booted REAL NOT NULL,         -- the wall clock at boot, for people
  fence_floor INTEGER NOT NULL, -- no fence or version of a removed row was higher
  swept INTEGER NOT NULL        -- when what is over was last removed
);
CREATE TABLE clients (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,         -- 0: of a detached hold, which is bound to no process
  start INTEGER NOT NULL,       -- in clock ticks since boot: pids are used again
  pid_ns INTEGER NOT NULL,
  who TEXT NOT NULL,
  since INTEGER NOT NULL
);
CREATE TABLE locks (
  name TEXT PRIMARY KEY,
  top INTEGER NOT NULL,         -- the highest fence ever given
  crowd INTEGER NOT NULL,       -- how many rows of `claims` there are
  owner BLOB,                   -- who has it alone, or NULL
  client INTEGER,               -- 0: bound to no process
  first INTEGER,                -- its fences
  last INTEGER,
  lease INTEGER,
  ends INTEGER,
  since INTEGER,
  offer INTEGER,                -- 1: handed over, and not yet taken up
  mode INTEGER NOT NULL DEFAULT 0, -- as in claims
  permits INTEGER NOT NULL DEFAULT 1,
  of INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;
CREATE TABLE claims (
  name TEXT NOT NULL,
  state INTEGER NOT NULL,       -- 0: holds it together with others; 1: waits
  ticket INTEGER NOT NULL,      -- in the order of arrival
  owner BLOB NOT NULL,
  client INTEGER NOT NULL,
  mode INTEGER NOT NULL,        -- 0 exclusive, 1 shared, 2 permits
  permits INTEGER NOT NULL,
  of INTEGER NOT NULL,
  first INTEGER,                -- holders: their fences; an upgrade that waits: the owner of the
  last INTEGER,                 -- ... shared grant that is not in its way
  lease INTEGER NOT NULL,
  ends INTEGER NOT NULL,        -- of the lease, or of the place in line
  since INTEGER NOT NULL,
  offer INTEGER NOT NULL,
  PRIMARY KEY (name, state, ticket)
) WITHOUT ROWID;
-- For whoever deletes a row by hand: nobody is left in a line that is not there.
CREATE TRIGGER no_claims_without_lock AFTER DELETE ON locks WHEN old.crowd > 0 BEGIN
  DELETE FROM claims WHERE name = old.name;
END;
CREATE TABLE cells (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL,
  version INTEGER NOT NULL,
  highest INTEGER NOT NULL,     -- the highest fence seen
  writer BLOB NOT NULL
) WITHOUT ROWID;
)sql";

constexpr const char* view = R"sql(
CREATE VIEW held AS
WITH now(ns) AS (SELECT (unixepoch('now') - booted) * 1e9 FROM about),
holders AS (
  SELECT name, mode, permits, of, owner, client, first, ends, since FROM locks
  WHERE owner IS NOT NULL
  UNION ALL
  SELECT name, mode, permits, of, owner, client, first, ends, since FROM claims WHERE state = 0)
SELECT h.name, CASE h.mode WHEN 0 THEN 'exclusive' WHEN 1 THEN 'shared'
    ELSE h.permits || ' of ' || h.of END AS mode,
  coalesce(c.who, '') AS holder, lower(hex(h.owner)) AS owner,
  datetime(about.booted + h.since / 1e9, 'unixepoch') AS since,
  round((h.ends - now.ns) / 1e9, 1) AS lease_left, h.first AS fence,
  (SELECT count(*) FROM claims w WHERE w.name = h.name AND w.state = 1) AS line
FROM holders h, now, about LEFT JOIN clients c ON c.id = h.client
ORDER BY h.name, h.since
)sql";

/// In one write transaction, which is rolled back when anything is thrown.
class transaction {
 public:
  explicit transaction(database& database) : database_{database} {
    database_.run("BEGIN IMMEDIATE");
  }
  ~transaction() {
    if (database_.in_transaction())
      sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  void commit() { database_.run("COMMIT"); }

 private:
  database& database_;
};

void note_version(database& database) {
  const std::string version = "PRAGMA user_version = " + std::to_string(schema_version);
  database.run(version.c_str());
}

void create(database& database) {
  database.run(tables);
  database.run(view);
  database.run("INSERT INTO about VALUES (1, randomblob(16), '', 0, 0, 0, 0)");
  note_version(database);
  const std::string mark = "PRAGMA application_id = " + std::to_string(application);
  database.run(mark.c_str());
}

/// From version 1, in which only an exclusive holder could have a name alone.
void bring_up_to_date(database& database) {
  database.run("ALTER TABLE locks ADD COLUMN mode INTEGER NOT NULL DEFAULT 0");
  database.run("ALTER TABLE locks ADD COLUMN permits INTEGER NOT NULL DEFAULT 1");
  database.run("ALTER TABLE locks ADD COLUMN of INTEGER NOT NULL DEFAULT 1");
  database.run("DROP VIEW held");
  database.run(view);
  note_version(database);
}

enum class readiness { empty, outdated, ready };

readiness look_at(database& database) {
  // In one statement: between two of them somebody else may be making the tables.
  statement asked{database,
                  "SELECT (SELECT application_id FROM pragma_application_id), "
                  "(SELECT user_version FROM pragma_user_version), "
                  "(SELECT count(*) FROM sqlite_schema)"};
  query answer{asked};
  answer.step();
  const std::int64_t mark = answer.number(0);
  const std::int64_t version = answer.number(1);
  const std::int64_t objects = answer.number(2);
  const std::string file = "'" + database.path() + "'";
  if (mark != application) {
    if (mark == 0 && version == 0 && objects == 0) return readiness::empty;
    throw make_error(errc::conflict, file +
                                         " is the database of another program: name a file of "
                                         "its own for the locks");
  }
  if (version > schema_version) {
    throw make_error(errc::unsupported,
                     file + " has the schema version " + std::to_string(version) +
                         ", this program knows those up to " + std::to_string(schema_version) +
                         ": use a newer crosslock, or another file");
  }
  return version < schema_version ? readiness::outdated : readiness::ready;
}

/// Whoever still holds something is found dead by those who want it, and needs the row for that.
#define CROSSLOCK_HOLDS_NOTHING                                                       \
  "NOT EXISTS (SELECT 1 FROM locks WHERE client = clients.id AND owner IS NOT NULL) " \
  "AND NOT EXISTS (SELECT 1 FROM claims WHERE client = clients.id)"

void forget_dead_clients(database& database, const surroundings& here) {
  // A start time is counted from boot, and so is another one in another time namespace.
  const bool same_time = database.ask_number("SELECT time_ns FROM about") == here.time_ns;
  std::vector<std::int64_t> dead;
  {
    statement all{database, "SELECT id, pid, start, pid_ns FROM clients"};
    query each{all};
    while (each.step()) {
      const process_id who{each.number(1), same_time ? each.number(2) : 0, each.number(3)};
      if (surely_dead(who, here.self)) dead.push_back(each.number(0));
    }
  }
  statement removal{database, "DELETE FROM clients WHERE id = ?1 AND " CROSSLOCK_HOLDS_NOTHING};
  for (const std::int64_t client : dead) query{removal}.bind(1, client).run();
}

/// Whether those of another namespace live cannot be seen. Without its row a client only loses that
/// others see it die at once, so a day is long enough.
void forget_strangers(database& database, const process_id& self, time_point now) {
  statement removal{database,
                    "DELETE FROM clients WHERE pid_ns <> ?1 AND since < ?2 "
                    "AND " CROSSLOCK_HOLDS_NOTHING};
  query{removal}
      .bind(1, self.pid_ns)
      .bind(2, (now - std::chrono::hours{24}).time_since_epoch().count())
      .run();
}

bool is_of_boot(database& database, const std::string& boot_id) {
  statement compare{database, "SELECT boot_id = ?1 FROM about"};
  query same{compare};
  return same.bind(1, boot_id).step() && same.number(0) != 0;
}

void begin_new_boot(database& database, const surroundings& here) {
  database.run("DELETE FROM clients");
  database.run("DELETE FROM claims");
  database.run("UPDATE locks SET owner = NULL, crowd = 0, since = 0");
  statement note{database, "UPDATE about SET boot_id = ?1, time_ns = ?2, swept = 0"};
  query{note}.bind(1, here.boot_id).bind(2, here.time_ns).run();
}

void check_time_namespace(database& database, const surroundings& here) {
  if (database.ask_number("SELECT time_ns FROM about") == here.time_ns) return;
  const bool unused =
      database.ask_number("SELECT count(*) FROM clients WHERE pid <> 0") == 0 &&
      database.ask_number("SELECT count(*) FROM claims") == 0 &&
      database.ask_number("SELECT count(*) FROM locks WHERE owner IS NOT NULL") == 0;
  if (!unused) {
    throw make_error(errc::unsupported,
                     "'" + database.path() +
                         "' is used from another time namespace, whose boot clock is another one: "
                         "leases cannot be compared; use an engine with a server there");
  }
  statement note{database, "UPDATE about SET time_ns = ?1"};
  query{note}.bind(1, here.time_ns).run();
}

}  // namespace

void prepare(database& database) {
  const bool ready = look_at(database) == readiness::ready;
  database.use_write_ahead_log();
  if (ready) return;
  transaction making{database};
  switch (look_at(database)) {
    case readiness::empty:
      create(database);
      break;
    case readiness::outdated:
      bring_up_to_date(database);
      break;
    case readiness::ready:
      return;  // somebody else was faster
  }
  making.commit();
}

void arrive(database& database, const surroundings& here, time_point now) {
  transaction arriving{database};
  if (!is_of_boot(database, here.boot_id)) begin_new_boot(database, here);
  forget_dead_clients(database, here);
  // Before anything that compares times: in another namespace every lease may seem to be over.
  check_time_namespace(database, here);
  forget_strangers(database, here.self, now);
  // Programs that take one lock and end would never come to it otherwise.
  const time_point swept{duration{database.ask_number("SELECT swept FROM about")}};
  if (now - swept > idle_for) sweep(database, now);
  statement clock{database, "UPDATE about SET booted = unixepoch('now') - ?1 / 1e9"};
  query{clock}.bind(1, now.time_since_epoch().count()).run();
  arriving.commit();
}

std::int64_t add_client(database& database, const process_id& self, std::string_view who,
                        time_point now) {
  statement insertion{database,
                      "INSERT INTO clients (pid, start, pid_ns, who, since) "
                      "VALUES (?1, ?2, ?3, ?4, ?5)"};
  query{insertion}
      .bind(1, self.pid)
      .bind(2, self.start)
      .bind(3, self.pid_ns)
      .bind(4, who)
      .bind(5, now.time_since_epoch().count())
      .run();
  return sqlite3_last_insert_rowid(database.handle());
}

void remove_client(database& database, const process_id& self, std::int64_t client) {
  // In a file that took the place of another one the number may be somebody else's.
  statement removal{database, "DELETE FROM clients WHERE id = ?1 AND pid = ?2 AND pid_ns = ?3"};
  query{removal}.bind(1, client).bind(2, self.pid).bind(3, self.pid_ns).run();
}

void sweep(database& database, time_point now) {
  const auto run = [&](const char* sql, time_point moment) {
    statement prepared{database, sql};
    query{prepared}.bind(1, moment.time_since_epoch().count()).run();
  };
  run("DELETE FROM claims WHERE ends <= ?1", now);
  database.run(
      "UPDATE locks SET crowd = (SELECT count(*) FROM claims c WHERE c.name = locks.name) "
      "WHERE crowd > 0");
  // Where somebody waits he serves himself, and his is the first events.
  run("UPDATE locks SET owner = NULL, since = ends WHERE owner IS NOT NULL AND crowd = 0 "
      "AND ends <= ?1",
      now);
  run("UPDATE about SET fence_floor = max(fence_floor, coalesce((SELECT max(top) FROM locks "
      "WHERE owner IS NULL AND crowd = 0 AND since < ?1), 0))",
      now - idle_for);
  run("DELETE FROM locks WHERE owner IS NULL AND crowd = 0 AND since < ?1", now - idle_for);
  database.run(
      "DELETE FROM clients WHERE pid = 0 AND id NOT IN "
      "(SELECT client FROM locks WHERE owner IS NOT NULL UNION SELECT client FROM claims)");
  run("UPDATE about SET swept = ?1", now);
}

}  // namespace crosslock::sqlite
