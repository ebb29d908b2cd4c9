// Results for people and for programs.
#pragma once

#include "benchmarks/rounds.hpp"

#include <iosfwd>
#include <span>
#include <string_view>

namespace crosslock::bench {

class report {
 public:
  virtual ~report() = default;
  virtual void remark(std::string_view text) = 0;
  virtual void begin(std::string_view engine) = 0;
  /// All subjects of one workload; `note` may be empty.
  virtual void add(std::span<const summary> rows, const workload& workload,
                   std::string_view note) = 0;
};

/// A table.
std::unique_ptr<report> make_table(std::ostream& out);
/// One JSON object per line; remarks go to `remarks`.
std::unique_ptr<report> make_json_lines(std::ostream& out, std::ostream& remarks);

}  // namespace crosslock::bench
