// Who takes part is written in a cell. Each member also holds a shared claim, under the id that
// stands in the cell: whose claim is gone has died, and somebody who waits strikes it out.
#include <crosslock/barrier.hpp>

#include "cells/barrier_state.hpp"
#include "cells/cells.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace crosslock {
namespace {

using inner::barrier_state;
using phase = inner::barrier_state::phase;

}  // namespace

struct barrier::state {
  using step = std::function<std::optional<barrier_state>(const barrier_state&)>;

  state(const client& locks, std::string_view name, std::int32_t wanted)
      : given_name{locks.core()->given_name(locks.core()->full_name(name))},
        cell{locks.core(), std::make_shared<const lock_name>(lock_name::reserved(
                               "barrier", locks.core()->full_name(name)->view()))},
        parties{wanted} {
    const seam::traits& about = cell.home().about();
    if (!about.shared) {
      throw error{errc::unsupported,
                  std::string{about.name} + " has no shared locks: a barrier needs them",
                  {.engine = std::string{about.name}}};
    }
    if (wanted >= 1 && wanted <= parties_max) return;
    throw error{errc::conflict, "a barrier of " + std::to_string(wanted) + ": '" +
                                    given_name->str() + "' can have 1 to " +
                                    std::to_string(parties_max) + " parties"};
  }

  barrier_state read(const seam::cell& now) const {
    return inner::read_barrier(*given_name, now.value);
  }

  seam::cell alter(const step& change, const inner::patience& limit,
                   std::optional<seam::cell> known = std::nullopt) const {
    const auto decide = [&](const seam::cell& now, const error*) -> std::optional<std::string> {
      const auto next = change(read(now));
      return next ? std::optional{to_text(*next)} : std::nullopt;
    };
    return cell.alter(decide, limit, std::move(known)).now;
  }

  seam::cell strike_out(const std::vector<owner_id>& gone, const inner::patience& limit) const {
    return alter(
        [&](const barrier_state& now) {
          auto next = inner::without(now, gone);
          return next == now ? std::nullopt : std::optional{std::move(next)};
        },
        limit);
  }

  bool enter(inner::patience limit);
  bool leave(inner::patience limit);
  bool erase() const;
  bool take_part(const step& act, const std::function<bool(const barrier_state&)>& done,
                 const inner::patience& limit);
  std::vector<owner_id> find_dead(const barrier_state& now, time_point& next_look,
                                  const inner::patience& limit) const;
  void refuse_other_number(const barrier_state& now) const;
  void drop_out(const inner::patience& limit) noexcept;

  [[noreturn]] void throw_broken(const char* why) const {
    throw error{errc::broken, "the round of '" + given_name->str() + "' is broken: " + why};
  }

  const seam::name_ref given_name;
  const inner::cell_access cell;
  const std::int32_t parties;

  std::shared_ptr<inner::line> line;               // of the claim alone
  std::shared_ptr<inner::critical_section> claim;  // of a member
  std::uint64_t round = 0;                         // inside: of which round
};

/// Writes what `act` says and waits for changes until it is done, looking after the others all the
/// while. False when out of patience.
bool barrier::state::take_part(const step& act,
                               const std::function<bool(const barrier_state&)>& done,
                               const inner::patience& limit) {
  const seam::clock& clock = cell.home().clock();
  time_point next_look = time_point::min();
  seam::cell now = cell.read(limit);
  for (;;) {
    now = alter(act, limit, std::move(now));
    const barrier_state found = read(now);
    if (done(found)) return true;
    if (!claim->valid()) throw_broken("this member could not renew its lease");
    if (limit.over(clock)) return false;
    if (clock.now() >= next_look) {
      // Whoever enters after `now` was read is not in it, and so is not taken for dead.
      const auto dead = find_dead(found, next_look, limit);
      if (!dead.empty()) {
        now = strike_out(dead, limit);
        continue;
      }
      refuse_other_number(found);
    }
    const auto changed = [&](const seam::cell& seen) { return seen.version != now.version; };
    now = cell.wait(changed, limit, next_look).now;
  }
}

std::vector<owner_id> barrier::state::find_dead(const barrier_state& now, time_point& next_look,
                                                const inner::patience& limit) const {
  inner::core& home = cell.home();
  const lock_info seen = cell.look(limit);
  std::vector<owner_id> dead;
  // The claim of a dead member vanishes with its lease: that is the moment to look again.
  constexpr duration later = std::chrono::milliseconds{2};
  duration pause = home.lease() / 3;
  for (const barrier_state::member& each : now.members) {
    const auto found =
        std::find_if(seen.holders.begin(), seen.holders.end(),
                     [&](const claim_info& holder) { return holder.owner == each.who; });
    if (found == seen.holders.end()) {
      dead.push_back(each.who);
    } else if (found->lease_left > duration::zero()) {
      pause = std::min(pause, found->lease_left + later);
    }
  }
  next_look = home.clock().now() + pause;
  return dead;
}

void barrier::state::refuse_other_number(const barrier_state& now) const {
  if (now.members.empty() || now.parties == parties) return;
  throw error{errc::conflict, "'" + given_name->str() + "' is a barrier of " +
                                  std::to_string(now.parties) + " parties, not of " +
                                  std::to_string(parties)};
}

