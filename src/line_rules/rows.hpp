// What the rules of a line need to know of one name, and the interface to whatever keeps it: a map,
// tables of SQLite, those of an SQL server.
#pragma once

#include "engine/cell.hpp"
#include "engine/claim.hpp"
#include "line_rules/waiting_room.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::seam {

/// The time of whatever keeps the rows, since some moment of its own. May step.
using server_time = duration;

/// One client, under the number by which the rows know it.
using client_number = std::int64_t;

/// user@host pid program: shared, because it comes with every claim.
using who_ref = std::shared_ptr<const std::string>;

struct holder {
  owner_id owner{};
  seam::demand demand{};
  std::int64_t first = 0;
  std::int64_t last = 0;
  duration lease{};  ///< the longest lease this owner was promised
  server_time ends{};
  server_time since{};
  client_number client = 0;
  who_ref who{};
  ticket_number offer_of = 0;   ///< not zero: an offer that nobody has taken up yet
  ticket_number stored_as = 0;  ///< for the rows alone: where they keep it

  bool is_proven_by(std::int64_t fence) const noexcept { return fence >= first && fence <= last; }
  friend bool operator==(const holder&, const holder&) = default;
};

struct waiter {
  owner_id owner{};
  seam::demand demand{};
  duration lease{};
  server_time place_ends{};
  server_time since{};
  client_number client = 0;
  who_ref who{};
  ticket_number ticket = 0;
  std::optional<owner_id> beside{};  ///< upgrades: the shared grant that is not in the way

  friend bool operator==(const waiter&, const waiter&) = default;
};

/// One name: a value that the rules change and the rows keep. Its line need not be read as a whole.
struct name_state {
  name_ref name;
  std::int64_t top = 0;  ///< the highest fence ever handed out
  std::vector<holder> holders;
  std::map<ticket_number, waiter> line;  ///< tickets rise: in the order of entry
  std::map<owner_id, ticket_number> tickets;
  std::int64_t unread = 0;  ///< how many stand in line besides those
  /// Everybody up to this ticket has been read. Behind it only some have.
  ticket_number read_to = std::numeric_limits<ticket_number>::max();

  std::int64_t waiting() const noexcept { return unread + static_cast<std::int64_t>(line.size()); }
  bool idle() const noexcept { return holders.empty() && waiting() == 0; }

  holder* holder_of(const owner_id& owner) noexcept {
    const auto it = std::ranges::find(holders, owner, &holder::owner);
    return it == holders.end() ? nullptr : &*it;
  }
  holder* holder_of(const owner_id& owner, std::int64_t fence) noexcept {
    holder* const found = holder_of(owner);
    return found != nullptr && found->is_proven_by(fence) ? found : nullptr;
  }
  /// Whether that is a shared holder; upgrades stand beside one.
  bool is_shared_by(const std::optional<owner_id>& owner) noexcept {
    const holder* const found = owner ? holder_of(*owner) : nullptr;
    return found != nullptr && found->demand.mode == claim_mode::shared;
  }
  void remove(const holder& gone) { holders.erase(holders.begin() + (&gone - holders.data())); }

  waiter* waiter_of(const owner_id& owner) {
    const auto it = tickets.find(owner);
    return it == tickets.end() ? nullptr : &line.at(it->second);
  }
  waiter& enter(const waiter& one) {
    tickets.emplace(one.owner, one.ticket);
    return line.emplace(one.ticket, one).first->second;
  }
  void leave(std::map<ticket_number, waiter>::iterator one) {
    tickets.erase(one->second.owner);
    line.erase(one);
  }
};

struct cell_row {
  cell now;
  owner_id writer{};  ///< of what it says now: a repeated write finds its own work
};

/// What a client remembers of a claim between two asks.
struct remembered {
  bool asked_before = true;  ///< it may stand in line, or hold the name
  ticket_number ticket = 0;  ///< where it stood in line; 0: not known
};

/// Whose place in line is needed as well when a name is read.
struct seeker {
  const owner_id& owner;
  remembered before{};
};

struct renew_item {
  name_ref name;
  owner_id owner;
  crosslock::fence first;  ///< any fence of the grant; this and `last` are what mutant M3 stores
  crosslock::fence last;
  duration lease{};
  bool want_fences = false;
  bool share = false;   ///< an exclusive grant becomes a shared one
  bool detach = false;  ///< from now on only its lease counts
};

/// One request at a time. What a name needs is read by one call, and written back by one: rows
/// behind a round trip need one there and one back.
class rows {
 public:
  virtual ~rows() = default;

  /// For changing; valid until save(). Null: there is nothing, and none shall be added.
  virtual name_state* open(const name_ref& name, bool add, const seeker* whose) = 0;
  /// Writes back what has changed.
  virtual void save(name_state& changed) = 0;
  /// Everything about a name, in a copy that is not written back.
  virtual std::optional<name_state> copy(std::string_view name) = 0;
  /// Reads more of the line of the open name; `unread` is zero when that was all.
  virtual void read_on(name_state&) {}
  /// Every name with somebody on it that begins so, in the order of their bytes.
  virtual std::vector<std::string> names_from(std::string_view prefix) = 0;

  /// Of the request; known once a name or a cell was read.
  virtual server_time now() = 0;
  /// What fences and versions rise by when their counter was lost.
  virtual std::int64_t fence_clock() { return now().count(); }
  /// Higher than every ticket of this name before it, and than the time.
  virtual ticket_number next_ticket(const name_state& at) = 0;
  /// How many stand in line before that one; counted up to `most`.
  virtual std::int64_t before(const name_state& at, ticket_number ticket, std::int64_t most);

  /// Whether a client's process is surely dead; a close look, which may cost something.
  virtual bool dead(client_number) { return false; }
  /// The same, as far as a glance shows it.
  virtual bool gone(client_number) { return false; }
  /// A waiter whose client cannot be told anything is passed over but keeps its place.
  virtual bool hears(client_number) { return true; }
  /// A client of the same description that cannot die.
  virtual client_number without_process(client_number client) { return client; }
  virtual std::string describe(client_number client, const who_ref& who) = 0;

  /// The common renewal in one step: nobody else is on the name. False: nothing has happened.
  virtual bool renew_alone(const renew_item&) { return false; }

  /// Empty when nobody has written or opened it.
  virtual cell_row find_cell(std::string_view name) = 0;
  virtual void put_cell(std::string_view name, const cell_row& row) = 0;
  /// From then on the floor is not below that version.
  virtual void remove_cell(std::string_view name, std::uint64_t version) = 0;
  /// No fence or version of anything that was removed is higher.
  virtual std::int64_t floor() = 0;
};

}  // namespace crosslock::seam
