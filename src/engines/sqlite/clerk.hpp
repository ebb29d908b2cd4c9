// Carries out requests on the rows of a name, inside of a write transaction: who goes in, who
// waits, who has ended. The rules are those of the memory server, restated over rows.
#pragma once

#include "engines/sqlite/protocol.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock::sqlite {

/// Waiters of one name; one more is `queue_full`.
inline constexpr std::int64_t line_max = 8192;

/// Those so near to their turn watch whether the holder lives. Few are enough, and a long line
/// costs no more than a short one.
inline constexpr std::int64_t near_places = 4;

/// What a client remembers of a claim between two asks.
struct remembered {
  bool asked_before = false;  ///< it may stand in line, or hold the name
  ticket_number ticket = 0;   ///< where it stood in line; 0: not known
};

struct ask_outcome {
  seam::ask_result result = seam::ask_result::busy;
  holder mine{};             ///< when granted
  bool wanted = false;       ///< when granted: others wait
  ticket_number ticket = 0;  ///< when in line
  duration look_after{};     ///< when in line
  bool near = false;         ///< when in line: only few are before it
};

/// Lives for one transaction. Throws crosslock::error for a refusal, with the rows as they should
/// be.
class clerk {
 public:
  clerk(ledger& rows, const process_id& self, time_point now)
      : rows_{rows}, self_{self}, now_{now} {}

  /// On whose behalf the next calls are.
  void act_for(client_number client) noexcept { from_ = client; }

  ask_outcome ask(const seam::claim& claim, const remembered& before);
  void withdraw(const lock_name& name, const owner_id& owner, ticket_number ticket);
  /// Fills in the outcome.
  void renew(seam::renewal& item);
  /// `left_alone`: nobody else is on the name any more.
  seam::release_answer release(const seam::grant& grant, bool& left_alone);
  std::optional<holder> adopt(const seam::grant& detached, const seam::claim& next, bool& wanted);
  bool break_lock(const lock_name& name, const owner_id& owner);
  seam::swap_answer swap_cell(const seam::cell_swap& wanted);
  std::optional<seam::cell> open_cell(const lock_name& name, fence token);
  /// Puts a client on the list, and takes it off.
  client_number add_client(std::string_view who, std::int64_t pid);
  void remove_client(std::int64_t pid);

  /// Who is to be told once all this is committed.
  std::vector<notice> take_notices() { return std::exchange(notices_, {}); }

 private:
  /// One name, from open() to save().
  struct scene {
    std::string_view name;
    lock_row row;
    std::vector<holder> sharers;
    bool changed = false;

    std::int64_t waiters() const noexcept {
      return row.crowd - static_cast<std::int64_t>(sharers.size());
    }
  };

  scene open(std::string_view name);
  void save(scene& at);
  [[noreturn]] void refuse(scene& at, errc code, const std::string& why);

  /// Those whose lease is over.
  void drop_expired(scene& at);
  /// Those as well whose process is dead, for whoever wants the name: it costs a look at each, so
  /// one who has just come in is left to those who watch it from the line.
  void drop_ended(scene& at);
  template <class Ended>
  void drop_if(scene& at, Ended&& ended);
  /// Hands the name to whoever may go in. `asking` hears the answer: it needs no notice.
  void serve(scene& at, const owner_id& asking = {});
  holder& grant(scene& at, holder fresh);
  std::pair<std::int64_t, std::int64_t> take_block(scene& at);
  void tell(const scene& at, client_number client);

  std::optional<waiter> find_place(const scene& at, const owner_id& owner,
                                   const remembered& before);
  void leave_line(scene& at, ticket_number ticket);
  ask_outcome admit_newcomer(scene& at, const seam::claim& claim);
  /// Another exclusive claim, which holds the name or stands in line, was here before the upgrade.
  bool conflicts(const scene& at, const seam::claim& upgrade);
  static bool shares(scene& at, const std::optional<owner_id>& owner);
  ask_outcome enter_line(scene& at, const seam::claim& claim);
  ask_outcome in_line(const scene& at, const waiter& mine, std::int64_t before);
  void drop_ended_places(scene& at);

  static holder* find_holder(scene& at, const owner_id& owner);
  static holder* find_holder(scene& at, const owner_id& owner, std::int64_t fence);
  void extend(scene& at, holder& one, duration lease);
  /// A client of the same description that cannot die.
  client_number without_process(client_number client);
  /// An exclusive holder becomes one who shares.
  void share(scene& at, holder& one);
  holder& join(scene& at, holder fresh);
  void write_back(scene& at, const holder& one);
  void remove_holder(scene& at, const holder& gone);

  ledger& rows_;
  const process_id& self_;
  const time_point now_;
  client_number from_ = nobody;
  std::vector<notice> notices_;
};

/// What can be seen of a name without changing anything; those who have ended are left out.
lock_info inspect(ledger& rows, std::string_view name, const process_id& self, time_point now);

}  // namespace crosslock::sqlite
