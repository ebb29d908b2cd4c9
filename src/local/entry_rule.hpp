// What a newcomer, or the first of the local queue, does next: the rule of the local line.
#pragma once

#include <crosslock/inspect.hpp>

namespace crosslock::inner {

/// What is going on in a local line, for one that wants to get in.
struct entry_question {
  claim_mode mode = claim_mode::exclusive;
  bool waits = false;            ///< it may be told to stand in line
  bool others_before = false;    ///< somebody queues here before it
  bool another_kind = false;     ///< who is here wants permits and it does not, or the reverse
  bool shared_grant = false;     ///< there is a shared grant that it may join
  bool exclusive_grant = false;  ///< this process has the name to itself, or is giving it back
  bool claimants = false;        ///< claims of this line are on their way or wait on the server ...
  bool claimants_all_permits = true;  ///< ... all of them for permits
  bool claimants_exclusive = false;   ///< ... one of them exclusive
  bool room = true;              ///< permits: with those held and claimed here there are enough
  bool claimants_stand = false;  ///< ... one of them is known to wait, or to have trouble
};

enum class entry_decision {
  join,   ///< share a grant that is here already
  claim,  ///< ask the server
  queue,  ///< wait here for others of this process
};

/// So many claims for permits may be on their way: all of them may turn out to have to wait.
inline constexpr int claimants_max = 16;

/// One of them is a lock, the other a semaphore.
constexpr bool another_kind(claim_mode one, claim_mode other) noexcept {
  return (one == claim_mode::permit) != (other == claim_mode::permit);
}

/// One claim at a time, so that many waiting threads are one waiter on the server. Two exceptions,
/// both only while no claim of this line is known to wait: permits, of which several may be free,
/// and readers that will not wait, who must not be refused because of another reader's request.
/// Behind the other kind nobody waits: the server says that it is a conflict, or no longer one.
constexpr entry_decision way_in(const entry_question& asked) noexcept {
  if (asked.another_kind) return entry_decision::claim;
  if (asked.others_before || asked.exclusive_grant) return entry_decision::queue;
  if (!asked.claimants) return asked.shared_grant ? entry_decision::join : entry_decision::claim;
  if (asked.claimants_stand) return entry_decision::queue;
  switch (asked.mode) {
    case claim_mode::exclusive:
      return entry_decision::queue;
    case claim_mode::shared:
      return asked.waits || asked.claimants_exclusive ? entry_decision::queue
                                                      : entry_decision::claim;
    case claim_mode::permit:
      if (asked.waits && !asked.room)
        return entry_decision::queue;  // somebody would have to wait there
      return asked.claimants_all_permits ? entry_decision::claim : entry_decision::queue;
  }
  return entry_decision::queue;
}

}  // namespace crosslock::inner
