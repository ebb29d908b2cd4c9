// The rows of the line's rules in the tables of a database, inside of a transaction.
#pragma once

#include "engines/sqlite/protocol.hpp"
#include "line_rules/line_server.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::sqlite {

/// Reads a name by a few statements, and writes back only what has become another. Lives for one
/// transaction.
class table_rows : public seam::rows {
 public:
  table_rows(ledger& tables, const process_id& self, time_point now)
      : tables_{tables}, self_{self}, now_{since_boot(now)} {}

  seam::name_state* open(const seam::name_ref& name, bool add, const seam::seeker* whose) override;
  void save(seam::name_state& changed) override;
  std::optional<seam::name_state> copy(std::string_view name) override;
  void read_on(seam::name_state& at) override;
  std::vector<std::string> names_from(std::string_view prefix) override {
    return tables_.names_from(prefix);
  }

  server_time now() override { return now_; }
  /// The wall clock: that since boot begins anew with every boot.
  std::int64_t fence_clock() override { return tables_.fence_clock(); }
  ticket_number next_ticket(const seam::name_state& at) override;
  std::int64_t before(const seam::name_state& at, ticket_number ticket, std::int64_t most) override;

  bool dead(client_number client) override;
  bool gone(client_number client) override;
  client_number without_process(client_number client) override;
  std::string describe(client_number client, const seam::who_ref&) override {
    return tables_.client(client).who;
  }

  bool renew_alone(const seam::renew_item& item) override;
  cell_row find_cell(std::string_view name) override { return tables_.find_cell(name); }
  void put_cell(std::string_view name, const cell_row& row) override {
    tables_.put_cell(name, row);
  }
  std::int64_t floor() override { return tables_.fence_floor(); }
  void remove_cell(std::string_view name, std::uint64_t version) override {
    tables_.remove_cell(name, version);
  }

 private:
  /// Into `before_`.
  bool read(std::string_view name);
  void read_place(std::string_view name, const seam::seeker& whose);
  void save_sharers(std::string_view name, seam::name_state& changed, bool alone);
  void save_line(std::string_view name, const seam::name_state& changed);

  ledger& tables_;
  const process_id& self_;
  const server_time now_;

  lock_row row_;             ///< of the open name, as it was read
  seam::name_state before_;  ///< the same with everybody on it
  seam::name_state open_;    ///< what the rules make of it
};

}  // namespace crosslock::sqlite
