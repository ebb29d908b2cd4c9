// What a newcomer, or the first of the local queue, does next: the rule of the local line.
#pragma once

#include <crosslock/inspect.hpp>

namespace crosslock::inner {

/// What is going on in a local line, for one that wants to get in.
struct entry_question {
  claim_mode mode = claim_mode::exclusive;
  bool waits = false;            ///< it may be told to stand in line
  bool others_before = false;    ///< somebody queues here before it
  bool shared_grant = false;     ///< there is a shared grant that it may join
  bool exclusive_grant = false;  ///< this process has the name to itself, or is giving it back
  bool heads = false;            ///< claims of this line are on their way or wait on the server ...
  bool heads_all_permits = true;  ///< ... all of them for permits
  bool heads_exclusive = false;   ///< ... one of them exclusive
  bool room = true;               ///< permits: with those held and claimed here there are enough
  bool heads_stand = false;       ///< ... one of them is known to wait, or to have trouble
};

enum class entry {
  join,   ///< share a grant that is here already
  claim,  ///< ask the server
  queue,  ///< wait here for others of this process
};

/// So many claims for permits may be on their way: all of them may turn out to have to wait.
inline constexpr int heads_max = 16;

/// One claim at a time, so that many waiting threads are one waiter on the server. Two exceptions,
/// both only while no claim of this line is known to wait: permits, of which several may be free,
/// and readers that will not wait, who must not be refused because of another reader's request.
constexpr entry way_in(const entry_question& asked) noexcept {
  if (asked.others_before || asked.exclusive_grant) return entry::queue;
  if (!asked.heads) return asked.shared_grant ? entry::join : entry::claim;
  if (asked.heads_stand) return entry::queue;
  switch (asked.mode) {
    case claim_mode::exclusive:
      return entry::queue;
    case claim_mode::shared:
      return asked.waits || asked.heads_exclusive ? entry::queue : entry::claim;
    case claim_mode::permit:
      if (asked.waits && !asked.room) return entry::queue;  // somebody would have to wait there
      return asked.heads_all_permits ? entry::claim : entry::queue;
  }
  return entry::queue;
}

}  // namespace crosslock::inner
