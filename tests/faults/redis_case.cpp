// Replicas.
#include "faults/redis_case.hpp"

namespace crosslock::faults {

bool redis_with_replica::follows(servers::redis_server& replica, servers::redis_server& primary) {
  return eventually([&] {
    return replica.say({"INFO", "replication"}).text.find("master_link_status:up") !=
               std::string::npos &&
           replica.info("replication", "slave_repl_offset") ==
               primary.info("replication", "master_repl_offset");
  });
}

}  // namespace crosslock::faults
