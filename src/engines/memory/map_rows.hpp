// The rows of the memory server: maps, and who can be heard.
#pragma once

#include "line_rules/rows.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::memory {

/// What a name needs is here already: nothing is read, and nothing written back. A value: a copy
/// goes on like the original. Not thread-safe.
class map_rows final : public seam::rows {
 public:
  /// Idle names are forgotten only when there are more than so.
  explicit map_rows(std::size_t names_kept) : names_kept_{names_kept} {}

  using name_map = std::map<std::string, seam::name_state, std::less<>>;
  using cell_map = std::map<std::string, seam::cell_row, std::less<>>;

  /// Everything a disk would keep.
  struct state {
    name_map names;
    cell_map cells;
    std::int64_t floor = 0;  ///< no fence of a forgotten name, or version of a cell, was higher
    seam::ticket_number last_ticket = 0;
  };
  const state& all() const noexcept { return kept_; }
  void restore(state kept) { kept_ = std::move(kept); }

  void set_time(seam::server_time now) noexcept { now_ = now; }
  void connect(seam::client_number client) { connected_.insert(client); }
  void disconnect(seam::client_number client) { connected_.erase(client); }

  seam::name_state* open(const seam::name_ref& name, bool add, const seam::seeker* whose) override;
  void save(seam::name_state&) override {}
  std::optional<seam::name_state> copy(std::string_view name) override;
  std::vector<std::string> names_from(std::string_view prefix) override;
  seam::server_time now() override { return now_; }
  seam::ticket_number next_ticket(const seam::name_state& at) override;
  bool hears(seam::client_number client) override { return connected_.contains(client); }
  std::string describe(seam::client_number, const seam::who_ref& who) override;
  seam::cell_row find_cell(std::string_view name) override;
  void put_cell(std::string_view name, const seam::cell_row& row) override;
  void remove_cell(std::string_view name, std::uint64_t version) override;
  std::int64_t floor() override { return kept_.floor; }

 private:
  void forget_idle_names();

  std::size_t names_kept_;
  seam::server_time now_{};
  std::set<seam::client_number> connected_;
  state kept_;
  std::size_t forget_at_ = 0;
};

}  // namespace crosslock::memory
