// The value comes last and may be any bytes.
#include "cells/proclamation.hpp"

#include "cells/cell_text.hpp"

namespace crosslock::inner {
namespace {

constexpr std::string_view election_kind = "election1";

}  // namespace

std::string to_text(const leader_info& leader) {
  return std::string{election_kind} + ' ' + leader.fence.to_string() + ' ' + leader.value;
}

std::optional<leader_info> read_proclamation(const lock_name& name, std::string_view text) {
  if (text.empty()) return std::nullopt;
  cell_text words{name, text, election_kind};
  const fence term{words.next_number<std::int64_t>(1, fence::max_value)};
  if (words.at_end()) words.refuse();
  return leader_info{std::string{words.rest()}, term};
}

}  // namespace crosslock::inner
