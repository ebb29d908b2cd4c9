// Cases of the redis engine on a single server.
#pragma once

#include "conformance/fixtures/redis_testbed.hpp"
#include "faults/fault_case.hpp"

namespace crosslock::faults {

using checker::fault;
using conformance::is_verb;
using proxy::fate;
using proxy::way;
using verb = observer::verb;

class redis_case : public fault_case_in<conformance::redis_testbed> {
 protected:
  /// From the end of a lease until the next is in: the row L of the matrix.
  static constexpr duration after_lease = 500ms + stall;
  /// From a loss on the server until its holder knows: the next renewal.
  static constexpr duration noticed = lease / 3 + stall;

  using fault_case_in::fault_case_in;

  servers::redis_server& server() { return testbed().server(); }
  proxy::door& wire(const real_actor& of) { return testbed().wire(of); }
  proxy::door& own_wire() { return testbed().wire(0); }

  pair holder_and_waiter(const client& viewer, duration of_holder = lease,
                         duration of_next = long_lease) {
    return fault_case::holder_and_waiter(viewer, of_holder, of_next);
  }
  fence take_and_release(const std::string& name) {
    return fault_case::take_and_release(name, long_lease);
  }
};

/// Its server has a port, so that another may be its replica.
class redis_with_replica : public redis_case {
 protected:
  redis_with_replica() : redis_case{with_port()} {}

  static servers::redis_options with_port() {
    auto how = conformance::redis_testbed::durable();
    how.tcp = true;
    return how;
  }
  static servers::redis_options replica_of(const servers::redis_server& primary) {
    return {.tcp = true,
            .settings = {{"replicaof", "127.0.0.1 " + std::to_string(primary.port())}}};
  }
  /// It has all that its primary has.
  static bool follows(servers::redis_server& replica, servers::redis_server& primary);
};

/// The rows of the matrix, for this engine.
class redis_faults : public redis_case {};

}  // namespace crosslock::faults
