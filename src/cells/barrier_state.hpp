// What a barrier stores, and how it changes: pure functions.
#pragma once

#include <crosslock/lock_name.hpp>
#include <crosslock/owner_id.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::inner {

/// As text: `barrier1 ROUND PARTIES PHASE`, then the ids of the members, with a `-` behind those
/// that have left.
///
///     entering --the last has entered--> inside --the last has left--> entering, next round
///         |                                 |                             ^
///         +-----a member dies, gives up-----+--> broken --all are told----+
struct barrier_state {
  enum class phase { entering, inside, broken };
  struct member {
    owner_id who;
    bool left = false;

    friend bool operator==(const member&, const member&) = default;
  };

  std::uint64_t round = 0;
  std::int32_t parties = 0;  ///< 0: nobody is here, and nobody has said it yet
  phase now_is = phase::entering;
  std::vector<member> members;  ///< broken: those that have not been told

  bool has(const owner_id& who) const noexcept;
  bool has_left(const owner_id& who) const noexcept;

  friend bool operator==(const barrier_state&, const barrier_state&) = default;
};

std::string to_text(const barrier_state& state);
/// Empty text is a barrier that nobody has touched. Throws `conflict` for something else than a
/// barrier, and `protocol` for a barrier that makes no sense.
barrier_state read_barrier(const lock_name& name, std::string_view text);

/// Whether somebody new may enter: it is the time for that, and all mean the same number.
bool may_enter(const barrier_state& state, std::int32_t parties) noexcept;
/// With one member more, who may be the last. Only if may_enter().
barrier_state entered(barrier_state before, std::int32_t parties, const owner_id& who);
/// One of those inside leaves, and may be the last.
barrier_state left(barrier_state before, const owner_id& who);
/// Without these, who have died, given up, or been told. Breaks the round unless it is broken; the
/// same as before when none of them is a member.
barrier_state without(barrier_state before, std::span<const owner_id> gone);

}  // namespace crosslock::inner
