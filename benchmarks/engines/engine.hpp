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
  /// Ways to run it that have workloads of their own, besides the usual one, whose name is empty.
  virtual std::vector<std::string_view> variants() const { return {}; }
  /// Less would say little: where a request takes a millisecond, many clients take turns slowly.
  virtual seconds least_span() const { return seconds{0}; }
  /// Whether this workload says anything here; mostly all do.
  virtual bool plays(std::string_view /*workload*/) const { return true; }
  virtual std::string url(std::string_view variant) const = 0;
  /// The least that any lock on this engine must do, written with the bare client library and
  /// nothing of ours.
  virtual std::unique_ptr<subject> floor(std::string_view variant) = 0;
  /// Other ways without us that are worth being seen beside the floor; mostly none.
  virtual std::vector<std::unique_ptr<subject>> rivals(std::string_view /*workload*/,
                                                       std::string_view /*variant*/) {
    return {};
  }
  /// What this subject plays when it is asked for a setting: mostly that. Anything else is
  /// explained by the note.
  virtual setting staged(const setting& asked, std::string_view /*subject*/) const { return asked; }
  /// How many requests the server has answered so far; the floor's count too where they share
  /// it.
  virtual std::uint64_t requests() const = 0;
  /// In how many pieces they came: what travels together is one. Zero: nobody counts them.
  virtual std::uint64_t round_trips() const { return 0; }
  /// How often it has told somebody that what they wait for has changed. Zero: nobody counts.
  virtual std::uint64_t notices() const { return 0; }
  /// Whether these counts are about this subject, too.
  virtual bool counts(std::string_view subject) const { return subject == "crosslock"; }
  /// What a reader of this workload's numbers must know; mostly nothing.
  virtual std::string_view note(std::string_view workload) const = 0;
};

/// Makes an engine known to the program: one constant at the end of its file.
struct offer {
  using maker = std::unique_ptr<engine> (*)();
  /// In another process: the floor or rival with that name and `subject::address`.
  using joiner = std::unique_ptr<subject> (*)(std::string_view subject, const std::string& address);

  offer(std::string_view name, maker make, joiner join);

  std::string_view name;
  maker make;
  joiner join;
};

/// In the order of their names.
std::vector<offer> offers();

}  // namespace crosslock::bench
