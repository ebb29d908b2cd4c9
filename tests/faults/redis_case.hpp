// Cases of the redis engine on a single server.
#pragma once

#include "conformance/fixtures/redis_scene.hpp"
#include "faults/fault_case.hpp"

namespace crosslock::faults {

using checker::fault;
using conformance::is_verb;
using proxy::fate;
using proxy::way;
using verb = observer::verb;

class redis_case : public fault_case_in<conformance::redis_scene> {
 protected:
  /// From the end of a lease until the next is in: the row L of the matrix.
  static constexpr duration after_lease = 500ms + stall;
  /// From a loss on the server until its holder knows: the next renewal.
  static constexpr duration noticed = lease / 3 + stall;

  using fault_case_in::fault_case_in;

  servers::redis_server& server() { return scene().server(); }
  proxy::door& wire(const real_actor& of) { return scene().wire(of); }
  proxy::door& own_wire() { return scene().wire(0); }

  /// Two processes: one holds `name`, the other stands in line for it.
  struct pair {
    std::unique_ptr<real_actor> holder;
    std::unique_ptr<real_actor> next;
    fence first;
  };
  pair holder_and_waiter(const client& eyes, duration of_holder = lease,
                         duration of_next = long_lease);

  /// Takes and gives back the name as somebody new; its fence.
  fence take_and_release(const std::string& name);

  /// A request that takes no longer than that, tried once.
  static options impatient(duration timeout) {
    options how;
    how.timeout = timeout;
    how.retry.tries = 0;
    return how;
  }
};

/// The rows of the matrix, for this engine.
class redis_faults : public redis_case {};

}  // namespace crosslock::faults