bool barrier::state::enter(inner::patience limit) {
  if (claim) {
    throw error{errc::would_deadlock,
                "'" + given_name->str() + "': this member is inside: it leaves first"};
  }
  inner::cell_wait mine = cell.begin_wait();
  limit.wait = &mine;
  inner::core& home = cell.home();
  line = home.own_line(cell.name());
  claim = line->acquire(home.make_request({.lease = std::nullopt, .stop = limit.stop}, limit.end,
                                          {.mode = claim_mode::shared}));
  if (!claim) return false;
  const owner_id me = claim->owner();
  bool joined = false;
  const auto act = [&](const barrier_state& now) -> std::optional<barrier_state> {
    if (!claim->valid()) return std::nullopt;  // the others may have counted without this member
    if (joined || now.has(me) || !may_enter(now, parties)) return std::nullopt;
    return entered(now, parties, me);
  };
  const auto done = [&](const barrier_state& now) {
    if (!now.has(me) && joined) throw_broken("this member was taken for dead");
    joined = now.has(me);
    if (joined && now.now_is == phase::broken) throw_broken("a member has died or given up");
    round = now.round;
    return joined && now.now_is == phase::inside;
  };
  try {
    // Whoever died while nobody waited still stands there, and must not be counted.
    const barrier_state before = read(cell.read(limit));
    time_point next_look{};
    const auto dead =
        before.members.empty() ? std::vector<owner_id>{} : find_dead(before, next_look, limit);
    if (!dead.empty()) strike_out(dead, limit);
    if (take_part(act, done, limit)) return true;
  } catch (const inner::out_of_time&) {
    // As if the time were up amid the wait.
  } catch (...) {
    drop_out(limit);
    throw;
  }
  drop_out(limit);
  return false;
}

bool barrier::state::leave(inner::patience limit) {
  if (!claim) {
    throw error{errc::not_held, "'" + given_name->str() + "': this member has not entered"};
  }
  inner::cell_wait mine = cell.begin_wait();
  limit.wait = &mine;
  const owner_id me = claim->owner();
  const auto act = [&](const barrier_state& now) -> std::optional<barrier_state> {
    if (!claim->valid()) return std::nullopt;
    if (now.now_is != phase::inside || !now.has(me) || now.has_left(me)) return std::nullopt;
    return left(now, me);
  };
  const auto done = [&](const barrier_state& now) {
    if (now.has(me)) {
      if (now.now_is == phase::broken) throw_broken("a member has died or given up");
      return false;
    }
    // Nobody strikes out a member whose lease lasts: the round has ended with all of us.
    if (now.round > round && claim->valid()) return true;
    throw_broken("this member was taken for dead");
  };
  bool all_left = false;
  try {
    all_left = take_part(act, done, limit);
  } catch (const inner::out_of_time&) {
    // As if the time were up amid the wait.
  } catch (...) {
    drop_out(limit);
    throw;
  }
  if (all_left) {
    claim.reset();
  } else {
    drop_out(limit);
  }
  return all_left;
}

/// Every member has a shared claim for as long as it looks at the cell: with an exclusive one
/// whoever still stands in it is dead. What is erased is what was read while that claim was good:
/// should it end then, whoever enters writes another version.
bool barrier::state::erase() const {
  inner::core& home = cell.home();
  const auto alone =
      home.own_line(cell.name())->acquire(home.make_request({}, inner::acquire_request::no_wait));
  if (!alone) return false;
  const std::uint64_t version = cell.read().version;
  if (!alone->valid()) return false;
  const bool gone = cell.erase(version) == inner::cell_access::erased::gone;
  alone->release();
  return gone;
}

/// Out of the round, which breaks by it unless it was broken before; then this is how it is known
/// that this member has been told. Whoever is out of time has a moment for it: if the server does
/// not hear of it by then, the others see the claim end.
void barrier::state::drop_out(const inner::patience& limit) noexcept {
  constexpr duration moment = std::chrono::milliseconds{50};
  inner::core& home = cell.home();
  const time_point now = home.clock().now();
  try {
    const duration timeout = home.settings().timeout;
    const time_point end = std::clamp(limit.end, now + std::min(moment, timeout), now + timeout);
    strike_out({claim->owner()}, {.end = end, .stop = {}});
  } catch (const std::exception& why) {
    home.settings().say(log_level::warning, "leaving '", given_name->view(),
                        "' was not told to the others: ", why.what());
    if (!home.inherited_by_fork()) line->retire(*claim);
  }
  claim.reset();
}

barrier::barrier(const client& locks, std::string_view name, std::int32_t parties)
    : state_{std::make_unique<state>(locks, name, parties)} {}
barrier::barrier(const client& locks, lock_name name, std::int32_t parties)
    : barrier{locks, name.view(), parties} {}

barrier::~barrier() {
  if (state_->claim) state_->drop_out({});
}

void barrier::enter() { state_->enter({}); }

bool barrier::enter(std::stop_token stop) {
  return state_->enter({.end = time_point::max(), .stop = std::move(stop)});
}

bool barrier::enter_within(duration wait, std::stop_token stop) {
  return state_->enter(inner::patience_of(state_->cell.home(), wait, std::move(stop)));
}

void barrier::leave() { state_->leave({}); }

bool barrier::leave(std::stop_token stop) {
  return state_->leave({.end = time_point::max(), .stop = std::move(stop)});
}

bool barrier::leave_within(duration wait, std::stop_token stop) {
  return state_->leave(inner::patience_of(state_->cell.home(), wait, std::move(stop)));
}

bool barrier::erase() { return state_->erase(); }

std::int32_t barrier::parties() const noexcept { return state_->parties; }

const lock_name& barrier::name() const noexcept { return *state_->given_name; }

}  // namespace crosslock
