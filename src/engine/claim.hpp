// The values that cross the seam: what the core asks of an engine, and what it gets back.
#pragma once

#include "engine/session.hpp"

#include <crosslock/fence.hpp>
#include <crosslock/inspect.hpp>
#include <crosslock/lock_name.hpp>
#include <crosslock/owner_id.hpp>
#include <crosslock/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace crosslock::seam {

/// Names are shared, never copied, on the way of a call.
using name_ref = std::shared_ptr<const lock_name>;

/// How many fences come with a grant: its own, and the rest for passes within the process.
inline constexpr std::int64_t fence_block = 4096;

/// What one claim in a line wants. Permit claims: 1 <= permits <= of.
struct demand {
  claim_mode mode = claim_mode::exclusive;
  std::int32_t permits = 1;
  std::int32_t of = 1;

  friend bool operator==(const demand&, const demand&) = default;
};

/// A request to hold a name. The owner id is drawn once and kept over every retry.
struct claim {
  name_ref name;
  owner_id owner;
  claim_mode mode = claim_mode::exclusive;
  std::int32_t permits = 1;  ///< permit claims: how many ...
  std::int32_t of = 1;       ///< ... of how many
  duration lease{};
  bool wait = false;  ///< true: stand in line when it is taken
  /// Exclusive, of a lock that others share: where other libraries take that for another kind.
  bool among_readers = false;
  /// An exclusive claim of somebody who holds the name shared. When it first asks and another
  /// exclusive claim stands in the line, the ask throws `upgrade_conflict` and nothing has changed.
  bool upgrade = false;
  /// Upgrades: a shared grant that does not stand in this claim's way; for everybody else it does.
  /// It goes on beside the new grant until it is released: so whoever believes in it stays right,
  /// whatever becomes of the upgrade. None while others use that grant too: a later ask of the same
  /// claim may bring it.
  std::optional<owner_id> beside{};
};

/// A claim that may go in. `first` to `last` are its fences; the engine accepts any of them as
/// proof beside the owner id.
struct grant {
  name_ref name;
  owner_id owner;
  fence first;
  fence last;
  duration lease{};    ///< what the server gave, counted from `sent`
  time_point sent{};   ///< before the first byte of the request that this lease counts from
  time_point asked{};  ///< session engines: what a fixed lease within the session counts from
  /// Engines with lease_is_session: what it lasts as long as, in place of `sent` and `lease`.
  std::shared_ptr<const seam::session> session{};
  bool offer = false;   ///< a short lease of a handover: renew at once to get the full one
  bool wanted = false;  ///< others already wait behind it
};

enum class ask_result { granted, in_line, busy };

struct answer {
  ask_result result = ask_result::busy;
  grant granted{};        ///< when granted
  duration look_after{};  ///< when in line: ask again then, if no news came
};

/// One item of a renewal: the request above, the engine's answer below.
struct renewal {
  enum class result { renewed, lost, unknown };

  grant held;
  duration lease{};          ///< the lease wanted from now on
  bool want_fences = false;  ///< reserve another block ahead of need
  /// The grant goes on without this process: from now on only its lease counts. A lease of zero
  /// leaves what is left of it as it is.
  bool detach = false;
  /// A downgrade: an exclusive grant becomes a shared one with the same owner and fences, and who
  /// may share it now is let in. One that is shared already stays so.
  bool share = false;

  result outcome = result::unknown;
  duration granted_lease{};  ///< renewed: what the server gave, counted from `sent`
  time_point sent{};         ///< renewed: before this request went out
  fence more_first{};        ///< renewed with another block: its first fence, else zero
  fence more_last{};
  bool wanted = false;  ///< renewed: others wait behind this grant
};

enum class release_answer {
  released,   ///< it was ours; it is free or has gone to the next in line
  not_owner,  ///< it was not, or no longer, ours: nothing changed
};

}  // namespace crosslock::seam
