// No engine without a fixture, and no case that no stage of an engine can play.
#include "conformance/fixture.hpp"
#include "engine/registry.hpp"

#include <algorithm>

namespace crosslock::conformance {
namespace {

TEST(registered_engines, every_linked_engine_has_a_fixture) {
  int linked = 0;
  for (const seam::registered& row : seam::registry()) {
    if (row.linked == nullptr) continue;
    ++linked;
    EXPECT_FALSE(fixtures_of(row.engine).empty())
        << "the engine " << row.engine
        << " is linked but has no file in tests/conformance/fixtures";
  }
  EXPECT_GT(linked, 0);
}

TEST(registered_engines, every_fixture_is_of_a_linked_engine) {
  for (const fixture& each : fixtures()) {
    const auto rows = seam::registry();
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const seam::registered& row) {
      return row.engine == each.engine && row.linked != nullptr;
    })) << each.engine;
  }
}

TEST(registered_engines, every_ability_is_had_by_some_stage_of_each_engine) {
  for (const fixture& each : fixtures()) {
    for (const ability wanted : all_abilities) {
      const auto stages = fixtures_of(each.engine);
      EXPECT_TRUE(std::any_of(stages.begin(), stages.end(),
                              [&](const fixture* one) { return !one->cannot.contains(wanted); }))
          << each.engine << " has no stage for ability " << static_cast<int>(wanted);
    }
  }
}

}  // namespace
}  // namespace crosslock::conformance
