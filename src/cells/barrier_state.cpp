// The steps of a barrier. Every id is used for one round of one member only, so a step that is
// repeated finds its own work.
#include "cells/barrier_state.hpp"

#include "cells/cell_text.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace crosslock::inner {
namespace {

constexpr std::string_view barrier_kind = "barrier1";
constexpr std::array<std::string_view, 3> phase_words{"entering", "inside", "broken"};

using phase = barrier_state::phase;
using member = barrier_state::member;

barrier_state next_round(const barrier_state& before) {
  return {.round = before.round + 1, .parties = 0, .now_is = phase::entering, .members = {}};
}

bool has_twins(std::vector<member> members) {
  const auto by_id = [](const member& a, const member& b) { return a.who < b.who; };
  const auto same_id = [](const member& a, const member& b) { return a.who == b.who; };
  std::sort(members.begin(), members.end(), by_id);
  return std::adjacent_find(members.begin(), members.end(), same_id) != members.end();
}

/// Whether the steps below could have made it.
bool makes_sense(const barrier_state& state) {
  if (has_twins(state.members)) return false;
  const auto parties = static_cast<std::size_t>(state.parties);
  const bool some_left = std::any_of(state.members.begin(), state.members.end(),
                                     [](const member& each) { return each.left; });
  const bool some_inside = std::any_of(state.members.begin(), state.members.end(),
                                       [](const member& each) { return !each.left; });
  switch (state.now_is) {
    case phase::entering:
      return state.members.empty() ? parties == 0 : state.members.size() < parties && !some_left;
    case phase::inside:
      return parties > 0 && state.members.size() == parties && some_inside;
    case phase::broken:
      return !state.members.empty() && state.members.size() < parties;
  }
  return false;
}

phase read_phase(const cell_text& words, std::string_view word) {
  const auto found = std::find(phase_words.begin(), phase_words.end(), word);
  if (found == phase_words.end()) words.refuse();
  return static_cast<phase>(found - phase_words.begin());
}

}  // namespace

bool barrier_state::has(const owner_id& who) const noexcept {
  return std::any_of(members.begin(), members.end(),
                     [&](const member& each) { return each.who == who; });
}

bool barrier_state::has_left(const owner_id& who) const noexcept {
  return std::any_of(members.begin(), members.end(),
                     [&](const member& each) { return each.who == who && each.left; });
}

std::string to_text(const barrier_state& state) {
  std::string text{barrier_kind};
  text += ' ' + std::to_string(state.round) + ' ' + std::to_string(state.parties) + ' ';
  text += phase_words[static_cast<std::size_t>(state.now_is)];
  for (const member& each : state.members) {
    text += ' ' + each.who.to_string() + (each.left ? "-" : "");
  }
  return text;
}

barrier_state read_barrier(const lock_name& name, std::string_view text) {
  barrier_state state;
  if (text.empty()) return state;
  cell_text words{name, text, barrier_kind};
  state.round = words.next_number<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max());
  state.parties = words.next_number<std::int32_t>(0, std::numeric_limits<std::int32_t>::max());
  state.now_is = read_phase(words, words.next());
  while (!words.at_end()) {
    std::string_view word = words.next();
    const bool left = word.ends_with('-');
    if (left) word.remove_suffix(1);
    const auto who = owner_id::parse(word);
    if (!who) words.refuse();
    state.members.push_back({*who, left});
  }
  if (!makes_sense(state)) words.refuse();
  return state;
}

bool may_enter(const barrier_state& state, std::int32_t parties) noexcept {
  return state.now_is == phase::entering && (state.members.empty() || state.parties == parties);
}

barrier_state entered(barrier_state before, std::int32_t parties, const owner_id& who) {
  before.parties = parties;
  before.members.push_back({who, false});
  if (before.members.size() == static_cast<std::size_t>(parties)) before.now_is = phase::inside;
  return before;
}

barrier_state left(barrier_state before, const owner_id& who) {
  bool all = true;
  for (member& each : before.members) {
    each.left = each.left || each.who == who;
    all = all && each.left;
  }
  return all ? next_round(before) : before;
}

barrier_state without(barrier_state before, std::span<const owner_id> gone) {
  const auto is_gone = [&](const member& each) {
    return std::find(gone.begin(), gone.end(), each.who) != gone.end();
  };
  if (std::erase_if(before.members, is_gone) == 0) return before;
  before.now_is = phase::broken;
  return before.members.empty() ? next_round(before) : before;
}

}  // namespace crosslock::inner
