// The conformance program is also each of its other processes: `--perform ENGINE ...` is how it
// starts itself anew.
#include "conformance/fixtures/real_actor.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> words{argv, argv + argc};
  if (crosslock::conformance::is_performance(words)) return crosslock::conformance::perform(words);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
