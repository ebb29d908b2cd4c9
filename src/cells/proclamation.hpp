// What an election stores: pure functions.
#pragma once

#include <crosslock/election.hpp>
#include <crosslock/lock_name.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace crosslock::inner {

/// As text: `election1 FENCE VALUE`. The fence stands in it, because that of the cell is the next
/// leader's as soon as it has opened the cell, and before it has written anything.
std::string to_text(const leader_info& leader);
/// Empty where nobody has ever led. Throws `conflict` for something else than an election, and
/// `protocol` for one that makes no sense.
std::optional<leader_info> read_proclamation(const lock_name& name, std::string_view text);

}  // namespace crosslock::inner
