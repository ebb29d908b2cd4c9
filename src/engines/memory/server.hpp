// The memory server: messages to the rules of the line (line_rules/line_server.hpp), over maps.
#pragma once

#include "engines/memory/map_rows.hpp"
#include "engines/memory/protocol.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::memory {

struct server_limits {
  std::size_t line_max = seam::line_max;  ///< waiters of one name; one more is `queue_full`
  std::size_t names_kept = 1024;  ///< idle names are forgotten only when there are more than so
};

/// What a message asks of the rules, whatever keeps the rows.
reply carry_out(const request& message, client_id from, seam::line_server& line, seam::rows& rows);

/// A pure state machine: no clock, no thread, no randomness inside. What it does depends on the
/// requests and the times it is given, and nothing else; a copy behaves like the original.
/// Not thread-safe.
class server {
 public:
  explicit server(server_limits limits = {}) : limits_{limits}, rows_{limits.names_kept} {}

  struct outcome {
    reply answer;
    std::vector<push> pushes;
  };

  /// Carries out one request. Whatever changes a name first replaces those whose lease has ended.
  outcome apply(client_id from, const request& message, server_time now);

  /// A client can be heard from now on; the news it may have missed: look again.
  std::vector<push> connect(client_id client);
  /// A waiter of a client that cannot be heard is passed over but keeps its place.
  void disconnect(client_id client) { rows_.disconnect(client); }

  /// Everything a disk would keep. What is connected, and the counters, are not part of it.
  using state = map_rows::state;
  state snapshot() const { return rows_.all(); }
  void restore(state kept) { rows_.restore(std::move(kept)); }

  std::uint64_t applied(verb what) const noexcept {
    return applied_[static_cast<std::size_t>(what)];
  }
  std::size_t names_stored() const noexcept { return rows_.all().names.size(); }

 private:
  struct watch_state {
    seam::name_ref name;
    std::map<client_id, server_time> until;
  };

  void watch(const seam::name_ref& name, duration span, client_id from);
  /// One piece of news about a cell becomes one for each who watches it.
  std::vector<push> tell_watchers(const seam::name_ref& name);

  server_limits limits_;
  std::array<std::uint64_t, verb_count> applied_{};
  map_rows rows_;
  /// Who is to hear of the next write of a cell. No part of what a disk keeps, and not lost in a
  /// crash either: whoever connects again hears of what it watched.
  std::map<std::string, watch_state, std::less<>> watches_;
  std::size_t sweep_watches_at_ = 64;
};

}  // namespace crosslock::memory
