// What list() shows beside locks: nothing.
#include "conformance/fixture.hpp"

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

CONFORMANCE_SUITE(listing);

TEST_P(listing, values_latches_and_elections_are_no_locks) {
  play([this] {
    if (!stage().traits().cells) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    versioned value{locks, "value"};
    EXPECT_TRUE(value.compare_and_set(value.read().version, "1"));
    count_down_latch latch{locks, "latch", 2};
    latch.count_down();
    const striped_mutex stripes{locks, "stripes", 4};
    election office{locks, "office"};
    auto term = office.campaign("a");
    mutex lock{locks, "name"};
    const auto held = lock.acquire();
    const auto shown = [&] {
      std::vector<std::string> names;
      for (const lock_info& each : others.list()) {
        names.push_back(each.name);
        for (const claim_info& holder : each.holders) EXPECT_FALSE(holder.foreign) << each.name;
      }
      return names;
    };
    EXPECT_EQ(shown(), std::vector<std::string>{"name"});
    term.resign();
    EXPECT_EQ(shown(), std::vector<std::string>{"name"});
    EXPECT_TRUE(others.list("crosslock:{").empty());
  });
}

}  // namespace
}  // namespace crosslock::conformance
