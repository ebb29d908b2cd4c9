// What the benchmarks need of an engine: a server, floors, and a count of requests. Each engine has
// engines/<name>.cpp, which ends with an `offer`; the workloads are the same for all.
#pragma once

#include "benchmarks/subject.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::bench {

/// From its construction to its end a server runs, where the engine has one.
class engine {
 public:
  virtual ~engine() = default;
  virtual std::string url() const = 0;
  /// The least that any lock on this engine must do, written with the bare client library and
  /// nothing of ours.
  virtual std::unique_ptr<subject> floor() = 0;
  /// How many requests the server has answered so far; the floor's count too where they share
  /// it.
  virtual std::uint64_t requests() const = 0;
  /// What a reader of this workload's numbers must know; mostly nothing.
  virtual std::string_view note(std::string_view workload) const = 0;
};

/// Makes an engine known to the program: one constant at the end of its file.
struct offer {
  using maker = std::unique_ptr<engine> (*)();

  offer(std::string_view name, maker make);

  std::string_view name;
  maker make;
};

/// In the order of their names.
std::vector<offer> offers();

}  // namespace crosslock::bench
