// What an actor can be told about shared_mutex and semaphore, beside the commands of performer.hpp.
//
// | command | answer |
// |---|---|
// | share NAME WAIT_MS [LEASE_MS] | held FENCE, busy |
// | permit NAME COUNT OF WAIT_MS | held FENCE, busy |
// | downgrade NAME | shared FENCE |
// | upgrade NAME WAIT_MS | exclusive FENCE, shared |
// | mixed NAME TIMES WORK_US SEED | done ACCEPTED, torn: reads and writes, some of them changing |
// | permits NAME OF TIMES WORK_US SEED | done TIMES: some of the permits at a time, for a while |
//
// What is held after the first four is what work, valid, told, release and detach are about.
#pragma once

#include "conformance/witness.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace crosslock::conformance {

struct read_and_written {
  int accepted = 0;  ///< writes
  /// Reads in the middle of which the number changed. There is none while nobody is frozen between
  /// looking at its hold and writing: readers show no fence.
  int torn = 0;
};

/// So many critical sections on `lock`: most read the resource twice, the others write one more;
/// some are upgraded or downgraded in the middle. `seed` decides who does what.
read_and_written read_and_write(const surroundings& where, shared_mutex& lock, int times,
                                duration work, std::uint64_t seed, std::int32_t thread = 0);

/// So many times some of the permits, held for `work`.
void use_permits(const surroundings& where, semaphore& lock, int times, duration work,
                 std::uint64_t seed, std::int32_t thread = 0);

/// One per process; one thread at a time.
class mode_performer {
 public:
  mode_performer(surroundings where, client locks);

  /// Empty when it is none of these commands. `held`: what this process has of the name.
  std::optional<std::string> perform(const std::string& verb, const std::string& name,
                                     std::istringstream& words, std::unique_ptr<witnessed>& held);

 private:
  std::string change(const std::string& verb, shared_mutex& lock, std::istringstream& words,
                     witnessed& held);
  shared_mutex& shared_named(const std::string& name);
  semaphore& semaphore_named(const std::string& name, std::int32_t of);

  const surroundings where_;
  const client locks_;
  std::map<std::string, std::unique_ptr<shared_mutex>> shared_by_name_;
  std::map<std::pair<std::string, std::int32_t>, std::unique_ptr<semaphore>> semaphores_;
};

}  // namespace crosslock::conformance
