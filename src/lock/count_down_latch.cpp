// A cell with everybody's share of the count in it. Who is not sure whether a request was heard
// looks for its share: each call that is under way has an id of its own, which a later call takes
// over with what has been counted under it so far.
#include <crosslock/count_down_latch.hpp>

#include "cells/cells.hpp"
#include "cells/latch_state.hpp"
#include "engine/guarded.hpp"

#include <string>
#include <utility>
#include <vector>

namespace crosslock {

struct count_down_latch::state {
  state(const client& locks, std::string_view name, std::int32_t wanted)
      : given_name{locks.core()->given_name(locks.core()->full_name(name))},
        cell{locks.core(), std::make_shared<const lock_name>(lock_name::reserved(
                               "latch", locks.core()->full_name(name)->view()))},
        count{wanted} {
    if (wanted >= 1 && wanted <= count_max) return;
    throw error{errc::conflict, "a latch of " + std::to_string(wanted) + ": '" + given_name->str() +
                                    "' can count from 1 to " + std::to_string(count_max)};
  }

  /// What is stored, if it can be ours.
  inner::latch_state read(const seam::cell& now) const {
    inner::latch_state found = inner::read_latch(*given_name, now.value);
    if (found.count == 0 || found.count == count) return found;
    throw error{errc::conflict, "'" + given_name->str() + "' is a latch of " +
                                    std::to_string(found.count) + ", not of " +
                                    std::to_string(count)};
  }

  /// An id that nobody else uses at the moment.
  owner_id take_id() {
    const seam::lock_guard guard{mutex};
    if (idle.empty()) return cell.home().draw_owner();
    const owner_id taken = idle.back();
    idle.pop_back();
    return taken;
  }

  void give_back(const owner_id& used) {
    const seam::lock_guard guard{mutex};
    idle.push_back(used);
  }

  bool wait(inner::patience limit) const {
    inner::cell_wait mine = cell.begin_wait();
    limit.wait = &mine;
    std::optional<std::uint64_t> round;
    bool touched = false;
    const auto is_open = [&](const seam::cell& now) {
      const inner::latch_state found = read(now);
      if (!round) round = found.round;
      if ((touched && now.version == 0) || found.round < *round) {
        throw error{errc::broken, "'" + given_name->str() + "' was erased while it was waited for"};
      }
      touched = touched || now.version != 0;
      return found.open || found.round > *round;
    };
    try {
      return cell.wait(is_open, limit).enough;
    } catch (const inner::out_of_time&) {
      return false;
    }
  }

  const seam::name_ref given_name;
  const inner::cell_access cell;
  const std::int32_t count;

  seam::mutex mutex;
  std::vector<owner_id> idle CROSSLOCK_GUARDED_BY(mutex);
};

count_down_latch::count_down_latch(const client& locks, std::string_view name, std::int32_t count)
    : state_{std::make_unique<state>(locks, name, count)} {}
count_down_latch::count_down_latch(const client& locks, lock_name name, std::int32_t count)
    : count_down_latch{locks, name.view(), count} {}
count_down_latch::~count_down_latch() = default;

void count_down_latch::count_down(std::int32_t n) {
  if (n < 1) {
    throw error{errc::conflict,
                "'" + name().str() + "' cannot be counted down by " + std::to_string(n)};
  }
  state_->cell.home().check_usable();
  // One that fails does not come back: what was counted under it is not known.
  const owner_id who = state_->take_id();
  std::optional<std::uint64_t> round;
  std::int32_t before = 0;
  const auto decide = [&](const seam::cell& now, const error* doubt) -> std::optional<std::string> {
    const inner::latch_state found = state_->read(now);
    // Behind a lost answer: a round that is over had come to zero, with us or without.
    if (found.open || (round && found.round > *round)) return std::nullopt;
    const std::int32_t heard = found.counted_by(who);
    const bool erased = round && (now.version == 0 || found.round < *round || heard < before);
    // It may have been counted before that.
    if (erased && doubt) inner::throw_in_doubt(name(), *doubt);
    if (!round || erased) {
      round = found.round;
      before = heard;
    }
    if (heard > before) return std::nullopt;
    return to_text(inner::counted_down(found, state_->count, who, n));
  };
  state_->cell.alter(decide);
  state_->give_back(who);
}

std::int32_t count_down_latch::count() const {
  const inner::latch_state found = state_->read(state_->cell.read());
  return found.count == 0 ? state_->count : found.left();
}

void count_down_latch::wait() const { state_->wait({}); }

bool count_down_latch::wait(std::stop_token stop) const {
  return state_->wait({.end = time_point::max(), .stop = std::move(stop)});
}

bool count_down_latch::wait_within(duration wait, std::stop_token stop) const {
  return state_->wait(inner::patience_of(state_->cell.home(), wait, std::move(stop)));
}

bool count_down_latch::reset() {
  bool begun = false;
  std::optional<std::uint64_t> round;
  state_->cell.alter([&](const seam::cell& now, const error*) -> std::optional<std::string> {
    const inner::latch_state found = state_->read(now);
    if (!round) round = found.round;
    begun = found.round > *round;
    if (begun || !found.open) return std::nullopt;
    begun = true;
    return to_text(inner::begun_anew(found));
  });
  return begun;
}

void count_down_latch::erase() { state_->cell.erase(std::nullopt); }

const lock_name& count_down_latch::name() const noexcept { return *state_->given_name; }

}  // namespace crosslock
