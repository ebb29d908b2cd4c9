// What an actor can be told: a small text protocol, so that the same code serves a simulated
// process and a real child process at the other end of a pipe. One line in, one line out.
//
// | command | answer |
// |---|---|
// | acquire NAME WAIT_MS [LEASE_MS] | held FENCE, busy |
// | work NAME MS | held, lost: goes on holding for so long |
// | valid NAME | yes, no |
// | told NAME | how often the loss was told, when (ns), why |
// | write NAME VALUE | accepted, refused: by the fenced resource |
// | release NAME | released, passed, lost, ... |
// | detach NAME | the receipt |
// | adopt RECEIPT | held FENCE |
// | renew RECEIPT | renewed |
// | loop NAME TIMES WORK_US | done ACCEPTED: acquire, read, work, write one more, release |
// | enter NAME | depth N: locks a recursive_mutex once more |
// | sleep MS | awake |
// | multi ... | several locks at once: see performer_multi.cpp |
//
// Those about values, latches, barriers and elections are in performer_cells.hpp, those of
// shared_mutex and semaphore in mode_performer.hpp.
//
// A command that fails answers `error` and the code's message.
#pragma once

#include "conformance/mode_performer.hpp"
#include "conformance/performer_cells.hpp"
#include "conformance/witness.hpp"

#include <crosslock/recursive_mutex.hpp>

#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>

namespace crosslock::conformance {

/// One per process; one thread at a time.
class performer {
 public:
  performer(surroundings where, client locks);

  std::string perform(const std::string& command);
  /// Of what it holds. Often enough, nothing is missed.
  void note_renewals();

 private:
  struct several;
  struct owned {
    std::unique_ptr<mutex> lock;
    std::unique_ptr<witnessed> held;
  };

  std::string carry_out(std::istringstream& words);
  std::string acquire(owned& mine, std::istringstream& words);
  std::string adopt(std::istringstream& words);
  std::string enter(const std::string& name);
  std::string multi(std::istringstream& words);
  owned& lock_named(const std::string& name);
  static std::string describe_loss(witnessed& held);

  const surroundings where_;
  const client locks_;
  mode_performer modes_;
  std::map<std::string, owned> locks_by_name_;
  std::map<std::string, std::unique_ptr<recursive_mutex>> nested_by_name_;
  std::shared_ptr<several> several_;
  cell_performer cells_;
};

}  // namespace crosslock::conformance
