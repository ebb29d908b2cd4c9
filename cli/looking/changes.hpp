// What has happened between two lists of locks.
#pragma once

#include <crosslock/inspect.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace crosslock::cli {

enum class change {
  held,      ///< it held already when we began to look
  acquired,  ///< it holds now
  released,  ///< it does not hold any more: released, expired or broken
  waiting,   ///< it has come into the line
  left,      ///< it is not in the line any more, and does not hold either
  changed,   ///< it holds in another mode than before
};

std::string_view to_string(change what) noexcept;

struct lock_event {
  change what = change::held;
  std::string name;
  claim_info claim;  ///< as it was seen last
};

/// Both in the order of names. Of one name: first who let go and who left, then who got it, then
/// who has come to wait. What has come and gone in between is in neither list, and nobody knows.
std::vector<lock_event> changes_between(const std::vector<lock_info>& before,
                                        const std::vector<lock_info>& after);

/// What there is to say of a first list.
std::vector<lock_event> initial_events(const std::vector<lock_info>& locks);

}  // namespace crosslock::cli
