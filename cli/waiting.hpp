// How commands that take a lock wait for it: the options, and the wait itself.
#pragma once

#include "cli/calls.hpp"
#include "cli/command_line.hpp"
#include "cli/signals.hpp"

#include <crosslock/client.hpp>
#include <crosslock/hold.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace crosslock::cli {

/// What the command line says of the claim.
struct claim_flags {
  bool no_wait = false;
  std::optional<std::string> wait;
  bool shared = false;
  bool exclusive = false;
  std::optional<std::int32_t> permits;
  std::optional<int> conflict_code;
  bool busy_ok = false;
};

/// Gives a command -n, -w, -s, -x, --permits, -E and --busy-ok.
void offer_claim(command_words& words, claim_flags& flags);

struct claim_request {
  claim_mode mode = claim_mode::exclusive;
  bool among_readers = false;    ///< exclusive: of a lock that others share
  std::int32_t permits = 1;      ///< of a semaphore: how many there are; one of them is taken
  std::optional<duration> wait;  ///< empty: as long as it takes
  int busy_code = 0;             ///< the exit code when it was not to be had
};

/// Throws usage_error for what cannot be meant together.
claim_request read_claim(const claim_flags& flags);

/// How the wait ended: with a hold; by a signal; or, with neither, out of time.
struct waited {
  std::optional<hold> held;
  int ended_by = 0;
};

/// What a wait listens to. The client must have been connected with the executor of `answers`.
struct listening {
  calls& answers;
  signal_inbox& signals;
};

/// Waits for the lock. A signal ends the wait, and the place in line is given up. On a terminal
/// it says after three seconds who is in the way. Throws what acquiring throws.
waited wait_for(const client& locks, const lock_name& name, const claim_request& wanted,
                const listening& to, std::optional<duration> fixed_lease = std::nullopt);

/// What to say when it was not to be had: who holds it, as far as that can be seen.
std::string busy_text(const client& locks, const lock_name& name);

}  // namespace crosslock::cli
