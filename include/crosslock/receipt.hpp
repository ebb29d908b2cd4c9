// A hold written down: bound to no process. client::adopt takes it up again; client::renew and
// client::release serve those who do not stay for long enough to hold anything.
#pragma once

#include <crosslock/fence.hpp>
#include <crosslock/inspect.hpp>
#include <crosslock/lock_name.hpp>
#include <crosslock/owner_id.hpp>

#include <string>
#include <string_view>

namespace crosslock {

/// Whoever has it can take the hold up once, or renew it, or give it back, until its lease ends.
/// Nobody renews it meanwhile.
struct receipt {
  std::string engine;
  lock_name name;
  owner_id owner;
  crosslock::fence fence;
  claim_mode mode = claim_mode::exclusive;

  /// One line of printable text.
  std::string to_string() const;
  /// Throws `protocol` naming what is wrong with the text.
  static receipt parse(std::string_view text);
};

}  // namespace crosslock
