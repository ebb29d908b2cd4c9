// Reading is strict: a latch that was half understood might open too early.
#include "cells/latch_state.hpp"

#include "cells/cell_text.hpp"

#include <algorithm>
#include <limits>

namespace crosslock::inner {
namespace {

constexpr std::string_view latch_kind = "latch1";
constexpr std::string_view open_word = "open";

bool has_twins(std::vector<latch_state::share> shares) {
  const auto by_id = [](const auto& a, const auto& b) { return a.who < b.who; };
  const auto same_id = [](const auto& a, const auto& b) { return a.who == b.who; };
  std::sort(shares.begin(), shares.end(), by_id);
  return std::adjacent_find(shares.begin(), shares.end(), same_id) != shares.end();
}

}  // namespace

std::int32_t latch_state::left() const noexcept {
  if (open) return 0;
  std::int32_t counted = 0;
  for (const share& each : shares) counted += each.counted;
  return count - counted;
}

std::int32_t latch_state::counted_by(const owner_id& who) const noexcept {
  const auto found = std::find_if(shares.begin(), shares.end(),
                                  [&](const share& each) { return each.who == who; });
  return found == shares.end() ? 0 : found->counted;
}

std::string to_text(const latch_state& state) {
  std::string text{latch_kind};
  text += ' ' + std::to_string(state.round) + ' ' + std::to_string(state.count);
  if (state.open) text.append(" ").append(open_word);
  for (const latch_state::share& each : state.shares) {
    text += ' ' + each.who.to_string() + ':' + std::to_string(each.counted);
  }
  return text;
}

latch_state read_latch(const lock_name& name, std::string_view text) {
  latch_state state;
  if (text.empty()) return state;
  cell_text words{name, text, latch_kind};
  state.round = words.next_number<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max());
  state.count = words.next_number<std::int32_t>(0, std::numeric_limits<std::int32_t>::max());
  std::int64_t sum = 0;
  while (!words.at_end()) {
    const std::string_view word = words.next();
    if (word == open_word && state.shares.empty() && words.at_end() && state.count > 0) {
      state.open = true;
      return state;
    }
    const std::size_t colon = std::min(word.find(':'), word.size());
    const auto who = owner_id::parse(word.substr(0, colon));
    if (!who || colon == word.size()) words.refuse();
    const auto counted = words.number<std::int32_t>(word.substr(colon + 1), 1, state.count);
    state.shares.push_back({*who, counted});
    sum += counted;
  }
  // One that has come to zero says that it is open.
  if ((sum > 0 && sum >= state.count) || has_twins(state.shares)) words.refuse();
  return state;
}

latch_state counted_down(latch_state before, std::int32_t count, const owner_id& who,
                         std::int32_t n) {
  before.count = count;
  if (n >= before.left())
    return {.round = before.round, .count = count, .open = true, .shares = {}};
  for (latch_state::share& each : before.shares) {
    if (each.who == who) {
      each.counted += n;
      return before;
    }
  }
  before.shares.push_back({who, n});
  return before;
}

latch_state begun_anew(const latch_state& before) {
  return {.round = before.round + 1, .count = 0, .open = false, .shares = {}};
}

}  // namespace crosslock::inner
