// The memory server: the executable specification of a lock server with a line, direct handover,
// offers, tickets and fences (ARCHITECTURE.md has the words). The Redis scripts follow it.
#pragma once

#include "engine/line_rule.hpp"
#include "engines/memory/protocol.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock::memory {

struct server_limits {
  std::size_t line_max = 8192;    ///< waiters of one name; one more is `queue_full`
  std::size_t names_kept = 1024;  ///< idle names are forgotten only when there are more than so
};

/// A pure state machine: no clock, no thread, no randomness inside. What it does depends on the
/// requests and the times it is given, and nothing else; a copy behaves like the original.
/// Not thread-safe.
class server {
 public:
  explicit server(server_limits limits = {}) : limits_{limits} {}

  struct outcome {
    reply answer;
    std::vector<push> pushes;
  };

  /// Carries out one request. Whatever touches a name first replaces those whose lease has ended.
  outcome apply(client_id from, const request& message, server_time now);

  /// A client can be heard from now on; the news it may have missed: look again.
  std::vector<push> connect(client_id client);
  /// A waiter of a client that cannot be heard is passed over but keeps its place.
  void disconnect(client_id client) { connected_.erase(client); }

  /// Everything a disk would keep. What is connected, and the counters, are not part of it.
  struct state;
  state snapshot() const;
  void restore(state kept);

  std::uint64_t applied(verb what) const noexcept {
    return applied_[static_cast<std::size_t>(what)];
  }
  std::size_t names_stored() const noexcept { return names_.size(); }

 private:
  struct holder {
    owner_id owner{};
    seam::wish want{};
    std::int64_t first = 0;
    std::int64_t last = 0;
    duration lease{};  ///< the longest lease this owner was promised
    server_time end{};
    server_time since{};
    client_id client = 0;
    who_ref who{};
    ticket_number offer_of = 0;  ///< not zero: an offer that nobody has taken up yet
  };

  struct waiter {
    owner_id owner{};
    seam::wish want{};
    duration lease{};
    server_time place_end{};
    server_time since{};
    client_id client = 0;
    who_ref who{};
    std::optional<owner_id> beside{};  ///< upgrades: the shared grant that is not in the way
  };

  struct name_state {
    seam::name_ref name;
    std::vector<holder> holders;
    std::map<ticket_number, waiter> line;  ///< tickets rise: in the order of entry
    std::map<owner_id, ticket_number> places;
    std::int64_t fence_top = 0;  ///< the highest fence ever handed out

    bool idle() const noexcept { return holders.empty() && line.empty(); }
  };
  using name_map = std::map<std::string, name_state, std::less<>>;

  struct cell_state {
    seam::cell now;
    owner_id writer{};  ///< of what it says now: a repeated write finds its own work
  };
  using cell_map = std::map<std::string, cell_state, std::less<>>;
  struct watch_state {
    seam::name_ref name;
    std::map<client_id, server_time> until;
  };
  using watch_map = std::map<std::string, watch_state, std::less<>>;

  /// One request on its way through the server.
  struct step {
    client_id from;
    server_time now;
    std::vector<push>& pushes;
  };

  // The verbs (server.cpp).
  reply carry_out(const ask_request& message, step& at);
  reply carry_out(const withdraw_request& message, step& at);
  reply carry_out(const renew_request& message, step& at);
  reply carry_out(const release_request& message, step& at);
  reply carry_out(const adopt_request& message, step& at);
  reply carry_out(const break_request& message, step& at);
  reply carry_out(const look_request& message, step& at);
  reply carry_out(const list_request& message, step& at);
  void refresh_place(name_state& name, const seam::claim& claim, step& at);
  reply admit_newcomer(name_state& name, const ask_request& message, step& at);
  reply enter_line(name_state& name, const ask_request& message, step& at);
  renew_outcome renew_one(const renew_item& item, step& at);

  // The verbs of cells (server_cells.cpp).
  reply carry_out(const read_cell_request& message, step& at);
  reply carry_out(const swap_cell_request& message, step& at);
  reply carry_out(const open_cell_request& message, step& at);
  cell_state look_up_cell(const lock_name& name) const;
  void watch(const seam::name_ref& name, duration span, const step& at);
  void tell_watchers(const seam::name_ref& name, step& at);

  // What happens to one name (server_line.cpp).
  name_state* find(std::string_view name, server_time now);
  name_state& find_or_add(const seam::name_ref& name, server_time now);
  void forget_idle_names(server_time now);
  static void drop_ended(name_state& name, server_time now);
  static void drop_ended_places(name_state& name, server_time now);
  /// Hands the name to whoever may go in. `asking` hears the reply: it needs no push.
  void serve(name_state& name, step& at, const owner_id& asking = {});
  bool passed_over(const waiter& one, const owner_id& asking) const;
  static holder& grant(name_state& name, holder fresh, server_time now);
  static std::pair<std::int64_t, std::int64_t> take_block(name_state& name, server_time now);
  ask_reply in_line(const name_state& name, ticket_number ticket, server_time now) const;
  lock_info inspect(const name_state& name, server_time now) const;
  static holder* find_holder(name_state& name, const owner_id& owner);
  static void leave_line(name_state& name, ticket_number ticket);
  static void remove_holder(name_state& name, const holder& gone);

  static bool conflicts(const name_state& name, const seam::claim& upgrade, server_time now);
  static bool shares(name_state& name, const std::optional<owner_id>& owner);
  static server_time later(server_time moment, duration span);
  static void extend(holder& one, duration lease, server_time now);

  server_limits limits_;
  std::set<client_id> connected_;
  std::array<std::uint64_t, verb_count> applied_{};

  name_map names_;
  cell_map cells_;
  /// Who is to hear of the next write of a cell. No part of what a disk keeps, and not lost in a
  /// crash either: whoever connects again hears of what it watched.
  watch_map watches_;
  std::size_t sweep_watches_at_ = 64;
  std::int64_t fence_floor_ = 0;  ///< no fence of a forgotten name was higher
  ticket_number last_ticket_ = 0;
  std::size_t forget_at_ = 0;
};

struct server::state {
  name_map names;
  cell_map cells;
  std::int64_t fence_floor = 0;
  ticket_number last_ticket = 0;
};

}  // namespace crosslock::memory
