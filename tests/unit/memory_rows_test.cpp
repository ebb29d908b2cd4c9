// The suites of the line over the rows of the memory server.
#include "line_suite.hpp"
#include "memory_rig.hpp"

namespace crosslock::memory {
namespace {

std::unique_ptr<line_rig> over_maps(std::int64_t longest_line) {
  return std::make_unique<rig>(
      server_limits{.line_max = static_cast<std::size_t>(longest_line), .names_kept = 16});
}

INSTANTIATE_TEST_SUITE_P(maps, line_rules, testing::Values(&over_maps));
INSTANTIATE_TEST_SUITE_P(maps, line_cells, testing::Values(&over_maps));

}  // namespace
}  // namespace crosslock::memory
