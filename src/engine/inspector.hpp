// The part of the seam that is for people: who holds what, and how the server is.
#pragma once

#include "engine/claim.hpp"
#include "engine/finding.hpp"

#include <crosslock/inspect.hpp>

#include <string_view>
#include <vector>

namespace crosslock::seam {

/// Threads and failure: as for the verbs of engine.hpp.
class inspector {
 public:
  virtual ~inspector() = default;

  virtual lock_info look(const lock_name& name, time_point give_up) = 0;
  virtual std::vector<lock_info> list(std::string_view prefix, time_point give_up) = 0;
  /// What there is to say about the server, or whatever keeps the locks, and what that means for
  /// them. For people: takes several round trips.
  virtual std::vector<finding> examine(time_point /*give_up*/) { return {}; }
};

}  // namespace crosslock::seam
