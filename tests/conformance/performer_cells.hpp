// What an actor can be told about the kinds that rest on cells.
//
// | command | answer |
// |---|---|
// | update NAME TIMES | done RETRIES: adds one to a versioned number, so often |
// | inscribe REGISTER VALUE LOCK | accepted, refused: writes under its hold of LOCK |
// | down NAME COUNT N | counted: counts a latch of COUNT down by N |
// | await NAME COUNT WAIT_MS | open, shut |
// | join NAME PARTIES WAIT_MS | entered, gave up: enters a barrier |
// | part NAME WAIT_MS | left, gave up |
// | campaign NAME VALUE WAIT_MS | leads FENCE, busy |
// | govern NAME MS | leads, lost: goes on leading for so long |
// | proclaim NAME VALUE | proclaimed |
// | rule NAME VALUE TIMES MS | done: campaigns, leads for so long, resigns, so often |
// | resign NAME | released, lost, ... |
#pragma once

#include "conformance/governed.hpp"
#include "conformance/witness.hpp"

#include <crosslock/crosslock.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

namespace crosslock::conformance {

/// One per process; one thread at a time.
class cell_performer {
 public:
  /// Null when the process does not hold that lock.
  using holds = std::function<const hold*(const std::string& lock)>;

  cell_performer(surroundings where, client locks, holds held);
  ~cell_performer();

  /// Empty when it does not know the command.
  std::optional<std::string> perform(const std::string& verb, const std::string& name,
                                     std::istringstream& words);

 private:
  struct kinds;

  std::string update(const std::string& name, int times);
  std::string inscribe(const std::string& name, std::istringstream& words);
  std::string campaign(const std::string& name, std::istringstream& words);
  std::string rule(const std::string& name, std::istringstream& words);

  const surroundings where_;
  const client locks_;
  const holds held_;
  std::unique_ptr<kinds> kinds_;
};

}  // namespace crosslock::conformance
